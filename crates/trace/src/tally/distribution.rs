//! Distribution of durations in bounded memory: exact mean, percentiles to three or two significant digits.

use crate::results::Quantiles;
use crate::sum::Sum;
use gentle_units::Nanos;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longest duration that percentiles distinguish: ten hours, in nanoseconds.
const LONGEST_NS: u64 = 36_000_000_000_000;

/// Distribution of durations.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Kept", into = "Kept")]
pub(crate) struct Distribution {
    /// Significant digits of percentiles.
    digits: u8,
    histogram: Option<Histogram<u64>>,
    n: u64,
    sum_ns: u128,
    max: Nanos,
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution { digits: 3, histogram: None, n: 0, sum_ns: 0, max: Nanos::ZERO }
    }
}

/// Form of a distribution in records.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    sum_ns: u128,
    max: Nanos,
    /// Durations, as the histogram rounds them, with their numbers.
    counts: Vec<(u64, u64)>,
}

impl From<Distribution> for Kept {
    fn from(distribution: Distribution) -> Kept {
        let recorded = distribution.histogram.iter().flat_map(|histogram| {
            let values = histogram.iter_recorded();
            values.map(|value| (value.value_iterated_to(), value.count_at_value()))
        });
        Kept { sum_ns: distribution.sum_ns, max: distribution.max, counts: recorded.collect() }
    }
}

impl TryFrom<Kept> for Distribution {
    type Error = &'static str;

    fn try_from(kept: Kept) -> Result<Distribution, &'static str> {
        let mut distribution = Distribution { sum_ns: kept.sum_ns, max: kept.max, ..Distribution::default() };
        for (value, count) in kept.counts {
            let n = distribution.n.checked_add(count);
            distribution.n = n.ok_or("a distribution has too many values")?;
            distribution.histogram().saturating_record_n(value, count);
        }
        Ok(distribution)
    }
}

impl Sum for Distribution {
    fn add(&mut self, more: Distribution) {
        let Distribution { digits: _, histogram, n, sum_ns, max } = more;
        let Some(histogram) = histogram else {
            return;
        };
        self.n.add(n);
        self.sum_ns.add(sum_ns);
        self.max = self.max.max(max);
        for value in histogram.iter_recorded() {
            let count = value.count_at_value();
            self.histogram().saturating_record_n(value.value_iterated_to(), count);
        }
    }
}

impl Distribution {
    /// Distribution with percentiles to two significant digits, in an eighth of the memory: at most 40 kB.
    pub(crate) fn coarse() -> Distribution {
        Distribution { digits: 2, ..Distribution::default() }
    }

    pub(crate) fn record(&mut self, time: Nanos) {
        self.n += 1;
        self.sum_ns += u128::from(time.0);
        self.max = self.max.max(time);
        self.histogram().saturating_record(time.0.max(1));
    }

    fn histogram(&mut self) -> &mut Histogram<u64> {
        let digits = self.digits;
        self.histogram.get_or_insert_with(|| Histogram::new_with_bounds(1, LONGEST_NS, digits).expect("valid bounds"))
    }

    pub(crate) fn quantiles(&self) -> Quantiles {
        let Some(histogram) = self.histogram.as_ref().filter(|_| self.n > 0) else {
            return Quantiles::default();
        };
        let at = |q| Some(histogram.value_at_quantile(q).min(self.max.0) as f64 / 1e9);
        Quantiles {
            n: self.n,
            mean: Some(self.sum_ns as f64 / self.n as f64 / 1e9),
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: Some(self.max.as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_read_back_add_up_to_the_whole(
            times in prop::collection::vec((any::<bool>(), prop_oneof![0_u64..3_000, any::<u64>()]), 0..50),
        ) {
            let (mut whole, mut parts) = (Distribution::default(), [const { None }; 2]);
            for (part, time) in times {
                whole.record(Nanos(time));
                let part = parts[usize::from(part)].get_or_insert_with(Distribution::default);
                part.record(Nanos(time));
            }
            let mut sum = Distribution::default();
            for part in parts.into_iter().flatten() {
                let json = serde_json::to_string(&part).unwrap();
                sum.add(serde_json::from_str(&json).unwrap());
            }
            prop_assert_eq!(sum.quantiles(), whole.quantiles());
        }
    }
}
