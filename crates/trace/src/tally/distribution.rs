//! Distribution of durations in bounded memory: exact mean, percentiles to three significant digits.

use crate::results::Quantiles;
use gentle_units::Nanos;
use hdrhistogram::Histogram;

/// Longest duration that percentiles distinguish: ten hours, in nanoseconds.
const LONGEST_NS: u64 = 36_000_000_000_000;

/// Distribution of durations.
#[derive(Debug, Clone, Default)]
pub(crate) struct Distribution {
    histogram: Option<Histogram<u64>>,
    n: u64,
    sum_ns: u128,
    max: Nanos,
}

impl Distribution {
    pub(crate) fn record(&mut self, time: Nanos) {
        self.n += 1;
        self.sum_ns += u128::from(time.0);
        self.max = self.max.max(time);
        self.histogram
            .get_or_insert_with(|| {
                Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("valid bounds")
            })
            .saturating_record(time.0.max(1));
    }

    pub(crate) fn quantiles(&self) -> Quantiles {
        let Some(histogram) = &self.histogram else {
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
