//! Distributions of connection sizes in segments.

use crate::draw::{self, Zipf};
use crate::error::ScenarioError;
use crate::section::Item;
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fmt;

/// Distribution of connection sizes in segments, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parameters", into = "Parameters")]
pub enum Sizes {
    /// A constant size.
    Fixed(u64),
    /// Zipf: P(k) ∝ k^−exponent for k from 1 to `max` (Braud, Heusse and Duda 2018).
    Zipf {
        /// Exponent (μ in the paper), above 0.
        exponent: f64,
        /// Largest size, at least 1.
        max: u64,
        /// The distribution with these parameters.
        sampler: Zipf,
    },
    /// Pareto, rounded to the nearest segment (Feldmann et al. 1999).
    Pareto {
        /// Shape, above 1.
        shape: f64,
        /// Mean of the continuous distribution, segments.
        mean: f64,
    },
}

/// Parameters of a distribution: its serial form.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Parameters {
    Fixed(u64),
    Zipf { exponent: f64, max: u64 },
    Pareto { shape: f64, mean: f64 },
}

impl From<Sizes> for Parameters {
    fn from(sizes: Sizes) -> Parameters {
        match sizes {
            Sizes::Fixed(segments) => Parameters::Fixed(segments),
            Sizes::Zipf { exponent, max, .. } => Parameters::Zipf { exponent, max },
            Sizes::Pareto { shape, mean } => Parameters::Pareto { shape, mean },
        }
    }
}

impl TryFrom<Parameters> for Sizes {
    type Error = &'static str;

    fn try_from(parameters: Parameters) -> Result<Sizes, &'static str> {
        match parameters {
            Parameters::Fixed(segments) => Ok(Sizes::Fixed(segments)),
            Parameters::Zipf { exponent, max } if exponent > 0.0 && max > 0 => Ok(Sizes::zipf(exponent, max)),
            Parameters::Pareto { shape, mean } if shape > 1.0 && mean > 0.0 => Ok(Sizes::pareto(shape, mean)),
            _ => Err("expected an exponent above 0 and a maximum above 0, or a shape above 1 and a mean above 0"),
        }
    }
}

thread_local! {
    /// Exponent, largest size and mean of the last requested Zipf distribution: thousands of powers, which the load of
    /// a scenario takes several times, and of each scenario of a sweep.
    static LAST_MEAN: Cell<(f64, u64, f64)> = const { Cell::new((f64::NAN, 0, 0.0)) };
}

/// Maximum of a Pareto draw, segments: larger draws are truncated.
const LONGEST: f64 = 1e9;

impl Sizes {
    /// A Zipf distribution with `exponent` above 0 and `max` at least 1.
    pub(crate) fn zipf(exponent: f64, max: u64) -> Sizes {
        Sizes::Zipf { exponent, max, sampler: Zipf::new(exponent, max) }
    }

    /// A Pareto distribution with `shape` above 1; the minimum follows from `mean`.
    pub(crate) fn pareto(shape: f64, mean: f64) -> Sizes {
        Sizes::Pareto { shape, mean }
    }

    /// Reads a table such as `{ zipf = 1.7, max = 6000 }`.
    pub(crate) fn read(item: Item<'_>) -> Result<Sizes, ScenarioError> {
        let mut section = item.section()?;
        let sizes = if let Some(fixed) = section.take("segments") {
            Sizes::Fixed(fixed.count(1..=1_000_000_000)?)
        } else if let Some(exponent) = section.take("zipf") {
            Sizes::zipf(exponent.real(0.01..=20.0)?, section.require("max", "6000")?.count(1..=1_000_000_000)?)
        } else if let Some(shape) = section.take("pareto") {
            let shape = shape.real(1.01..=20.0)?;
            let mean = section.require("mean", "12")?.real(1.0..=1e6)?;
            Sizes::pareto(shape, mean)
        } else {
            return Err(
                section.error("expected { zipf = 1.7, max = 6000 }, { pareto = 1.2, mean = 12 } or { segments = 10 }")
            );
        };
        section.finish()?;
        Ok(sizes)
    }

    /// Mean in segments.
    pub(crate) fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed(segments) => *segments as f64,
            Sizes::Zipf { exponent, max, .. } => {
                let (last_exponent, last_max, last_mean) = LAST_MEAN.get();
                if (last_exponent, last_max) == (*exponent, *max) {
                    return last_mean;
                }
                let mean = power_sum(1.0 - exponent, *max) / power_sum(-exponent, *max);
                LAST_MEAN.set((*exponent, *max, mean));
                mean
            }
            Sizes::Pareto { mean, .. } => *mean,
        }
    }

    /// Draws a size.
    pub(crate) fn sample<R: Rng>(&self, rng: &mut R) -> u64 {
        match self {
            Sizes::Fixed(segments) => *segments,
            Sizes::Zipf { sampler, .. } => sampler.sample(rng),
            Sizes::Pareto { shape, mean } => {
                let minimum = mean * (shape - 1.0) / shape;
                let drawn = draw::pareto(minimum, *shape, rng);
                drawn.round().clamp(1.0, LONGEST) as u64
            }
        }
    }
}

