//! Zipf distribution.

use rand::{Rng, RngExt};

/// Zipf distribution: P(k) ∝ k^−exponent for k from 1 to a largest value. Values are drawn by rejection-inversion
/// (W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS
/// 6(3), 1996), whose cost does not depend on the largest value.
///
/// A point under the hat k^−exponent is drawn by inverting its integral, and its nearest whole number k is taken if the point
/// lies among the last k^−exponent of the area from k − ½ to k + ½, which has at least this size since the hat is convex.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zipf {
    exponent: f64,
    max: f64,
    /// Areas between which draws fall: up to 1½ less the area of the value 1, so that this value is never rejected, and
    /// up to max + ½.
    from: f64,
    to: f64,
}

impl Zipf {
    /// The distribution with `exponent` above 0 and the largest value `max`, at least 1.
    pub(crate) fn new(exponent: f64, max: u64) -> Zipf {
        let max = max as f64;
        Zipf { exponent, max, from: area(exponent, 1.5) - 1.0, to: area(exponent, max + 0.5) }
    }

    /// Draws a value.
    pub(crate) fn sample<R: Rng>(&self, rng: &mut R) -> u64 {
        loop {
            let drawn = self.from + (self.to - self.from) * rng.random::<f64>();
            let k = inverse_area(self.exponent, drawn).round().clamp(1.0, self.max);
            if drawn >= area(self.exponent, k + 0.5) - libm::pow(k, -self.exponent) {
                return k as u64;
            }
        }
    }
}

/// ∫ t^−exponent dt from 1 to `x` above 0: (x^(1−exponent) − 1) / (1 − exponent), or the logarithm for an exponent of 1.
fn area(exponent: f64, x: f64) -> f64 {
    let logarithm = libm::log(x);
    logarithm * growth((1.0 - exponent) * logarithm)
}

/// The `x` up to which [`area`] is `area`.
fn inverse_area(exponent: f64, area: f64) -> f64 {
    let scaled = area * (1.0 - exponent);
    // ln(1 + s) / s, which is 1 at 0; rounding must not lead beyond the pole at −1.
    let stretch = match scaled.abs() < 1e-8 {
        true => 1.0 - scaled / 2.0,
        false => libm::log1p(scaled.max(-1.0)) / scaled,
    };
    libm::exp(area * stretch)
}

/// (e^x − 1) / x, which is 1 at 0.
pub(crate) fn growth(x: f64) -> f64 {
    match x.abs() < 1e-8 {
        true => 1.0 + x / 2.0,
        false => libm::expm1(x) / x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Stream;
    use rand::SeedableRng;

    /// Frequencies of small values and of the rest, against the sum of the definition.
    #[test]
    fn frequencies_are_those_of_the_definition() {
        let n = 1_000_000;
        for (exponent, max) in [(1.7, 6_000), (1.0, 50), (0.5, 1_000), (3.0, 100_000), (1.2, 1), (0.999_999_999, 20)] {
            let zipf = Zipf::new(exponent, max);
            let total: f64 = (1..=max).map(|k| libm::pow(k as f64, -exponent)).sum();
            let mut counts = [0_u32; 10];
            let mut rng = Stream::seed_from_u64(1);
            for _ in 0..n {
                let k = zipf.sample(&mut rng);
                assert!((1..=max).contains(&k), "{exponent} {max}: {k}");
                counts[(k as usize).min(counts.len()) - 1] += 1;
            }
            let mut rest = 1.0;
            for (index, count) in counts.iter().enumerate() {
                let k = index as u64 + 1;
                let p = match k <= max {
                    true => libm::pow(k as f64, -exponent) / total,
                    false => 0.0,
                };
                let p = if index + 1 == counts.len() { rest } else { p };
                rest -= p;
                let (found, n) = (f64::from(*count) / f64::from(n), f64::from(n));
                let deviation = (p.max(0.0) * (1.0 - p) / n).sqrt();
                assert!((found - p).abs() <= 5.0 * deviation + 1e-9, "{exponent} {max} {k}: {found} {p}");
            }
        }
    }
}
