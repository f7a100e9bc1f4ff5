//! Timeline of events, in bins that grow wider with the length of the trace.

use crate::results::{Timeline, TimelineBin};
use crate::sum::{Sum, sum};
use gentle_units::{Instant, Nanos};
use serde::{Deserialize, Serialize};

/// Largest number of bins; if there would be more, neighbours are merged.
const BINS: u64 = 400;
/// Initial width of a bin.
const FINEST: Nanos = Nanos::from_millis(100);

/// Counts of a bin.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BinCounts {
    pub(crate) attempts: u64,
    pub(crate) handshake_retransmissions: u64,
    pub(crate) other_retransmissions: u64,
    pub(crate) segments: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) time_lost: Nanos,
}

sum! {
    BinCounts { attempts, handshake_retransmissions, other_retransmissions, segments, wire_bytes, time_lost }
}

/// Bins that begin at multiples of their width since 1970, so that bins of several traces coincide: their number and
/// width follow from the first and the last time alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "Kept", into = "Kept")]
pub(crate) struct TimelineCounts {
    width: Nanos,
    /// Number of bin widths from 1970 to the first bin.
    from: u64,
    bins: Vec<BinCounts>,
    /// Cache of the bin used last, valid for times from `last_from` to `last_to`: usually it is used again, and the
    /// division to find a bin costs more than all the rest.
    last: usize,
    last_from: Instant,
    last_to: Instant,
}

/// Form of a timeline in records.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    width_ns: u64,
    from: u64,
    bins: Vec<BinCounts>,
}

impl From<TimelineCounts> for Kept {
    fn from(timeline: TimelineCounts) -> Kept {
        Kept { width_ns: timeline.width.0, from: timeline.from, bins: timeline.bins }
    }
}

impl TryFrom<Kept> for TimelineCounts {
    type Error = &'static str;

    fn try_from(kept: Kept) -> Result<TimelineCounts, &'static str> {
        let steps = kept.width_ns / FINEST.0;
        let is_width = kept.width_ns.is_multiple_of(FINEST.0) && steps.is_power_of_two();
        let end = kept.from.checked_add(kept.bins.len() as u64);
        let fits = end.is_some_and(|end| end.saturating_sub(1) <= u64::MAX / kept.width_ns.max(1));
        if !is_width || !fits || kept.bins.len() as u64 > BINS {
            return Err("a timeline has other bins than gentle makes");
        }
        Ok(TimelineCounts {
            width: Nanos(kept.width_ns),
            from: kept.from,
            bins: kept.bins,
            ..TimelineCounts::default()
        })
    }
}

impl Default for TimelineCounts {
    fn default() -> TimelineCounts {
        TimelineCounts {
            width: FINEST,
            from: 0,
            bins: Vec::new(),
            last: 0,
            last_from: Instant::ZERO,
            last_to: Instant::ZERO,
        }
    }
}

impl Sum for TimelineCounts {
    fn add(&mut self, mut other: TimelineCounts) {
        if other.bins.is_empty() {
            return;
        }
        while other.width < self.width {
            other.coarsen();
        }
        while self.width < other.width {
            self.coarsen();
        }
        let ends = |other: &TimelineCounts| (other.from, other.from + other.bins.len() as u64 - 1);
        let (first, last) = ends(&other);
        self.make_room(first, last);
        while other.width < self.width {
            other.coarsen();
        }
        let at = (other.from - self.from) as usize;
        for (mine, theirs) in self.bins[at..].iter_mut().zip(&other.bins) {
            mine.add(*theirs);
        }
        (self.last_from, self.last_to) = (Instant::ZERO, Instant::ZERO);
    }
}

impl TimelineCounts {
    /// Bin of `time`.
    #[inline]
    pub(crate) fn at(&mut self, time: Instant) -> &mut BinCounts {
        if time < self.last_from || time >= self.last_to {
            self.find(time);
        }
        &mut self.bins[self.last]
    }

    #[cold]
    fn find(&mut self, time: Instant) {
        let mut index = time.0 / self.width.0;
        self.make_room(index, index);
        index = time.0 / self.width.0;
        self.last = (index - self.from) as usize;
        self.last_from = Instant(index * self.width.0);
        self.last_to = self.last_from + self.width;
    }

