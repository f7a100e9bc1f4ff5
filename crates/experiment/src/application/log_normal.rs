//! Log-normal distribution by its median and its 90th percentile, as measurements of the web are published.

use crate::draw;
use crate::error::ScenarioError;
use crate::section::Item;
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;

/// 90th percentile of the standard normal distribution.
const Z90: f64 = 1.281_551_565_544_600_4;

/// Largest value drawn, so that sums stay far below the end of `u64`.
const MOST: f64 = (1_u64 << 40) as f64;

/// Whole numbers whose logarithm is normally distributed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogNormal {
    /// Median.
    pub median: u64,
    /// 90th percentile, at least the median; equal to it: every value is the median.
    pub p90: u64,
}

impl LogNormal {
    /// A constant.
    pub const fn constant(value: u64) -> LogNormal {
        LogNormal { median: value, p90: value }
    }

    /// Reads one number, or `{ median = 70, p90 = 175 }`; `count`: a plain number, without unit.
    pub(super) fn read(item: Item<'_>, range: &RangeInclusive<u64>, count: bool) -> Result<LogNormal, ScenarioError> {
        let number = |item: &Item<'_>, range: RangeInclusive<u64>| match count {
            true => item.count(range),
            false => item.size(range),
        };
        if !item.is_table() {
            return Ok(LogNormal::constant(number(&item, range.clone())?));
        }
        let mut section = item.section()?;
        let least = *range.start().max(&1);
        let median = number(&section.require("median", "70")?, least..=*range.end())?;
        let p90 = number(&section.require("p90", "175")?, median..=*range.end())?;
        section.finish()?;
        Ok(LogNormal { median, p90 })
    }

    /// Standard deviation of the logarithm.
    fn sigma(&self) -> f64 {
        libm::log(self.p90.max(1) as f64 / self.median.max(1) as f64) / Z90
    }

    /// Mean of the continuous distribution.
    pub fn mean(&self) -> f64 {
        self.median as f64 * libm::exp(self.sigma() * self.sigma() / 2.0)
    }

    /// Draws a value, rounded to the nearest whole number. Constants draw no random number.
    pub(crate) fn sample<R: Rng>(&self, rng: &mut R) -> u64 {
        if self.p90 <= self.median {
            return self.median;
        }
        let value = self.median as f64 * libm::exp(self.sigma() * draw::normal(rng));
        value.round().min(MOST) as u64
    }
}

/// Writes the median, and the 90th percentile where it differs.
impl fmt::Display for LogNormal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.median)?;
        match self.p90 > self.median {
            true => write!(f, " (90th percentile {})", self.p90),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn draws_have_the_median_the_percentile_and_the_mean() {
        let distribution = LogNormal { median: 16_400, p90: 87_300 };
        let mut rng = draw::Stream::seed_from_u64(1);
        let n = 400_000;
        let mut drawn: Vec<u64> = (0..n).map(|_| distribution.sample(&mut rng)).collect();
        drawn.sort_unstable();
        let close = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
        };
        close(drawn[n / 2] as f64, 16_400.0);
        close(drawn[n * 9 / 10] as f64, 87_300.0);
        let mean = drawn.iter().sum::<u64>() as f64 / n as f64;
        close(mean, distribution.mean());
    }

    #[test]
    fn a_constant_is_one() {
        let mut rng = draw::Stream::seed_from_u64(1);
        for value in [0, 1, 1448] {
            assert_eq!(LogNormal::constant(value).sample(&mut rng), value);
            assert_eq!(LogNormal::constant(value).mean(), value as f64);
        }
    }
}
