//! Sizes of the flows in a queue, and their evidence of the bytes that a flow still has to send.
//!
//! Serving the young first helps where a flow that has sent little is likely to end soon, and only there (Aalto and Ayesta,
//! Queueing Systems 53, 2006): where sizes have a decreasing hazard rate. So the queue counts how many flows reach each level.
//! The levels of short flows, up to 12 kB, are young as long as at least a [`PART`]th of the flows that reach them end
//! in these levels. For an older level the flows that end in it, for each byte that they take there, are compared with those
//! that end later, for each byte that is sent later: it is young as long as the first is [`RATIO`] times the second.

use crate::laws::flow_ages::{LEVELS, QUANTUM, level};

/// Levels of short flows: 12 kB. They are young until sizes show otherwise.
pub(crate) const SHORT: usize = 4;

/// Least part of the flows that reach a level of short flows to end in these levels: one in so many.
const PART: u64 = 16;

/// Number of flows below which sizes are no evidence that short flows are missing.
const ENOUGH: u32 = 64;

/// By how many times more flows have to end in a level, for each byte, than later.
const RATIO: u64 = 3;

/// Number of flows that must reach a level before it is evidence.
const FEWEST: u32 = 8;

/// New flows after which the counts are halved.
const MEMORY: u32 = 512;

/// New flows after which the levels are judged again.
const EACH: u32 = 16;

/// Unit of [`Size`], bytes.
const UNIT: u32 = 32;

/// Largest count of bytes.
const MOST: u64 = 1 << 40;

/// Bytes that a flow has sent so far, in units of 32 bytes, up to 2 MB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size(u16);

impl Size {
    fn bytes(self) -> u64 {
        u64::from(self.0) * u64::from(UNIT)
    }
}

/// Counts of flows by the level that they reach.
#[derive(Debug)]
pub(crate) struct FlowSizes {
    /// By level, from 1: flows that have reached it.
    reached: [u32; LEVELS + 2],
    /// Bytes sent by flows that are older than the last level.
    older: u64,
    young: usize,
}

impl Default for FlowSizes {
    fn default() -> FlowSizes {
        FlowSizes { reached: [0; LEVELS + 2], older: 0, young: SHORT }
    }
}

impl FlowSizes {
    /// The number of levels that are young: 1 to [`LEVELS`].
    #[inline]
    pub(crate) fn young_levels(&self) -> usize {
        self.young
    }

    /// A flow of this size sends a packet of `bytes`.
    #[inline]
    pub(crate) fn sent(&mut self, size: &mut Size, bytes: u32) {
        let new = size.0 == 0;
        let from = if new { 0 } else { level(size.bytes()) };
        size.0 = size.0.saturating_add(bytes.div_ceil(UNIT).try_into().unwrap_or(u16::MAX));
        let to = level(size.bytes());
        for reached in &mut self.reached[from + 1..=to] {
            *reached += 1;
        }
        if to > LEVELS {
            self.older = (self.older + u64::from(bytes)).min(MOST);
        }
        if new && self.reached[1].is_multiple_of(EACH) {
            self.judge();
        }
    }

    #[cold]
    fn judge(&mut self) {
        // Flows that end in a level, and bytes that are sent in it: half of the level by those that end there.
        let count = |level: usize| u64::from(self.reached[level]);
        let ends = |level| count(level).saturating_sub(count(level + 1));
        let bytes = |level: usize| (u64::from(QUANTUM) << (level - 2)) * (count(level) + count(level + 1)) / 2;
        let mut later = self.older + (SHORT + 1..=LEVELS).map(bytes).sum::<u64>();
        let told = self.reached[1] >= ENOUGH;
        self.young = 1;
        for level in 2..=LEVELS {
            let young = if level <= SHORT {
                let short = count(level).saturating_sub(count(SHORT + 1));
                !told || short * PART >= count(level)
            } else {
                later -= bytes(level);
                let ended = ends(level);
                let enough = self.reached[level] >= FEWEST && ended != 0;
                enough && ended * later >= RATIO * count(level + 1) * bytes(level)
            };
            if !young {
                break;
            }
            self.young = level;
        }
        if self.reached[1] >= MEMORY {
            self.older /= 2;
            for reached in &mut self.reached {
                *reached /= 2;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Levels that are young after flows of these sizes.
    fn young(sizes: impl Iterator<Item = u64>) -> usize {
        let mut counts = FlowSizes::default();
        for bytes in sizes {
            let mut size = Size::default();
            let mut left = bytes;
            while left > 0 {
                let packet = left.min(1514);
                counts.sent(&mut size, packet as u32);
                left -= packet;
            }
        }
        counts.young_levels()
    }

    fn pareto(rng: &mut impl Rng, shape: f64, least: f64) -> u64 {
        let u: f64 = rng.random_range(1e-9..1.0);
        (least * libm::pow(u, -1.0 / shape)).min(1e9) as u64
    }

    #[test]
    fn heavy_tails_make_more_levels_young() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let heavy = young((0..4000).map(|_| pareto(&mut rng, 0.9, 1500.0)));
        assert!(heavy >= 7, "{heavy}");
        // The exponential distribution has no memory: age is no evidence.
        let exponential = (0..4000).map(|_| {
            let u: f64 = rng.random_range(1e-9..1.0);
            (-40_000.0 * libm::log(u)) as u64 + 1
        });
        assert_eq!(young(exponential), SHORT);
    }

    #[test]
    fn no_level_is_young_where_no_flow_is_short() {
        for bytes in [13_000, 17_000, 200_000] {
            assert_eq!(young(std::iter::repeat_n(bytes, 2000)), 1, "{bytes}");
        }
        // All are short, and end in the third level.
        assert!(young(std::iter::repeat_n(6000, 2000)) >= 3);
        // Nine in ten are, and those that send more than these send much more.
        let most = (0..2000).map(|n| if n % 10 == 0 { 400_000 } else { 3000 });
        assert_eq!(young(most), 3);
    }

    #[test]
    fn a_few_flows_tell_nothing() {
        assert_eq!(young(std::iter::repeat_n(1 << 30, 20).map(|bytes| bytes >> 12)), SHORT);
    }
}
