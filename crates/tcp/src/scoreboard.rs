//! What has been sent and not yet acknowledged cumulatively.
//!
//! Segments lie in the order of sequence numbers in a ring buffer, so a position is found by binary search; a linked
//! list through the same entries keeps them in the order of their last transmission, which is what RACK walks
//! (RFC 8985, section 5.2; `tsorted_sent_queue` in Linux). Counters give what is in flight without a scan.
//!
//! The ring is not a `VecDeque` because the list needs names of entries that stay when the front moves: an identity,
//! counting up, is at once the name and, modulo the ring's size, the slot.

use gentle_units::Nanos;

/// No entry.
const NIL: u32 = u32::MAX;

/// The peer holds the segment (RFC 2018).
pub(crate) const SACKED: u8 = 1;
/// Deemed lost.
pub(crate) const LOST: u8 = 2;
/// Retransmitted, and the retransmission is in flight.
pub(crate) const RETRANS: u8 = 4;
/// Retransmitted at some time: gives no round-trip sample (Karn's algorithm).
pub(crate) const EVER_RETRANS: u8 = 8;
/// Ends with the FIN, which is counted in its length.
pub(crate) const FIN: u8 = 16;
/// Ends what the application wrote.
pub(crate) const PUSH: u8 = 32;
/// Was SACKED once, which was forgotten: it arrived long before the acknowledgement that comes now, which therefore
/// gives no round-trip sample.
pub(crate) const FORGOTTEN: u8 = 64;

/// A segment in the scoreboard.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    /// Position of its first byte.
    pub(crate) start: u64,
    /// When it was last transmitted.
    pub(crate) sent: Nanos,
    earlier: u32,
    later: u32,
    /// Sequence space it occupies, FIN included.
    pub(crate) len: u16,
    pub(crate) flags: u8,
}

