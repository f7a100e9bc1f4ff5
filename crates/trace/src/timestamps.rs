//! Timestamps of a file: packets earlier than a previous one, and timestamps far from all others.

use gentle_units::{Instant, Nanos};
use serde::{Deserialize, Serialize};

/// Longest gap between packets of the same stretch of time.
const STRETCH: Nanos = Nanos::from_secs(86_400);
/// Largest number of stretches of a file; packets of further ones are counted in the last.
const STRETCHES: usize = 8;
/// Stretches more than a year apart cannot belong to one capture, even if they are in order.
const FAR: Nanos = Nanos::from_secs(366 * 86_400);

/// Stretch of time that has packets.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stretch {
    first: Instant,
    last: Instant,
    packets: u64,
}

/// Packet timestamps of one file, in file order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timestamps {
    /// Latest timestamp of the current stretch.
    latest: Instant,
    /// Number of packets earlier than a previous one; `furthest_back`: the largest step backwards.
    backwards: u64,
    furthest_back: Nanos,
    /// Stretches in the order of their first packets in the file.
    stretches: Vec<Stretch>,
    /// Index of the current stretch; `before`: number of packets of the file before it.
    current: usize,
    before: u64,
    /// Whether the file returned to a stretch that it had left.
    returned: bool,
}

impl Default for Timestamps {
    fn default() -> Timestamps {
        Timestamps {
            // Makes the first packet take the slow path: no capture has packets in the last day that a timestamp can
            // express.
            latest: Instant::NEVER - STRETCH,
            backwards: 0,
            furthest_back: Nanos::ZERO,
            stretches: Vec::new(),
            current: 0,
            before: 0,
            returned: false,
        }
    }
}

/// Packets whose timestamps are far from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outliers {
    pub(crate) packets: u64,
    /// Timestamp of one of them.
    pub(crate) time: Instant,
    /// Distance from the stretch that has most packets.
    pub(crate) distance: Nanos,
}

impl Timestamps {
    /// Records the next packet's timestamp; `before` is the number of packets before it in the file.
    #[inline(always)]
    pub(crate) fn record(&mut self, time: Instant, before: u64) {
        // One comparison finds both jumps and steps backwards, which wrap around.
        if time.0.wrapping_sub(self.latest.0) > STRETCH.0 {
            self.record_rare(time, before);
        } else {
            self.latest = time;
        }
    }

    /// Handles the first timestamp, one earlier than the previous, or a jump.
    #[cold]
    #[inline(never)]
    fn record_rare(&mut self, time: Instant, before: u64) {
        let back = self.latest.saturating_since(time);
        if !self.stretches.is_empty() && back > Nanos::ZERO && back <= STRETCH {
            self.backwards += 1;
            self.furthest_back = self.furthest_back.max(back);
            let stretch = &mut self.stretches[self.current];
            stretch.first = stretch.first.min(time);
            return;
        }
        self.leave(before);
        let near = |stretch: &Stretch| time + STRETCH >= stretch.first && time <= stretch.last + STRETCH;
        let known = self.stretches.iter().position(near);
        self.returned |= known.is_some();
        self.current = known.unwrap_or_else(|| {
            if self.stretches.len() == STRETCHES {
                return STRETCHES - 1;
            }
            self.stretches.push(Stretch { first: time, last: time, packets: 0 });
            self.stretches.len() - 1
        });
        let stretch = &mut self.stretches[self.current];
        stretch.first = stretch.first.min(time);
        self.latest = match known {
            Some(_) if time < stretch.last => {
                self.backwards += 1;
                self.furthest_back = self.furthest_back.max(stretch.last - time);
                stretch.last
            }
            _ => time,
        };
    }

    /// Ends the current stretch, after `packets` packets of the file.
    fn leave(&mut self, packets: u64) {
        if self.stretches.is_empty() && packets > 0 {
            self.stretches.push(Stretch { first: self.latest, last: self.latest, packets: 0 });
        }
        if let Some(stretch) = self.stretches.get_mut(self.current) {
            stretch.last = stretch.last.max(self.latest);
            stretch.packets += packets - self.before;
        }
        self.before = packets;
    }

    /// Ends the file, after `packets` packets.
    pub(crate) fn end(&mut self, packets: u64) {
        self.leave(packets);
    }

