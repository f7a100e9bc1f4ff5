//! Random numbers: the streams of a run, and the distributions drawn from them.
//!
//! Logarithms and powers come from the crate `libm` and are the same on every machine; the standard library's are the
//! platform's and differ in the last bit. That is why these distributions are not `rand_distr`'s.

mod streams;
mod zipf;

pub use streams::{Stream, Streams};
pub use zipf::Zipf;
pub(crate) use zipf::growth;

use gentle_units::Nanos;
use rand::{Rng, RngExt};
use std::f64::consts::TAU;

/// Draws from the exponential distribution with mean 1, by inversion: at most 36.8.
pub fn exponential<R: Rng>(rng: &mut R) -> f64 {
    -libm::log(1.0 - rng.random::<f64>())
}

/// Draws an exponentially distributed time with the given mean.
pub(crate) fn exponential_time<R: Rng>(mean: Nanos, rng: &mut R) -> Nanos {
    Nanos::from_secs_f64(mean.as_secs_f64() * exponential(rng))
}

/// Draws from the Pareto distribution on values from `minimum` on, above 0, with `shape` above 0, by inversion.
pub(crate) fn pareto<R: Rng>(minimum: f64, shape: f64, rng: &mut R) -> f64 {
    minimum * libm::pow(1.0 - rng.random::<f64>(), -1.0 / shape)
}

/// Draws from the standard normal distribution (G. E. P. Box and M. E. Muller, "A Note on the Generation of Random Normal
/// Deviates", Annals of Mathematical Statistics 29, 1958).
pub(crate) fn normal<R: Rng>(rng: &mut R) -> f64 {
    let radius = (2.0 * exponential(rng)).sqrt();
    radius * libm::cos(TAU * rng.random::<f64>())
}

/// Draws a time from a range, both ends included. An empty range draws no random number and so does not shift the stream.
pub(crate) fn uniform_time<R: Rng>((from, to): (Nanos, Nanos), rng: &mut R) -> Nanos {
    if from == to {
        return from;
    }
    Nanos(rng.random_range(from.0..=to.0))
}

/// Value `i` of `n` values spaced evenly over a range, both ends included.
pub(crate) fn spread((from, to): (Nanos, Nanos), i: u32, n: u32) -> Nanos {
    let width = u128::from((to - from).0);
    let step = width * u128::from(i) / u128::from(n.saturating_sub(1).max(1));
    from + Nanos(step as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use std::f64::consts::LN_2;

    /// Quantiles of `n` draws.
    fn quantiles<const N: usize>(at: [f64; N], mut draw: impl FnMut(&mut Stream) -> f64) -> [f64; N] {
        let n = 400_000;
        let mut rng = Stream::seed_from_u64(1);
        let mut drawn: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
        drawn.sort_by(f64::total_cmp);
        at.map(|q| drawn[(f64::from(n) * q) as usize])
    }

    fn assert_near<const N: usize>(found: [f64; N], expected: [f64; N]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 0.01 * expected.abs().max(1.0), "{found} {expected}");
        }
    }

    /// Expected values: `ppf` of `scipy.stats.expon`, `norm` and `pareto(1.2, scale=2)` of SciPy 1.17.1.
    #[test]
    fn draws_have_the_quantiles_of_their_distributions() {
        let at = [0.01, 0.25, 0.5, 0.75, 0.99];
        assert_near(quantiles(at, exponential), [0.010_050, 0.287_682, LN_2, 1.386_294, 4.605_170]);
        assert_near(quantiles(at, normal), [-2.326_348, -0.674_490, 0.0, 0.674_490, 2.326_348]);
        let at = [0.01, 0.25, 0.5, 0.75];
        assert_near(quantiles(at, |rng| pareto(2.0, 1.2, rng)), [2.016_821, 2.541_825, 3.563_595, 6.349_604]);
    }
}