impl Sent {
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    #[inline]
    pub(crate) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The scoreboard. `sacked`, `lost` and `retrans` count segments as Linux's `sacked_out`, `lost_out`, `retrans_out`.
#[derive(Debug, Clone)]
pub(crate) struct Scoreboard {
    /// A power of two of them, or none; the entry with identity `i` lies in slot `i` modulo their number.
    slots: Vec<Sent>,
    /// Identity of the first entry, and how many there are.
    front: u32,
    len: u32,
    /// Least and most recently transmitted of the listed entries.
    oldest: u32,
    newest: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retrans: u32,
}

impl Scoreboard {
    pub(crate) fn new() -> Scoreboard {
        Scoreboard {
            slots: Vec::new(),
            front: 0,
            len: 0,
            oldest: NIL,
            newest: NIL,
            sacked: 0,
            lost: 0,
            retrans: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&Sent> {
        (index < self.len as usize).then(|| &self.slots[self.slot(index)])
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&Sent> {
        self.get(0)
    }

    /// Where the entry at `index` lies.
    #[inline]
    fn slot(&self, index: usize) -> usize {
        self.slot_of(self.id(index))
    }

    #[inline]
    fn id(&self, index: usize) -> u32 {
        self.front.wrapping_add(index as u32)
    }

    #[inline]
    fn slot_of(&self, id: u32) -> usize {
        id as usize & self.slots.len().wrapping_sub(1)
    }

    /// Doubles the ring.
    #[cold]
    fn grow(&mut self) {
        let room = (self.slots.len() * 2).max(4);
        let mut slots = vec![Sent::default(); room];
        for index in 0..self.len as usize {
            slots[self.id(index) as usize & (room - 1)] = self.slots[self.slot(index)];
        }
        self.slots = slots;
    }

    /// Segments believed to be in the network: `tcp_packets_in_flight`, the `pipe` of RFC 6675 in segments.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        (self.len + self.retrans).saturating_sub(self.sacked + self.lost)
    }

    /// Index of the segment that holds `position`, or of the first one behind it.
    #[inline]
    pub(crate) fn find(&self, position: u64) -> usize {
        let (mut from, mut to) = (0, self.len as usize);
        // Most often it is the front, or lies behind everything.
        if self.front().is_none_or(|front| position < front.end()) {
            return 0;
        }
        if self.slots[self.slot(to - 1)].end() <= position {
            return to;
        }
        while from < to {
            let middle = (from + to) / 2;
            if self.slots[self.slot(middle)].end() <= position {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// Appends a segment transmitted at `now`.
    #[inline]
    pub(crate) fn push(&mut self, start: u64, len: u16, flags: u8, now: Nanos) {
        if self.len as usize == self.slots.len() {
            self.grow();
        }
        let id = self.id(self.len as usize);
        *self.entry(id) = Sent {
            start,
            sent: now,
            earlier: self.newest,
            later: NIL,
            len,
            flags,
        };
        self.len += 1;
        self.append_to_list(id);
    }

    /// Takes the front segment off.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Sent> {
        let sent = *self.front()?;
        self.bypass(self.front, &sent);
        self.front = self.front.wrapping_add(1);
        self.len -= 1;
        if sent.flags & (SACKED | LOST | RETRANS) != 0 {
            self.sacked -= u32::from(sent.is(SACKED));
            self.lost -= u32::from(sent.is(LOST));
            self.retrans -= u32::from(sent.is(RETRANS));
        }
        Some(sent)
    }

    /// Takes off at once everything before `ack`, which must be the border of two segments, if all of it was sent once
    /// and nothing was ever said of it. Returns how many segments there were, when the first was sent, and the last.
    #[inline]
    pub(crate) fn pop_untouched(&mut self, ack: u64) -> Option<(u32, Nanos, Sent)> {
        let first = self.front()?.sent;
        let mut last = None;
        let mut count = 0;
        let mut oldest = self.oldest;
        while count < self.len {
            let id = self.front.wrapping_add(count);
            let sent = &self.slots[self.slot_of(id)];
            if sent.end() > ack {
                if sent.start < ack {
                    return None;
                }
                break;
            }
            if sent.flags & !(FIN | PUSH) != 0 || oldest != id {
                return None;
            }
            oldest = sent.later;
            last = Some(sent);
            count += 1;
        }
        let last = *last?;
        self.front = self.front.wrapping_add(count);
        self.len -= count;
        self.oldest = oldest;
        if oldest == NIL {
            self.newest = NIL;
        } else {
            self.entry(oldest).earlier = NIL;
        }
        Some((count, first, last))
    }

    /// Cuts `bytes` off the front segment, which an acknowledgement covered in part.
    pub(crate) fn trim_front(&mut self, bytes: u16) {
        if self.len > 0 {
            let sent = self.entry(self.front);
            sent.start += u64::from(bytes);
            sent.len -= bytes;
        }
    }

    /// Marks a segment as held by the peer; it is neither lost nor in flight any more.
    pub(crate) fn mark_sacked(&mut self, index: usize) {
        let sent = self.entry(self.id(index));
        debug_assert!(!sent.is(SACKED));
        let flags = sent.flags;
        sent.flags = (flags & !(LOST | RETRANS)) | SACKED;
        self.sacked += 1;
        self.lost -= u32::from(flags & LOST != 0);
        self.retrans -= u32::from(flags & RETRANS != 0);
        self.unlink(self.id(index));
    }

    /// Marks a segment as lost, and its retransmission with it; returns whether that is news. It keeps its place in
    /// the order of transmission.
    pub(crate) fn mark_lost(&mut self, index: usize) -> bool {
        let sent = self.entry(self.id(index));
        if sent.is(SACKED) || sent.flags & (LOST | RETRANS) == LOST {
            return false;
        }
        let flags = sent.flags;
        sent.flags = (flags & !RETRANS) | LOST;
        self.lost += u32::from(flags & LOST == 0);
        self.retrans -= u32::from(flags & RETRANS != 0);
        true
    }

    /// Takes a segment out of the order of transmission until it is transmitted again.
    pub(crate) fn unlist(&mut self, index: usize) {
        self.unlink(self.id(index));
    }

    /// Takes back every mark of loss (`tcp_undo_cwnd_reduction` with `unmark_loss`).
    pub(crate) fn unmark_lost(&mut self) {
        for sent in &mut self.slots {
            sent.flags &= !LOST;
        }
        self.lost = 0;
    }

    /// Forgets every SACK: the peer may have thrown the data away (RFC 2018, section 8).
    pub(crate) fn forget_sacks(&mut self) {
        for sent in &mut self.slots {
            if sent.is(SACKED) {
                sent.flags = (sent.flags & !SACKED) | FORGOTTEN;
            }
        }
        self.sacked = 0;
    }

    /// Notes a retransmission at `now`; returns when the segment was sent before.
    pub(crate) fn mark_retransmitted(&mut self, index: usize, now: Nanos) -> Nanos {
        let id = self.id(index);
        let sent = self.entry(id);
        let flags = sent.flags;
        let previous = sent.sent;
        sent.flags |= RETRANS | EVER_RETRANS;
        sent.sent = now;
        self.retrans += u32::from(flags & RETRANS == 0);
        self.unlink(id);
        let newest = self.newest;
        self.entry(id).earlier = newest;
        self.append_to_list(id);
        previous
    }

    /// The least recently transmitted of the listed segments: those that are not SACKed, nor taken out as lost.
    pub(crate) fn oldest(&self) -> Option<usize> {
        self.index(self.oldest)
    }

    /// The segment transmitted next after the one at `index`.
    pub(crate) fn after(&self, index: usize) -> Option<usize> {
        self.index(self.slots[self.slot(index)].later)
    }

    #[inline]
    fn index(&self, id: u32) -> Option<usize> {
        (id != NIL).then(|| id.wrapping_sub(self.front) as usize)
    }

    #[inline]
    fn entry(&mut self, id: u32) -> &mut Sent {
        let slot = self.slot_of(id);
        &mut self.slots[slot]
    }

    /// Puts an entry whose `earlier` is set already behind the newest.
    #[inline]
    fn append_to_list(&mut self, id: u32) {
        if self.newest == NIL {
            self.oldest = id;
        } else {
            self.entry(self.newest).later = id;
        }
        self.newest = id;
    }

    /// Takes an entry off the list, if it is on it.
    fn unlink(&mut self, id: u32) {
        let entry = self.entry(id);
        let sent = *entry;
        entry.earlier = NIL;
        entry.later = NIL;
        self.bypass(id, &sent);
    }

    /// Joins the neighbours of an entry, if it is on the list.
    #[inline]
    fn bypass(&mut self, id: u32, sent: &Sent) {
        if self.oldest == id {
            self.oldest = sent.later;
        } else if sent.earlier != NIL {
            self.entry(sent.earlier).later = sent.later;
        } else {
            return;
        }
        if sent.later != NIL {
            self.entry(sent.later).earlier = sent.earlier;
        } else {
            self.newest = sent.earlier;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(n: u64) -> Scoreboard {
        let mut board = Scoreboard::new();
        for i in 0..n {
            board.push(1 + i * 10, 10, 0, Nanos(i));
        }
        board
    }

    fn by_time(board: &Scoreboard) -> Vec<u64> {
        let mut order = Vec::new();
        let mut next = board.oldest();
        while let Some(index) = next {
            order.push(board.get(index).unwrap().start);
            next = board.after(index);
        }
        order
    }

    #[test]
    fn counts_what_is_in_flight() {
        let mut board = board(5);
        assert_eq!(board.in_flight(), 5);
        board.mark_sacked(4);
        assert!(board.mark_lost(0));
        assert!(!board.mark_lost(0));
        assert_eq!(board.in_flight(), 3);
        assert_eq!(board.mark_retransmitted(0, Nanos(9)), Nanos(0));
        assert_eq!(board.in_flight(), 4);
        assert!(board.mark_lost(0), "the retransmission can be lost too");
        assert_eq!(board.in_flight(), 3);
        while board.pop().is_some() {}
        assert_eq!((board.sacked, board.lost, board.retrans), (0, 0, 0));
    }

    /// What was SACKed before a timeout forgot it can be SACKed again, but is known to have arrived long ago.
    #[test]
    fn what_was_forgotten_is_known_to_be_old() {
        let mut board = board(3);
        board.mark_sacked(1);
        board.forget_sacks();
        let flags = |board: &Scoreboard| -> Vec<u8> {
            (0..3).map(|i| board.get(i).unwrap().flags).collect()
        };
        assert_eq!(flags(&board), [0, FORGOTTEN, 0]);
        assert_eq!(board.in_flight(), 3);
        board.mark_sacked(1);
        assert_eq!(flags(&board), [0, FORGOTTEN | SACKED, 0]);
        assert_eq!(board.in_flight(), 2);
    }

    #[test]
    fn keeps_the_order_of_transmission() {
        let mut board = board(4);
        assert_eq!(by_time(&board), [1, 11, 21, 31]);
        board.mark_lost(1);
        assert_eq!(by_time(&board), [1, 11, 21, 31]);
        board.unlist(1);
        assert_eq!(by_time(&board), [1, 21, 31]);
        board.mark_retransmitted(1, Nanos(7));
        assert_eq!(by_time(&board), [1, 21, 31, 11]);
        board.mark_sacked(3);
        assert_eq!(by_time(&board), [1, 21, 11]);
        board.pop();
        assert_eq!(by_time(&board), [21, 11]);
        board.push(41, 10, 0, Nanos(8));
        assert_eq!(by_time(&board), [21, 11, 41]);
    }

    /// What is taken off at once is what would be taken off one by one, or nothing.
    #[test]
    fn takes_the_untouched_off_at_once() {
        let mut quick = board(5);
        let mut slow = quick.clone();
        assert!(quick.pop_untouched(1).is_none());
        assert!(quick.pop_untouched(15).is_none(), "in the middle of one");
        let (count, first, last) = quick.pop_untouched(21).unwrap();
        assert_eq!((count, first), (2, slow.pop().unwrap().sent));
        assert_eq!((last.sent, last.end()), (slow.pop().unwrap().sent, 21));
        quick.mark_retransmitted(1, Nanos(9));
        slow.mark_retransmitted(1, Nanos(9));
        assert!(quick.pop_untouched(41).is_none(), "one was sent twice");
        assert_eq!(quick.pop_untouched(31).unwrap().0, 1);
        slow.pop();
        assert_eq!(by_time(&quick), by_time(&slow));
        assert_eq!(by_time(&quick), [41, 31]);
        // Taken for lost by RACK and cleared of it: no longer in the order of transmission.
        let mut quick = board(3);
        quick.mark_lost(1);
        quick.unlist(1);
        quick.unmark_lost();
        assert!(quick.pop_untouched(31).is_none());
        assert_eq!(quick.pop_untouched(11).unwrap().0, 1);
        assert_eq!(by_time(&quick), [21]);
        // Everything, and then more.
        let mut quick = board(3);
        assert_eq!(quick.pop_untouched(31).unwrap().0, 3);
        assert!(quick.is_empty() && by_time(&quick).is_empty());
        quick.push(31, 10, 0, Nanos(9));
        assert_eq!(by_time(&quick), [31]);
    }

    /// The ring wraps, and grows while wrapped.
    #[test]
    fn the_ring_moves_on() {
        let mut board = Scoreboard::new();
        let mut next = 0;
        for round in 1..40u64 {
            for _ in 0..round {
                board.push(1 + next * 10, 10, 0, Nanos(next));
                next += 1;
            }
            for _ in 0..round - 1 {
                board.pop();
            }
            let first = 1 + (next - u64::from(board.len())) * 10;
            let held: Vec<u64> = (0..board.len() as usize)
                .map(|index| board.get(index).unwrap().start)
                .collect();
            let expected: Vec<u64> = (0..u64::from(board.len()))
                .map(|i| first + i * 10)
                .collect();
            assert_eq!(held, expected);
            assert_eq!(by_time(&board), expected);
            for (index, start) in expected.iter().enumerate() {
                assert_eq!(board.find(*start), index);
                assert_eq!(board.find(start + 9), index);
            }
            assert_eq!(board.find(next * 10 + 1), expected.len());
        }
    }

    #[test]
    fn finds_by_position() {
        let board = board(3);
        assert_eq!(board.find(1), 0);
        assert_eq!(board.find(10), 0);
        assert_eq!(board.find(11), 1);
        assert_eq!(board.find(31), 3);
    }
}
