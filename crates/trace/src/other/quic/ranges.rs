//! Sets of bytes of the TLS handshake that were sent.

/// Largest number of ranges per set. A client may split its ClientHello into any number of pieces, but few holes are
/// left at the end of a packet.
const MOST: usize = 16;

/// Bytes `start..end` of the stream of CRYPTO frames. Offsets saturate at 65,535, which is more than end points buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Range {
    pub(super) start: u16,
    pub(super) end: u16,
}

impl Range {
    /// Creates a range of `len` bytes from `offset`.
    pub(super) fn new(offset: u64, len: u64) -> Range {
        let clamp = |position: u64| u16::try_from(position).unwrap_or(u16::MAX);
        Range { start: clamp(offset), end: clamp(offset.saturating_add(len)) }
    }

    fn overlaps(self, other: Range) -> bool {
        self.start.max(other.start) < self.end.min(other.end)
    }
}

/// Set of bytes, as ranges in ascending order that do not touch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ranges {
    ranges: [Range; MOST],
    len: u8,
}

impl Ranges {
    fn as_slice(&self) -> &[Range] {
        &self.ranges[..usize::from(self.len)]
    }

    /// Whether the set has any byte of `range`.
    pub(super) fn any(&self, range: Range) -> bool {
        self.as_slice().iter().any(|known| known.overlaps(range))
    }

    /// Adds ranges, and sorts them. Ranges beyond the capacity are ignored: their retransmission will look new.
    pub(super) fn add(&mut self, ranges: &mut [Range]) {
        ranges.sort_unstable();
        // Adjacent ranges are joined first, so that pieces in any order take no more room than the whole.
        let mut joined: Option<Range> = None;
        for &range in ranges.iter().filter(|range| range.start < range.end) {
            joined = Some(match joined {
                Some(Range { start, end }) if range.start <= end => Range { start, end: end.max(range.end) },
                Some(done) => {
                    self.add_one(done);
                    range
                }
                None => range,
            });
        }
        if let Some(range) = joined {
            self.add_one(range);
        }
    }

    fn add_one(&mut self, range: Range) {
        let from = self.as_slice().partition_point(|r| r.end < range.start);
        let to = self.as_slice().partition_point(|r| r.start <= range.end);
        let len = usize::from(self.len);
        if from == to {
            if len < MOST {
                self.ranges.copy_within(from..len, from + 1);
                self.ranges[from] = range;
                self.len += 1;
            }
            return;
        }
        self.ranges[from] =
            Range { start: range.start.min(self.ranges[from].start), end: range.end.max(self.ranges[to - 1].end) };
        self.ranges.copy_within(to..len, from + 1);
        self.len -= (to - from - 1) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_beyond_its_room_is_left_out() {
        let mut ranges = Ranges::default();
        for i in 0..20 {
            ranges.add(&mut [Range::new(10 * i, 1)]);
        }
        assert!(ranges.any(Range::new(150, 1)));
        assert!(!ranges.any(Range::new(160, 1)));
        let mut pieces: Vec<_> = (0..100).rev().map(|i| Range::new(1000 + 2 * i, 2)).collect();
        let mut ranges = Ranges::default();
        ranges.add(&mut pieces);
        assert_eq!(ranges.as_slice(), [Range::new(1000, 200)]);
    }

    #[test]
    fn the_end_of_the_stream_is_one_place() {
        let far = Range::new(1 << 40, 1 << 40);
        assert_eq!(far.start, far.end);
        let mut ranges = Ranges::default();
        ranges.add(&mut [far, Range::new(60_000, u64::MAX)]);
        assert_eq!(ranges.as_slice(), [Range { start: 60_000, end: u16::MAX }]);
    }

    proptest! {
        #[test]
        fn knows_what_an_array_of_bits_would_know(
            packets in prop::collection::vec(prop::collection::vec((0u64..60, 0u64..8), 1..3), 0..8)
        ) {
            let mut ranges = Ranges::default();
            let mut bits = [false; 80];
            for packet in packets {
                let mut packet: Vec<_> = packet.into_iter().map(|(at, len)| Range::new(at, len)).collect();
                for range in &packet {
                    let known = bits[usize::from(range.start)..usize::from(range.end)].contains(&true);
                    prop_assert_eq!(ranges.any(*range), known);
                }
                ranges.add(&mut packet);
                for range in packet {
                    bits[usize::from(range.start)..usize::from(range.end)].fill(true);
                }
                prop_assert!(ranges.as_slice().windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
