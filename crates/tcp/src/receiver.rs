//! Receiving half: reassembly, SACK blocks (RFC 2018), duplicates (RFC 2883), the peer's FIN.

use crate::ack_policy::AckState;
use crate::compression::Compression;
use crate::ecn::CeState;
use crate::profile::Profile;
use crate::segment::MAX_SACK_BLOCKS;
use crate::seq::{Seq, Unwrap};
use crate::window::{BUFFER_DATA, OVERHEAD, ReceiveWindow};

/// Out-of-order data.
#[derive(Debug, Clone, Default)]
struct Reassembly {
    /// Ranges `[start, end)`, disjoint, not adjacent, ascending.
    ranges: Vec<(u64, u64)>,
    /// Bytes in the ranges.
    bytes: u64,
    /// Most recently changed ranges first, in the order in which RFC 2018, section 4, reports them.
    recent: [(u64, u64); 4],
    /// Acknowledgements of the data.
    compression: Compression,
}

impl Reassembly {
    /// Adds `[start, end)`; returns whether all of it was present.
    fn insert(&mut self, start: u64, end: u64) -> bool {
        // The ranges that touch or overlap the new one.
        let from = self.ranges.partition_point(|range| range.1 < start);
        let to = from + self.ranges[from..].partition_point(|range| range.0 <= end);
        if from == to {
            self.bytes += end - start;
            self.ranges.insert(from, (start, end));
            self.report((start, end));
            return false;
        }
        let present = self.ranges[from].0 <= start && end <= self.ranges[from].1;
        let merged = (start.min(self.ranges[from].0), end.max(self.ranges[to - 1].1));
        let replaced: u64 = self.ranges[from..to].iter().map(|old| old.1 - old.0).sum();
        self.bytes += merged.1 - merged.0 - replaced;
        self.ranges[from] = merged;
        self.ranges.drain(from + 1..to);
        self.report(merged);
        present
    }

    /// Puts `range` first in the reported ranges and drops those that it contains.
    fn report(&mut self, range: (u64, u64)) {
        let mut reported = [(0, 0); 4];
        reported[0] = range;
        let mut n = 1;
        for old in self.recent {
            if n < reported.len() && old.1 > 0 && (old.1 < range.0 || old.0 > range.1) {
                reported[n] = old;
                n += 1;
            }
        }
        self.recent = reported;
    }

    /// Removes ranges that have become in order; returns the new end of the in-order data.
    fn advance(&mut self, nxt: u64) -> u64 {
        let mut nxt = nxt;
        let mut bytes = self.bytes;
        let done = self
            .ranges
            .iter()
            .take_while(|range| {
                let reached = range.0 <= nxt;
                if reached {
                    nxt = nxt.max(range.1);
                    bytes -= range.1 - range.0;
                }
                reached
            })
            .count();
        self.bytes = bytes;
        self.ranges.drain(..done);
        let mut kept = [(0, 0); 4];
        let mut n = 0;
        for old in self.recent {
            if old.1 > nxt {
                kept[n] = old;
                n += 1;
            }
        }
        self.recent = kept;
        nxt
    }
}

/// Position of an arriving segment relative to the data received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// In order; `filled`: it closed a gap.
    InOrder {
        /// Whether out-of-order data became deliverable.
        filled: bool,
    },
    /// After a gap.
    OutOfOrder,
    /// Completely received before.
    Duplicate,
}

/// Receiving half of an end point.
#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    pub(crate) unwrap: Unwrap,
    /// Next position expected.
    pub(crate) nxt: u64,
    /// Position of the last acknowledgement sent.
    pub(crate) acknowledged: u64,
    /// Position of the peer's FIN; `u64::MAX` before it was seen.
    fin: u64,
    out_of_order: Option<Box<Reassembly>>,
    /// Bytes in order that the application has not read yet: those that a filled gap made deliverable, until the first
    /// acknowledgement of them has been sent.
    pub(crate) unread: u32,
    /// Duplicate to report in the next acknowledgement; empty: none.
    dsack: (u64, u64),
    pub(crate) ts_recent: u32,
    /// Whether to echo congestion until the peer reports a reduced window (RFC 3168, section 6.1.3).
    pub(crate) echo_congestion: bool,
    /// State of an echo that reports each change; `None`: the echo of RFC 3168.
    pub(crate) ce: Option<Box<CeState>>,
    pub(crate) ack: AckState,
    pub(crate) window: ReceiveWindow,
}

impl Receiver {
    pub(crate) fn new(profile: &Profile) -> Receiver {
        Receiver {
            unwrap: Unwrap::new(Seq(0)),
            nxt: 0,
            acknowledged: 0,
            fin: u64::MAX,
            out_of_order: None,
            unread: 0,
            dsack: (0, 0),
            ts_recent: 0,
            echo_congestion: false,
            ce: None,
            ack: AckState::new(profile),
            window: ReceiveWindow::new(profile),
        }
    }

