//! Histograms of the times between duplicates: handshake-2009, Figs. 1 and 2.

use super::backoff::{self, Candidates, SERIES, STANDARD, TOLERANCE, TOLERANCE_FLOOR};
use crate::results::{IntervalBin, IntervalHistogram, Intervals, SeriesCount, StandardInterval};
use crate::sum::{Sum, sum};
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Widths of the bins up to an interval: copies and answers that crossed are close to zero, timers between a second and
/// a minute.
const WIDTHS: [(Nanos, Nanos); 3] = [
    (Nanos::from_millis(10), Nanos::from_millis(1)),
    (Nanos::from_millis(100), Nanos::from_millis(10)),
    (Nanos::from_secs(10), Nanos::from_millis(100)),
];
/// Width of the bins of longer intervals.
const LONGEST_WIDTH: Nanos = Nanos::from_secs(1);

/// Histogram of intervals between SYNs or between SYN/ACKs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Histogram {
    /// Counts by lower end of the bin, nanoseconds.
    #[serde(with = "crate::codec::sorted")]
    bins: BTreeMap<u64, u64>,
    standard: [u64; STANDARD.len()],
    outside: u64,
}

impl Histogram {
    fn record(&mut self, interval: Nanos) -> bool {
        let width = Histogram::width(interval);
        *self.bins.entry(interval.0 / width.0 * width.0).or_default() += 1;
        match backoff::standard(interval) {
            Some(i) => {
                self.standard[i] += 1;
                true
            }
            None => {
                self.outside += 1;
                false
            }
        }
    }

    fn width(interval: Nanos) -> Nanos {
        WIDTHS.iter().find(|&&(until, _)| interval < until).map_or(LONGEST_WIDTH, |&(_, width)| width)
    }

    fn result(&self) -> IntervalHistogram {
        let standard: Vec<_> = STANDARD
            .iter()
            .zip(self.standard)
            .filter(|(_, count)| *count > 0)
            .map(|(&seconds, count)| StandardInterval { interval_s: seconds as f64, count })
            .collect();
        IntervalHistogram {
            bins: self
                .bins
                .iter()
                .map(|(&from, &count)| (Nanos(from), count))
                .map(|(from, count)| IntervalBin {
                    from_s: from.as_secs_f64(),
                    to_s: (from + Histogram::width(from)).as_secs_f64(),
                    count,
                })
                .collect(),
            total: self.outside + self.standard.iter().sum::<u64>(),
            standard,
            outside: self.outside,
        }
    }
}

/// Histograms of intervals, of SYNs and of SYN/ACKs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IntervalCounts {
    /// By side: SYNs are the client's, SYN/ACKs the server's.
    histograms: [Histogram; 2],
}

/// Number of connections by backoff series, by side.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SeriesCounts([[u64; SERIES.len()]; 2]);

sum! {
    Histogram { bins, standard, outside }
    IntervalCounts { histograms }
}

impl Sum for SeriesCounts {
    fn add(&mut self, more: SeriesCounts) {
        self.0.add(more.0);
    }
}

/// Name of the handshake segment of each side.
const SEGMENT: [&str; 2] = ["syn", "synack"];

impl IntervalCounts {
    /// Records a SYN or SYN/ACK repeated after `interval`; returns whether that is a standard interval.
    pub(crate) fn record(&mut self, side: usize, interval: Nanos) -> bool {
        self.histograms[side].record(interval)
    }

    pub(crate) fn result(&self, series: &SeriesCounts) -> Intervals {
        Intervals {
            tolerance: TOLERANCE,
            tolerance_floor_s: TOLERANCE_FLOOR.as_secs_f64(),
            syn: self.histograms[0].result(),
            synack: self.histograms[1].result(),
            series: series.result(),
        }
    }
}

impl SeriesCounts {
    /// Records the backoff series of a closed connection, by side, where its intervals form one.
    pub(crate) fn record(&mut self, series: &[Option<Candidates>; 2]) {
        for (counts, series) in self.0.iter_mut().zip(series) {
            if let Some(series) = series.and_then(Candidates::recognised) {
                counts[series] += 1;
            }
        }
    }

    fn result(&self) -> Vec<SeriesCount> {
        let mut series = Vec::new();
        for (side, segment) in SEGMENT.into_iter().enumerate() {
            for (known, &count) in SERIES.iter().zip(&self.0[side]) {
                if count > 0 {
                    series.push(SeriesCount { segment, label: known.label.to_string(), count });
                }
            }
        }
        series
    }
}
