//! Times with their distribution: an exact mean, percentiles to three digits, bounded memory.

use gentle_units::Nanos;
use hdrhistogram::Histogram;

/// Longest time that is told apart, in microseconds: ten hours. Longer ones count as that long in percentiles only.
const LONGEST_US: u64 = 36_000_000_000;

/// A set of times.
#[derive(Debug, Clone)]
pub(crate) struct Spread {
    histogram: Histogram<u32>,
    sum_ns: u128,
    max: Nanos,
}

impl Default for Spread {
    fn default() -> Self {
        Spread {
            // Resolution: a microsecond, then three significant digits.
            histogram: Histogram::new_with_bounds(1, LONGEST_US, 3).expect("valid bounds"),
            sum_ns: 0,
            max: Nanos::ZERO,
        }
    }
}

impl Spread {
    #[inline]
    pub(crate) fn record(&mut self, time: Nanos) {
        self.histogram.saturating_record(time.as_micros());
        self.sum_ns += u128::from(time.0);
        self.max = self.max.max(time);
    }

    /// Adds the time zero, so many times.
    pub(crate) fn record_zeros(&mut self, times: u64) {
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        self.histogram.saturating_record_n(0, times);
    }

    pub(crate) fn mean_s(&self) -> Option<f64> {
        let n = self.histogram.len();
        (n > 0).then(|| self.sum_ns as f64 / 1e9 / n as f64)
    }

    /// The value, in seconds, below or at which the fraction `quantile` lies.
    pub(crate) fn quantile_s(&self, quantile: f64) -> Option<f64> {
        if self.histogram.is_empty() {
            return None;
        }
        let upper = self.histogram.value_at_quantile(quantile) as f64 / 1e6;
        // A bucket is named by its upper end, which can lie above the largest value.
        Some(upper.min(self.max.as_micros() as f64 / 1e6))
    }

    /// Adds another set.
    pub(crate) fn add(&mut self, other: &Spread) {
        self.histogram
            .add(&other.histogram)
            .expect("all have the same bounds");
        self.sum_ns += other.sum_ns;
        self.max = self.max.max(other.max);
    }

    /// The distribution function at fixed fractions: 0, 1 %, … 99 %, 99.5 %, 99.9 %, 100 %.
    pub(crate) fn cdf(&self) -> Vec<(f64, f64)> {
        let fractions = (0..100)
            .map(|percent| f64::from(percent) / 100.0)
            .chain([0.995, 0.999, 1.0]);
        fractions
            .filter_map(|fraction| Some((self.quantile_s(fraction)?, fraction)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_exact_and_percentiles_close() {
        let mut spread = Spread::default();
        assert_eq!(spread.mean_s(), None);
        assert_eq!(spread.quantile_s(0.5), None);
        for ms in 1..=1000 {
            spread.record(Nanos::from_millis(ms));
        }
        assert!((spread.mean_s().unwrap() - 0.5005).abs() < 1e-12);
        let median = spread.quantile_s(0.5).unwrap();
        assert!((median - 0.5).abs() < 0.001, "{median}");
        assert_eq!(spread.quantile_s(1.0), Some(1.0));
        spread.record(Nanos::from_secs(1_000_000));
        assert_eq!(spread.cdf().len(), 103);
    }
}