    /// Earliest and latest timestamp.
    pub(crate) fn span(&self) -> Option<(Instant, Instant)> {
        let first = self.stretches.iter().map(|stretch| stretch.first).min()?;
        let last = self.stretches.iter().map(|stretch| stretch.last).max()?;
        Some((first, last.max(self.latest)))
    }

    /// Number of packets earlier than a previous one, and the largest step backwards.
    pub(crate) fn backwards(&self) -> (u64, Nanos) {
        (self.backwards, self.furthest_back)
    }

    /// Packets far from the stretch that has most: more than a year away, or more than a day in a file that returned to
    /// an earlier stretch.
    pub(crate) fn outliers(&self) -> Option<Outliers> {
        let most = self.stretches.iter().max_by_key(|stretch| stretch.packets)?;
        let distance = |stretch: &Stretch| {
            stretch.first.saturating_since(most.last).max(most.first.saturating_since(stretch.last))
        };
        let others = self
            .stretches
            .iter()
            .filter(|stretch| distance(stretch) > FAR || (self.returned && distance(stretch) > STRETCH));
        let (packets, farthest) = others.fold((0, None), |(packets, farthest), stretch| {
            let farther = farthest.is_none_or(|known: &Stretch| distance(stretch) > distance(known));
            (packets + stretch.packets, if farther { Some(stretch) } else { farthest })
        });
        farthest.map(|stretch| Outliers { packets, time: stretch.first, distance: distance(stretch) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times(seconds: impl IntoIterator<Item = u64>) -> Timestamps {
        let mut times = Timestamps::default();
        let mut packets = 0;
        for second in seconds {
            times.record(Instant::from_secs(second), packets);
            packets += 1;
        }
        times.end(packets);
        times
    }

    const DAY: u64 = 86_400;
    const START: u64 = 20_000 * DAY;

    #[test]
    fn a_capture_in_order_is_in_order() {
        // Days without packets in between.
        let days = [0, 1, 2, 7, 7, 30, 200].map(|day| START + day * DAY);
        let times = times(days);
        assert_eq!(times.backwards(), (0, Nanos::ZERO));
        assert_eq!(times.outliers(), None);
        let span = [days[0], days[6]].map(Instant::from_secs);
        assert_eq!(times.span(), Some((span[0], span[1])));
    }

    #[test]
    fn what_comes_back_is_counted_against_the_latest() {
        let times = times([10, 20, 15, 12, 21, 20].map(|second| START + second));
        assert_eq!(times.backwards(), (3, Nanos::from_secs(8)));
        assert_eq!(times.outliers(), None);
    }

    #[test]
    fn a_few_packets_of_1970_or_2106_do_not_hide_the_others() {
        for strange in [0, 3, 136 * 366 * DAY] {
            for at in 0..5 {
                let mut seconds: Vec<u64> = (0..100).map(|second| START + second).collect();
                seconds.insert(at * 25, strange);
                let outliers = times(seconds).outliers().unwrap();
                assert_eq!(outliers.packets, 1, "{strange} {at}");
                assert_eq!(outliers.time, Instant::from_secs(strange));
            }
        }
    }

    #[test]
    fn a_jump_of_a_month_and_back_is_strange_too() {
        let times = times([0, 1, 30 * DAY, 2, 3].map(|second| START + second));
        assert_eq!(times.outliers().unwrap().packets, 1);
        assert_eq!(times.backwards().0, 0);
    }

    proptest! {
        /// For any timestamps but those of the last day, each packet is counted once and the span is from the smallest to the
        /// largest.
        #[test]
        fn every_packet_is_in_one_stretch(
            seconds in prop::collection::vec(prop_oneof![0_u64..100, 0..u64::MAX / 1_000_000_000 - DAY], 1..60),
        ) {
            let times = times(seconds.iter().copied());
            let packets: u64 = times.stretches.iter().map(|stretch| stretch.packets).sum();
            prop_assert_eq!(packets, seconds.len() as u64);
            let span = (seconds.iter().min(), seconds.iter().max());
            let (first, last) = times.span().unwrap();
            prop_assert_eq!((Some(&(first.0 / 1_000_000_000)), Some(&(last.0 / 1_000_000_000))), span);
        }
    }
}
