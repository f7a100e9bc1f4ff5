//! Histogram of times with an exact mean, percentiles to three significant digits and bounded memory.

use super::serial::nanos;
use gentle_units::Nanos;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Largest recorded value in nanoseconds: ten hours. Longer times count as this value in percentiles.
const LONGEST_NS: u64 = 36_000_000_000_000;

/// Histogram of times. [`TimeHistogram::compact`] is required between recording and reading percentiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimeHistogram {
    /// Buckets during recording: fast to update, but mostly empty.
    #[serde(skip)]
    histogram: Option<Histogram<u32>>,
    /// Upper ends and counts of the buckets in use, after recording.
    buckets: Vec<(u64, u64)>,
    /// Number of times.
    n: u64,
    /// Number of times equal to zero, which are most times in many queues and cheaper to count separately.
    zeros: u64,
    sum_ns: u128,
    #[serde(rename = "max_ns", with = "nanos")]
    max: Nanos,
}

impl Default for TimeHistogram {
    fn default() -> Self {
        TimeHistogram {
            histogram: None,
            buckets: Vec::new(),
            n: 0,
            zeros: 0,
            sum_ns: 0,
            max: Nanos::ZERO,
        }
    }
}

impl TimeHistogram {
    #[inline]
    pub(crate) fn record(&mut self, time: Nanos) {
        self.n += 1;
        if time == Nanos::ZERO {
            self.zeros += 1;
            return;
        }
        self.histogram().saturating_record(time.0);
        self.sum_ns += u128::from(time.0);
        self.max = self.max.max(time);
    }

    /// Adds the times of `other`, in which recording has ended. Recording goes on here.
    pub(crate) fn add(&mut self, other: &TimeHistogram) {
        debug_assert!(
            other.histogram.is_none(),
            "compact() has to be called first"
        );
        for (value, count) in &other.buckets {
            if *value == 0 {
                self.zeros = self.zeros.saturating_add(*count);
                continue;
            }
            // Counts of a record that another process has written may be of any size.
            let count = u32::try_from(*count).unwrap_or(u32::MAX);
            let histogram = self.histogram();
            histogram.saturating_record_n(*value, count);
        }
        self.n = self.n.saturating_add(other.n);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max = self.max.max(other.max);
    }

    fn histogram(&mut self) -> &mut Histogram<u32> {
        self.histogram.get_or_insert_with(|| {
            Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("valid bounds")
        })
    }

    /// Ends recording and keeps only the buckets in use, so that the results of many runs fit into memory.
    pub(crate) fn compact(&mut self) {
        if self.zeros > 0 {
            self.buckets.push((0, self.zeros));
        }
        if let Some(histogram) = self.histogram.take() {
            let used = histogram.iter_recorded();
            let used = used.map(|b| (b.value_iterated_to(), b.count_at_value().into()));
            self.buckets.extend(used);
        }
    }

    /// Number of times recorded.
    pub(crate) fn count(&self) -> u64 {
        self.n
    }

    pub(crate) fn mean_s(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum_ns as f64 / 1e9 / self.n as f64)
    }

    /// The quantile `quantile`, 0 to 1, in seconds; `None` without times.
    pub(crate) fn quantile_s(&self, quantile: f64) -> Option<f64> {
        debug_assert!(self.histogram.is_none(), "compact() has to be called first");
        let rank = ((quantile * self.n as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.buckets.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        // The upper end of a bucket can be above the largest time.
        bucket.map(|(upper, _)| Nanos(*upper).min(self.max).as_secs_f64())
    }

    /// Merges histograms after recording.
    pub(crate) fn pooled<'a>(sets: impl Iterator<Item = &'a TimeHistogram>) -> TimeHistogram {
        let mut all = TimeHistogram::default();
        let mut buckets = BTreeMap::new();
        for set in sets {
            for (value, count) in &set.buckets {
                *buckets.entry(*value).or_insert(0) += count;
            }
            all.n += set.n;
            all.sum_ns += set.sum_ns;
            all.max = all.max.max(set.max);
        }
        all.buckets = buckets.into_iter().collect();
        all
    }

    /// Distribution function as pairs (value in seconds, fraction): 0, 1 %, … 99 %, then 99.5 %, 99.8 %, 99.9 % … while
    /// at least one time lies beyond, and 100 %.
    pub(crate) fn cdf(&self) -> Vec<(f64, f64)> {
        let tail = [5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5];
        let observed = tail
            .into_iter()
            .filter(|beyond| beyond * self.n as f64 >= 1.0);
        let fractions = (0..100)
            .map(|percent| f64::from(percent) / 100.0)
            .chain(observed.map(|beyond| 1.0 - beyond))
            .chain([1.0]);
        fractions
            .filter_map(|fraction| Some((self.quantile_s(fraction)?, fraction)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_are_told_apart_and_the_longest_are_kept() {
        let mut histogram = TimeHistogram::default();
        for ns in [0, 40, 50, 60] {
            histogram.record(Nanos(ns));
        }
        histogram.record(Nanos::from_secs(1_000_000));
        histogram.compact();
        assert_eq!(histogram.quantile_s(0.2), Some(0.0));
        assert_eq!(histogram.quantile_s(0.6), Some(50e-9));
        assert!(histogram.quantile_s(1.0).unwrap() > 35_999.0);
    }

    #[test]
    fn the_tail_is_as_fine_as_observations_allow() {
        let tail_of = |observations: u64| {
            let mut histogram = TimeHistogram::default();
            for n in 1..=observations {
                histogram.record(Nanos::from_millis(n));
            }
            histogram.compact();
            let cdf = histogram.cdf();
            assert_eq!(cdf[99].1, 0.99);
            assert!(cdf.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1));
            cdf[100..].iter().map(|point| point.1).collect::<Vec<_>>()
        };
        assert_eq!(tail_of(10), [1.0]);
        assert_eq!(tail_of(250), [0.995, 1.0]);
        assert_eq!(tail_of(1_000), [0.995, 0.998, 0.999, 1.0]);
    }

    #[test]
    fn means_are_exact_and_percentiles_close() {
        let mut histogram = TimeHistogram::default();
        assert_eq!(histogram.mean_s(), None);
        assert_eq!(histogram.quantile_s(0.5), None);
        for ms in 1..=1000 {
            histogram.record(Nanos::from_millis(ms));
        }
        histogram.compact();
        assert!((histogram.mean_s().unwrap() - 0.5005).abs() < 1e-12);
        let median = histogram.quantile_s(0.5).unwrap();
        assert!((median - 0.5).abs() < 0.001, "{median}");
        assert_eq!(histogram.quantile_s(1.0), Some(1.0));
        assert_eq!(histogram.cdf().len(), 104);
        let both = TimeHistogram::pooled([&histogram, &histogram].into_iter());
        // With twice as many times the tail has more points.
        let pooled = both.cdf();
        assert!(histogram.cdf().iter().all(|point| pooled.contains(point)));
        assert_eq!(both.mean_s(), histogram.mean_s());
    }
}