    /// Sets the initial sequence number from the peer's SYN.
    pub(crate) fn synchronize(&mut self, isn: Seq) {
        self.unwrap = Unwrap::new(isn);
        self.nxt = 1;
    }

    /// Payload bytes delivered in order.
    #[inline]
    pub(crate) fn received(&self) -> u64 {
        self.nxt.min(self.fin).saturating_sub(1)
    }

    /// Whether the peer's FIN has arrived in order.
    #[inline]
    pub(crate) fn closed(&self) -> bool {
        self.nxt > self.fin
    }

    /// Whether out-of-order data is queued.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        self.out_of_order.as_ref().is_some_and(|queue| !queue.ranges.is_empty())
    }

    /// Bytes from the end of the in-order data to the end of the out-of-order data.
    #[inline]
    pub(crate) fn out_of_order_bytes(&self) -> u64 {
        let end = self.out_of_order.as_ref().and_then(|queue| queue.ranges.last());
        end.map_or(0, |range| range.1 - self.nxt)
    }

    /// Memory that out-of-order and unread data occupies, bytes. Segments that follow one another share a buffer
    /// (`tcp_ooo_try_coalesce`).
    #[inline]
    pub(crate) fn queued(&self) -> u64 {
        match &self.out_of_order {
            None if self.unread == 0 => 0,
            queue => {
                let (ranges, bytes) = queue.as_ref().map_or((0, 0), |queue| (queue.ranges.len() as u64, queue.bytes));
                let unread = u64::from(self.unread);
                let buffers = ranges + bytes / BUFFER_DATA + unread.div_ceil(BUFFER_DATA);
                bytes + unread + u64::from(OVERHEAD) * buffers
            }
        }
    }

    /// Acknowledgements of out-of-order data; `None`: there is no such data.
    #[inline]
    pub(crate) fn compression(&mut self) -> Option<&mut Compression> {
        let queue = self.out_of_order.as_mut();
        queue.map(|queue| &mut queue.compression)
    }

    /// Whether no data is out of order and no FIN has been seen.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.out_of_order.is_none() && self.fin == u64::MAX
    }

    /// Updates the timestamp to echo: the timestamp of the segment that advanced the left edge (RFC 7323, section 4.3).
    #[inline]
    pub(crate) fn note_timestamp(&mut self, value: u32) {
        if value.wrapping_sub(self.ts_recent) as i32 > 0 {
            self.ts_recent = value;
        }
    }

    /// Receives `len` bytes at `start`, then a FIN if `fin`. With `fin_sack` off, an out-of-order FIN is stored but not
    /// covered by SACK.
    #[inline]
    pub(crate) fn take(&mut self, start: u64, len: u32, fin: bool, fin_sack: bool) -> Fit {
        if start == self.nxt && !fin && self.is_plain() {
            self.nxt += u64::from(len);
            return Fit::InOrder { filled: false };
        }
        self.take_any(start, len, fin, fin_sack)
    }

    /// Slow path of [`take`](Receiver::take), for any segment.
    #[inline(never)]
    fn take_any(&mut self, start: u64, len: u32, fin: bool, fin_sack: bool) -> Fit {
        let data_end = start + u64::from(len);
        if fin {
            self.fin = data_end;
        }
        let end = data_end + u64::from(fin);
        if end <= self.nxt {
            self.dsack = (start, end);
            return Fit::Duplicate;
        }
        if start <= self.nxt {
            if start < self.nxt {
                self.dsack = (start, self.nxt);
            }
            self.nxt = end;
            let filled = self.has_gap();
            if filled && let Some(queue) = &mut self.out_of_order {
                self.nxt = queue.advance(self.nxt);
                if queue.ranges.is_empty() {
                    self.out_of_order = None;
                }
            }
            // The FIN arrived before its data and was only stored.
            if self.nxt == self.fin {
                self.nxt += 1;
            }
            return Fit::InOrder { filled };
        }
        let end = if fin_sack { end } else { data_end };
        if start < end && self.out_of_order.get_or_insert_default().insert(start, end) {
            self.dsack = (start, end);
            return Fit::Duplicate;
        }
        Fit::OutOfOrder
    }

    /// SACK blocks for the next segment, as many as fit, and their number; with `dsack`, a duplicate first.
    // Returned by value: a segment passed by reference is built in memory and then copied.
    #[inline(never)]
    pub(crate) fn sack_blocks(&mut self, dsack: bool) -> ([(Seq, Seq); MAX_SACK_BLOCKS], u8) {
        let mut blocks = [(Seq(0), Seq(0)); MAX_SACK_BLOCKS];
        let mut n = 0;
        if dsack && self.dsack.0 < self.dsack.1 {
            blocks[0] = self.wire(self.dsack);
            n = 1;
        }
        self.dsack = (0, 0);
        if let Some(queue) = &self.out_of_order {
            for range in queue.recent {
                if range.1 > 0 && n < blocks.len() {
                    blocks[n] = self.wire(range);
                    n += 1;
                }
            }
        }
        (blocks, n as u8)
    }

    /// Whether the next acknowledgement reports a duplicate, if it may.
    #[inline]
    pub(crate) fn has_dsack(&self) -> bool {
        self.dsack.1 > 0
    }

    /// Whether the next acknowledgement has to carry SACK blocks.
    #[inline]
    pub(crate) fn has_sack(&self) -> bool {
        self.has_dsack() || self.has_gap()
    }

    fn wire(&self, range: (u64, u64)) -> (Seq, Seq) {
        (self.unwrap.wire(range.0), self.unwrap.wire(range.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver() -> Receiver {
        let mut receiver = Receiver::new(&Profile::default());
        receiver.synchronize(Seq(0));
        receiver
    }

    fn blocks(receiver: &mut Receiver) -> Vec<(u32, u32)> {
        let (blocks, count) = receiver.sack_blocks(true);
        let blocks = blocks.iter().take(count.into());
        blocks.map(|b| (b.0.0, b.1.0)).collect()
    }

    /// RFC 2018, section 7, cases 2 and 3: every other one of eight segments of 500 bytes is lost.
    #[test]
    fn reports_the_most_recent_block_first() {
        let mut receiver = receiver();
        assert_eq!(receiver.take(1, 500, false, true), Fit::InOrder { filled: false });
        assert_eq!(receiver.take(1001, 500, false, true), Fit::OutOfOrder);
        assert_eq!(blocks(&mut receiver), [(1001, 1501)]);
        receiver.take(2001, 500, false, true);
        receiver.take(3001, 500, false, true);
        receiver.take(4001, 500, false, true);
        assert_eq!(blocks(&mut receiver), [(4001, 4501), (3001, 3501), (2001, 2501)]);
        // The fourth segment arrives and joins two blocks; the joined block comes first.
        receiver.take(2501, 500, false, true);
        assert_eq!(blocks(&mut receiver), [(2001, 3501), (4001, 4501), (1001, 1501)]);
        // The second segment fills the first gap.
        assert_eq!(receiver.take(501, 500, false, true), Fit::InOrder { filled: true });
        assert_eq!(receiver.nxt, 1501);
        assert_eq!(blocks(&mut receiver), [(2001, 3501), (4001, 4501)]);
    }

    #[test]
    fn reports_a_duplicate_first_and_once() {
        let mut receiver = receiver();
        receiver.take(1, 500, false, true);
        assert_eq!(receiver.take(1, 500, false, true), Fit::Duplicate);
        assert_eq!(blocks(&mut receiver), [(1, 501)]);
        assert_eq!(blocks(&mut receiver), []);
        receiver.take(1001, 500, false, true);
        assert_eq!(receiver.take(1001, 500, false, true), Fit::Duplicate);
        assert_eq!(blocks(&mut receiver), [(1001, 1501), (1001, 1501)]);
    }

    #[test]
    fn a_fin_ahead_of_its_data() {
        for (fin_sack, reported) in [(true, vec![(501, 502)]), (false, vec![])] {
            let mut receiver = receiver();
            assert_eq!(receiver.take(501, 0, true, fin_sack), Fit::OutOfOrder);
            assert_eq!(blocks(&mut receiver), reported);
            assert!(!receiver.closed());
            receiver.take(1, 500, false, fin_sack);
            assert!(receiver.closed());
            assert_eq!(receiver.received(), 500);
            assert_eq!(receiver.nxt, 502);
        }
    }

    proptest::proptest! {
        /// The fast path for in-order data has the effect of the slow path.
        #[test]
        fn the_short_cut_changes_nothing(
            segments in proptest::collection::vec((0u64..30, 0u32..5, 0u32..20), 1..60),
        ) {
            const END: u64 = 200;
            let (mut quick, mut full) = (receiver(), receiver());
            for (back, len, dice) in segments {
                // Mostly the next segment, else one before or after it; the FIN always at the same position.
                let start = if dice < 12 { quick.nxt } else { (quick.nxt + back).saturating_sub(15).max(1) };
                let len = (u64::from(len) * 10).min(END.saturating_sub(start)) as u32;
                let fin = start + u64::from(len) == END;
                if start > END || (len == 0 && !fin) {
                    continue;
                }
                let fits = (quick.take(start, len, fin, true), full.take_any(start, len, fin, true));
                proptest::prop_assert_eq!(fits.0, fits.1);
                proptest::prop_assert_eq!(blocks(&mut quick), blocks(&mut full));
                proptest::prop_assert_eq!(
                    (quick.nxt, quick.received(), quick.closed()),
                    (full.nxt, full.received(), full.closed())
                );
            }
        }
    }
}
