//! Histogram of times with an exact mean, percentiles to three significant digits and bounded memory.

use gentle_units::Nanos;
use serde::{Deserialize, Serialize};

/// Times of 2^46 ns (19.5 hours) or more count as ten hours in percentiles.
const BITS: u32 = 46;
const LONGEST_NS: u64 = 36_000_000_000_000;

/// A bucket is as wide as 2^b ns; times from 2^(10+b) to 2^(11+b) ns are in 1024 buckets of that width, shorter ones each
/// in a separate bucket: three significant digits, as in HdrHistogram.
const DIGITS: u32 = 10;
const BUCKETS: usize = (BITS as usize - DIGITS as usize + 1) << DIGITS;

/// Bucket of a time.
#[inline]
fn bucket_of(ns: u64) -> usize {
    let width = (ns | 1 << DIGITS).ilog2() - DIGITS;
    ((u64::from(width) << DIGITS) + (ns >> width)) as usize
}

/// Longest time in a bucket.
fn upper_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let width = (bucket >> DIGITS).saturating_sub(1);
    ((bucket - (width << DIGITS) + 1) << width) - 1
}

/// Histogram of times. [`TimeHistogram::compact`] is required between recording and reading percentiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimeHistogram {
    /// Number of times in each bucket during recording; empty: none so far.
    #[serde(skip)]
    counts: Vec<u32>,
    /// Upper ends and counts of the buckets in use, after recording.
    buckets: Vec<(u64, u64)>,
    /// Number of times.
    n: u64,
    /// Number of times equal to zero, which are most times in many queues and cheaper to count separately.
    zeros: u64,
    sum_ns: u128,
    #[serde(rename = "max_ns")]
    max: Nanos,
}

impl Default for TimeHistogram {
    fn default() -> Self {
        TimeHistogram { counts: Vec::new(), buckets: Vec::new(), n: 0, zeros: 0, sum_ns: 0, max: Nanos::ZERO }
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
        self.count_in_bucket(time.0, 1);
        self.sum_ns += u128::from(time.0);
        self.max = self.max.max(time);
    }

    /// Adds the times of `other`, in which recording has ended. Recording continues here.
    pub(crate) fn add(&mut self, other: &TimeHistogram) {
        debug_assert!(other.counts.is_empty(), "compact() has to be called first");
        for (value, count) in &other.buckets {
            if *value == 0 {
                self.zeros = self.zeros.saturating_add(*count);
                continue;
            }
            // Counts of a record that another process has written may be of any size.
            let count = u32::try_from(*count).unwrap_or(u32::MAX);
            self.count_in_bucket(*value, count);
        }
        self.n = self.n.saturating_add(other.n);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max = self.max.max(other.max);
    }

    // For every packet: a histogram of the crate hdrhistogram takes 2 % of a whole simulation more.
    #[inline]
    fn count_in_bucket(&mut self, ns: u64, times: u32) {
        match self.counts.get_mut(bucket_of(ns)) {
            Some(count) => *count = count.saturating_add(times),
            None => self.count_first_or_longest(ns, times),
        }
    }

    #[cold]
    fn count_first_or_longest(&mut self, ns: u64, times: u32) {
        self.counts.resize(BUCKETS, 0);
        let ns = if ns >> BITS == 0 { ns } else { LONGEST_NS };
        let count = &mut self.counts[bucket_of(ns)];
        *count = count.saturating_add(times);
    }

    /// Ends recording and keeps only the buckets in use, so that the results of many runs fit into memory.
    pub(crate) fn compact(&mut self) {
        if self.zeros > 0 {
            self.buckets.push((0, self.zeros));
        }
        let counts = std::mem::take(&mut self.counts).into_iter().enumerate();
        let used = counts.filter(|(_, count)| *count > 0);
        self.buckets.extend(used.map(|(bucket, count)| (upper_end(bucket), count.into())));
    }

    /// Number of times recorded.
    pub(crate) fn count(&self) -> u64 {
        self.n
    }

    pub(crate) fn mean_s(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum_ns as f64 / 1e9 / self.n as f64)
    }

    /// Number of the shortest times that are at most the quantile `quantile`, 0 to 1; it grows with `quantile`.
    fn rank(&self, quantile: f64) -> u64 {
        ((quantile * self.n as f64).ceil() as u64).max(1)
    }

    /// The quantile `quantile`, 0 to 1, in seconds; `None` without times.
    pub(crate) fn quantile_s(&self, quantile: f64) -> Option<f64> {
        debug_assert!(self.counts.is_empty(), "compact() has to be called first");
        let rank = self.rank(quantile);
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
        for set in sets {
            all.buckets.extend(&set.buckets);
            all.n += set.n;
            all.sum_ns += set.sum_ns;
            all.max = all.max.max(set.max);
        }
        // A stable sort, which is linear for the buckets of one run.
        all.buckets.sort_by_key(|(value, _)| *value);
        all.buckets.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        all
    }

    /// Distribution function as pairs (value in seconds, fraction): 0, 1 %, … 99 %, then 99.5 %, 99.8 %, 99.9 % … while
    /// at least one time lies beyond, and 100 %.
    pub(crate) fn cdf(&self) -> Vec<(f64, f64)> {
        let tail = [5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5];
        let observed = tail.into_iter().filter(|beyond| beyond * self.n as f64 >= 1.0);
        let fractions =
            (0..100).map(|percent| f64::from(percent) / 100.0).chain(observed.map(|beyond| 1.0 - beyond)).chain([1.0]);
        let mut buckets = self.buckets.iter();
        let (mut seen, mut reached) = (0, 0);
        fractions
            .map_while(|fraction| {
                let rank = self.rank(fraction);
                while seen < rank {
                    let (upper, count) = buckets.next()?;
                    (seen, reached) = (seen + count, *upper);
                }
                Some((Nanos(reached).min(self.max).as_secs_f64(), fraction))
            })
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