/// Σ k^`power` for k from 1 to `max`. The first terms are summed directly, the rest by the Euler–Maclaurin formula with
/// the first correction term; the relative error is below 10^−9 for the exponents that a scenario may have.
fn power_sum(power: f64, max: u64) -> f64 {
    const EXACT: u64 = 10_000;
    let term = |k: f64| libm::pow(k, power);
    let exact: f64 = (1..=max.min(EXACT)).map(|k| term(k as f64)).sum();
    if max <= EXACT {
        return exact;
    }
    let (from, to) = (EXACT as f64, max as f64);
    // ∫ k^power = from^next · (e^(next·ln(to/from)) − 1) / next, whose limit for next = 0 is the logarithm.
    let next = power + 1.0;
    let logarithm = libm::log(to / from);
    let integral = libm::pow(from, next) * logarithm * draw::growth(next * logarithm);
    exact + integral + (term(to) - term(from)) / 2.0
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sizes::Fixed(1) => f.write_str("1 segment each"),
            Sizes::Fixed(segments) => write!(f, "{segments} segments each"),
            Sizes::Zipf { exponent, max, .. } => {
                write!(f, "Zipf sizes (μ = {exponent}, 1 to {max} segments)")
            }
            Sizes::Pareto { shape, mean } => {
                write!(f, "Pareto sizes (shape {shape}, mean {mean} segments)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const ZIPF_MEANS: [(f64, u64, f64); 6] = [
        (1.7, 6_000, 20.743_659_851_487_44),
        (1.7, 12_000, 25.835_537_985_290_91),
        (2.0, 100, 3.172_739_203_764_027),
        (1.0, 50_000, 4_387.117_897_170_27),
        (2.0, 1_000_000, 8.749_733_963_606_52),
        (0.5, 20_000, 6_701.432_551_917_46),
    ];

    fn sorted(sizes: Sizes, n: usize) -> Vec<u64> {
        let mut rng = draw::Stream::seed_from_u64(1);
        let mut list: Vec<u64> = (0..n).map(|_| sizes.sample(&mut rng)).collect();
        list.sort_unstable();
        list
    }

    fn mean(list: &[u64]) -> f64 {
        list.iter().sum::<u64>() as f64 / list.len() as f64
    }

    /// Means and quantiles of the types of Table III in Braud, Heusse and Duda 2018, which determine the truncation.
    #[test]
    fn zipf_has_the_published_means_and_quantiles() {
        let n = 1_000_000;
        let real = sorted(Sizes::zipf(1.7, 6000), n);
        assert!((mean(&real) - 21.0).abs() < 1.0, "{}", mean(&real));
        assert_eq!(real[n / 2], 2);
        assert!(real[n * 8 / 10] <= 6);
        let ten = sorted(Sizes::zipf(1.7, 12_000), n);
        assert!((mean(&ten) - 26.0).abs() < 2.0, "{}", mean(&ten));
        assert!(ten[n * 8 / 10] <= 7);
        let short = sorted(Sizes::zipf(2.0, 100), n);
        assert!((mean(&short) - 3.0).abs() < 0.3, "{}", mean(&short));
        assert_eq!(short[n / 2], 1);
        assert_eq!(*short.last().unwrap(), 100);
    }

    /// Expected values: `scipy.stats.zipfian.mean(μ, max)` of SciPy 1.17.1.
    #[test]
    fn means_are_those_of_the_distributions() {
        for (exponent, max, mean) in ZIPF_MEANS {
            let found = Sizes::zipf(exponent, max).mean();
            assert!((found / mean - 1.0).abs() < 1e-9, "{exponent} {max}: {found}");
        }
        assert_eq!(Sizes::Fixed(7).mean(), 7.0);
        assert_eq!(Sizes::pareto(1.2, 12.0).mean(), 12.0);
    }

    #[test]
    fn the_serial_form_has_the_parameters() {
        for (sizes, text) in [
            (Sizes::Fixed(3), r#"{"fixed":3}"#),
            (Sizes::zipf(1.7, 6000), r#"{"zipf":{"exponent":1.7,"max":6000}}"#),
            (Sizes::pareto(1.2, 12.0), r#"{"pareto":{"shape":1.2,"mean":12.0}}"#),
        ] {
            assert_eq!(serde_json::to_string(&sizes).unwrap(), text);
            assert_eq!(serde_json::from_str::<Sizes>(text).unwrap(), sizes);
        }
        for text in [r#"{"zipf":{"exponent":0.0,"max":6000}}"#, r#"{"pareto":{"shape":1.0,"mean":12.0}}"#] {
            assert!(serde_json::from_str::<Sizes>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn pareto_has_the_mean_asked_for() {
        // The sample mean converges with shape 3; with shape 1.2 the variance is infinite.
        let list = sorted(Sizes::pareto(3.0, 12.0), 1_000_000);
        assert!((mean(&list) - 12.0).abs() < 0.1, "{}", mean(&list));
        assert_eq!(list[0], 8);
    }
}