    /// Makes bins for the indices from `first` to `last`, counted in the present width.
    fn make_room(&mut self, mut first: u64, mut last: u64) {
        let range = |timeline: &TimelineCounts, first: u64, last: u64| {
            if timeline.bins.is_empty() {
                return (first, last);
            }
            let end = timeline.from + (timeline.bins.len() as u64 - 1);
            (first.min(timeline.from), last.max(end))
        };
        let (mut from, mut to) = range(self, first, last);
        while to - from >= BINS {
            self.coarsen();
            (first, last) = (first / 2, last / 2);
            (from, to) = range(self, first, last);
        }
        if self.bins.is_empty() {
            self.from = from;
        }
        if from < self.from {
            let missing = (self.from - from) as usize;
            self.bins.splice(0..0, std::iter::repeat_n(BinCounts::default(), missing));
            self.from = from;
        }
        self.bins.resize((to - from + 1) as usize, BinCounts::default());
    }

    fn coarsen(&mut self) {
        let mut bins: Vec<BinCounts> = Vec::with_capacity(self.bins.len() / 2 + 1);
        for (index, bin) in (self.from..).zip(&self.bins) {
            let at = (index / 2 - self.from / 2) as usize;
            if at == bins.len() {
                bins.push(*bin);
            } else {
                bins[at].add(*bin);
            }
        }
        self.width = Nanos(self.width.0.saturating_mul(2));
        self.from /= 2;
        self.bins = bins;
        (self.last_from, self.last_to) = (Instant::ZERO, Instant::ZERO);
    }

    /// Non-empty bins of a trace that begins at `start`.
    pub(crate) fn result(&self, start: Instant) -> Timeline {
        let bins = (self.from..).zip(&self.bins);
        Timeline {
            bin_s: self.width.as_secs_f64(),
            bins: bins
                .filter(|(_, bin)| bin.wire_bytes > 0 || bin.segments > 0)
                .map(|(index, bin)| TimelineBin {
                    t_s: Instant(index * self.width.0).saturating_since(start).as_secs_f64(),
                    attempts: bin.attempts,
                    handshake_retransmissions: bin.handshake_retransmissions,
                    other_retransmissions: bin.other_retransmissions,
                    segments: bin.segments,
                    wire_bytes: bin.wire_bytes,
                    time_lost_s: bin.time_lost.as_secs_f64(),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_lost_when_bins_grow() {
        let mut timeline = TimelineCounts::default();
        for s in 0..5_000 {
            timeline.at(Instant::from_secs(10 + s)).segments += 1;
        }
        let mut other = TimelineCounts::default();
        other.at(Instant::from_secs(10)).wire_bytes += 7;
        other.at(Instant::from_secs(9)).segments += 7;
        timeline.add(other);
        let result = timeline.result(Instant::from_secs(9));
        assert!(result.bins.len() <= BINS as usize);
        assert_eq!(result.bins.iter().map(|bin| bin.segments).sum::<u64>(), 5_007);
        assert_eq!(result.bins[0].t_s, 0.0);
        assert!(result.bin_s >= 12.5);
    }

    proptest! {
        /// The bins of a trace do not depend on how it is cut, nor on the order of the parts and of their packets.
        #[test]
        fn parts_add_up_to_the_whole(
            times in prop::collection::vec(
                (0_usize..4, prop_oneof![0_u64..5_000_000_000, 0_u64..5_000_000_000_000, any::<u64>()]),
                1..60,
            ),
        ) {
            let mut whole = TimelineCounts::default();
            let mut parts = [const { None }; 4];
            for (part, time) in &times {
                whole.at(Instant(*time)).segments += 1;
                let part = parts[*part].get_or_insert_with(TimelineCounts::default);
                part.at(Instant(*time)).segments += 1;
            }
            let mut sum = TimelineCounts::default();
            for part in parts.into_iter().flatten().rev() {
                let json = serde_json::to_string(&part).unwrap();
                sum.add(serde_json::from_str(&json).unwrap());
            }
            let shown = |timeline: &TimelineCounts| format!("{:?}", timeline.result(Instant::ZERO));
            prop_assert_eq!(shown(&sum), shown(&whole));
        }
    }
}
