//! Timeline of events, in bins that grow wider with the length of the trace.

use crate::results::{Timeline, TimelineBin};
use gentle_units::Nanos;

/// Largest number of bins; if there would be more, neighbours are merged.
const BINS: usize = 400;
/// Initial width of a bin.
const FINEST: Nanos = Nanos::from_millis(100);

/// Bins since the first packet.
#[derive(Debug, Clone)]
pub(crate) struct TimelineCounts {
    start: Option<Nanos>,
    width: Nanos,
    bins: Vec<TimelineBin>,
    /// Cache of the bin used last, valid for times from `last_from` to `last_to`: usually it is used again, and the
    /// division to find a bin costs more than all the rest.
    last: usize,
    last_from: Nanos,
    last_to: Nanos,
}

impl TimelineCounts {
    /// Empty timeline; `start` is the time of the first packet, or `None` to start at the first time recorded. Earlier
    /// times, in an unordered trace, count for the first bin.
    pub(crate) fn new(start: Option<Nanos>) -> TimelineCounts {
        TimelineCounts {
            start,
            width: FINEST,
            bins: Vec::new(),
            last: 0,
            last_from: Nanos::ZERO,
            last_to: Nanos::ZERO,
        }
    }

    /// Time of the first packet, if there was one.
    pub(crate) fn start(&self) -> Option<Nanos> {
        self.start
    }

    /// Bin of `time`.
    #[inline]
    pub(crate) fn at(&mut self, time: Nanos) -> &mut TimelineBin {
        if time < self.last_from || time >= self.last_to {
            self.find(time);
        }
        &mut self.bins[self.last]
    }

    #[cold]
    fn find(&mut self, time: Nanos) {
        let start = *self.start.get_or_insert(time);
        let since = time.saturating_sub(start).0;
        while since / self.width.0 >= BINS as u64 {
            self.coarsen();
        }
        let index = since / self.width.0;
        self.last = index as usize;
        self.last_from = if index == 0 {
            Nanos::ZERO
        } else {
            start.saturating_add(Nanos(index * self.width.0))
        };
        self.last_to = start.saturating_add(Nanos((index + 1).saturating_mul(self.width.0)));
        if self.last >= self.bins.len() {
            self.bins.resize(self.last + 1, TimelineBin::default());
        }
    }

    fn coarsen(&mut self) {
        self.width = Nanos(self.width.0.saturating_mul(2));
        self.bins = self
            .bins
            .chunks(2)
            .map(|pair| {
                let mut sum = pair[0];
                if let Some(second) = pair.get(1) {
                    add(&mut sum, second);
                }
                sum
            })
            .collect();
    }

    /// Adds the counts of another timeline with the same start.
    pub(crate) fn merge(&mut self, mut other: TimelineCounts) {
        while self.width < other.width {
            self.coarsen();
        }
        while other.width < self.width {
            other.coarsen();
        }
        if self.bins.len() < other.bins.len() {
            self.bins.resize(other.bins.len(), TimelineBin::default());
        }
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            add(mine, theirs);
        }
    }

    pub(crate) fn result(&self) -> Timeline {
        let bin_s = self.width.as_secs_f64();
        Timeline {
            bin_s,
            bins: self
                .bins
                .iter()
                .enumerate()
                .map(|(i, bin)| TimelineBin {
                    t_s: (self.width.0 * i as u64) as f64 / 1e9,
                    ..*bin
                })
                .filter(|bin| bin.wire_bytes > 0 || bin.segments > 0)
                .collect(),
        }
    }
}

fn add(sum: &mut TimelineBin, more: &TimelineBin) {
    sum.attempts += more.attempts;
    sum.handshake_retransmissions += more.handshake_retransmissions;
    sum.other_retransmissions += more.other_retransmissions;
    sum.segments += more.segments;
    sum.wire_bytes += more.wire_bytes;
    sum.time_lost_s += more.time_lost_s;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_bins_grow() {
        let mut timeline = TimelineCounts::new(Some(Nanos::from_secs(10)));
        for s in 0..5_000 {
            timeline.at(Nanos::from_secs(10 + s)).segments += 1;
        }
        let mut other = TimelineCounts::new(None);
        other.at(Nanos::from_secs(10)).wire_bytes += 7;
        other.at(Nanos::from_secs(9)).segments += 7;
        timeline.merge(other);
        let result = timeline.result();
        assert!(result.bins.len() <= BINS);
        assert_eq!(
            result.bins.iter().map(|bin| bin.segments).sum::<u64>(),
            5_007
        );
        assert_eq!(result.bins[0].t_s, 0.0);
        assert!(result.bin_s >= 12.5);
    }
}
