//! Scoreboard: segments sent and not yet cumulatively acknowledged.
//!
//! Segments are stored in order of sequence numbers in a ring buffer, so a position is found by binary search. A linked
//! list through the same entries keeps the order of their last transmission, which RACK walks (RFC 8985, section 5.2;
//! `tsorted_sent_queue` in Linux). Counters give the number in flight without a scan.
//!
//! The ring is not a `VecDeque` because the list needs entry identifiers that stay valid when the front moves. An
//! identifier counts up; modulo the ring's size it is the slot.

use gentle_units::Instant;

/// Identifier of no entry.
const NIL: u32 = u32::MAX;

/// The peer holds the segment (RFC 2018).
pub(crate) const SACKED: u8 = 1;
/// The segment is marked lost.
pub(crate) const LOST: u8 = 2;
/// The segment's retransmission is in flight.
pub(crate) const RETRANS: u8 = 4;
/// The segment was retransmitted at some time, so it gives no RTT sample (Karn's algorithm).
pub(crate) const EVER_RETRANS: u8 = 8;
/// The segment ends with the FIN, which its length includes.
pub(crate) const FIN: u8 = 16;
/// The segment ends an application write.
pub(crate) const PUSH: u8 = 32;
/// The segment was SACKed before a timeout discarded its SACK: it arrived long before the acknowledgement that comes
/// now, which therefore gives no RTT sample.
pub(crate) const FORGOTTEN: u8 = 64;

/// A segment in the scoreboard.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    /// Position of the first byte.
    pub(crate) start: u64,
    /// Time of the last transmission.
    pub(crate) sent: Instant,
    earlier: u32,
    later: u32,
    /// Length in sequence space, FIN included.
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

/// Scoreboard. `sacked`, `lost` and `retrans` count segments like Linux's `sacked_out`, `lost_out`, `retrans_out`.
#[derive(Debug, Clone)]
pub(crate) struct Scoreboard {
    /// Ring of entries; its length is zero or a power of two. The entry with identifier `i` is in slot `i` modulo the
    /// length.
    slots: Vec<Sent>,
    /// Identifier of the first entry; `len` is the number of entries.
    front: u32,
    len: u32,
    /// Least recently transmitted of the listed entries; `newest` is the most recently transmitted one.
    oldest: u32,
    newest: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retrans: u32,
}

impl Scoreboard {
    pub(crate) fn new() -> Scoreboard {
        Scoreboard { slots: Vec::new(), front: 0, len: 0, oldest: NIL, newest: NIL, sacked: 0, lost: 0, retrans: 0 }
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

    /// Slot of the entry at `index`.
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

    /// Index of the segment that contains `position`, or of the first one after it.
    #[inline]
    pub(crate) fn find(&self, position: u64) -> usize {
        let (mut from, mut to) = (0, self.len as usize);
        // Fast paths: position at the front, or after all segments.
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
    pub(crate) fn push(&mut self, start: u64, len: u16, flags: u8, now: Instant) {
        if self.len as usize == self.slots.len() {
            self.grow();
        }
        let id = self.id(self.len as usize);
        *self.entry(id) = Sent { start, sent: now, earlier: self.newest, later: NIL, len, flags };
        self.len += 1;
        self.append_to_list(id);
    }

    /// Removes the front segment.
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

    /// Removes all segments before `ack`, which must be a segment boundary, if each of them was sent once and carries
    /// no mark; otherwise changes nothing. Returns the number of segments, the send time of the first, and the last
    /// one.
    #[inline]
    pub(crate) fn pop_untouched(&mut self, ack: u64) -> Option<(u32, Instant, Sent)> {
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

    /// Removes `bytes` from the front segment, which was acknowledged in part.
    pub(crate) fn trim_front(&mut self, bytes: u16) {
        if self.len > 0 {
            let sent = self.entry(self.front);
            sent.start += u64::from(bytes);
            sent.len -= bytes;
        }
    }

    /// Marks a segment as held by the peer; it is then neither lost nor in flight.
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

    /// Marks a segment, or its retransmission, as lost; returns whether it was not marked before. The segment stays in
    /// the list.
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

    /// Removes a segment from the list until it is transmitted again.
    pub(crate) fn unlist(&mut self, index: usize) {
        self.unlink(self.id(index));
    }

    /// Clears all loss marks (`tcp_undo_cwnd_reduction` with `unmark_loss`).
    pub(crate) fn unmark_lost(&mut self) {
        for sent in &mut self.slots {
            sent.flags &= !LOST;
        }
        self.lost = 0;
    }

    /// Discards all SACK marks: the peer may have discarded the data (RFC 2018, section 8).
    pub(crate) fn forget_sacks(&mut self) {
        for sent in &mut self.slots {
            if sent.is(SACKED) {
                sent.flags = (sent.flags & !SACKED) | FORGOTTEN;
            }
        }
        self.sacked = 0;
    }

    /// Records a retransmission at `now`; returns the time of the previous transmission.
    pub(crate) fn mark_retransmitted(&mut self, index: usize, now: Instant) -> Instant {
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

    /// Index of the least recently transmitted listed segment; SACKed and unlisted segments are not in the list.
    pub(crate) fn oldest(&self) -> Option<usize> {
        self.index(self.oldest)
    }

    /// Index of the segment transmitted next after the one at `index`.
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

    /// Appends an entry to the list; its `earlier` has been set.
    #[inline]
    fn append_to_list(&mut self, id: u32) {
        if self.newest == NIL {
            self.oldest = id;
        } else {
            self.entry(self.newest).later = id;
        }
        self.newest = id;
    }

    /// Removes an entry from the list, if it is listed.
    fn unlink(&mut self, id: u32) {
        let entry = self.entry(id);
        let sent = *entry;
        entry.earlier = NIL;
        entry.later = NIL;
        self.bypass(id, &sent);
    }

    /// Links the neighbours of an entry, if it is listed.
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
            board.push(1 + i * 10, 10, 0, Instant(i));
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
        assert_eq!(board.mark_retransmitted(0, Instant(9)), Instant(0));
        assert_eq!(board.in_flight(), 4);
        assert!(board.mark_lost(0), "the retransmission can be lost too");
        assert_eq!(board.in_flight(), 3);
        while board.pop().is_some() {}
        assert_eq!((board.sacked, board.lost, board.retrans), (0, 0, 0));
    }

    /// A segment SACKed before a timeout can be SACKed again, but is marked as having arrived long ago.
    #[test]
    fn what_was_forgotten_is_known_to_be_old() {
        let mut board = board(3);
        board.mark_sacked(1);
        board.forget_sacks();
        let flags = |board: &Scoreboard| -> Vec<u8> { (0..3).map(|i| board.get(i).unwrap().flags).collect() };
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
        board.mark_retransmitted(1, Instant(7));
        assert_eq!(by_time(&board), [1, 21, 31, 11]);
        board.mark_sacked(3);
        assert_eq!(by_time(&board), [1, 21, 11]);
        board.pop();
        assert_eq!(by_time(&board), [21, 11]);
        board.push(41, 10, 0, Instant(8));
        assert_eq!(by_time(&board), [21, 11, 41]);
    }

    /// `pop_untouched` has the effect of repeated `pop`, or none.
    #[test]
    fn takes_the_untouched_off_at_once() {
        let mut quick = board(5);
        let mut slow = quick.clone();
        assert!(quick.pop_untouched(1).is_none());
        assert!(quick.pop_untouched(15).is_none(), "in the middle of one");
        let (count, first, last) = quick.pop_untouched(21).unwrap();
        assert_eq!((count, first), (2, slow.pop().unwrap().sent));
        assert_eq!((last.sent, last.end()), (slow.pop().unwrap().sent, 21));
        quick.mark_retransmitted(1, Instant(9));
        slow.mark_retransmitted(1, Instant(9));
        assert!(quick.pop_untouched(41).is_none(), "one was sent twice");
        assert_eq!(quick.pop_untouched(31).unwrap().0, 1);
        slow.pop();
        assert_eq!(by_time(&quick), by_time(&slow));
        assert_eq!(by_time(&quick), [41, 31]);
        // Marked lost by RACK and cleared again: no longer in the list.
        let mut quick = board(3);
        quick.mark_lost(1);
        quick.unlist(1);
        quick.unmark_lost();
        assert!(quick.pop_untouched(31).is_none());
        assert_eq!(quick.pop_untouched(11).unwrap().0, 1);
        assert_eq!(by_time(&quick), [21]);
        // All segments, then a new one.
        let mut quick = board(3);
        assert_eq!(quick.pop_untouched(31).unwrap().0, 3);
        assert!(quick.is_empty() && by_time(&quick).is_empty());
        quick.push(31, 10, 0, Instant(9));
        assert_eq!(by_time(&quick), [31]);
    }

    /// The ring wraps around, and grows while wrapped.
    #[test]
    fn the_ring_moves_on() {
        let mut board = Scoreboard::new();
        let mut next = 0;
        for round in 1..40u64 {
            for _ in 0..round {
                board.push(1 + next * 10, 10, 0, Instant(next));
                next += 1;
            }
            for _ in 0..round - 1 {
                board.pop();
            }
            let first = 1 + (next - u64::from(board.len())) * 10;
            let held: Vec<u64> = (0..board.len() as usize).map(|index| board.get(index).unwrap().start).collect();
            let expected: Vec<u64> = (0..u64::from(board.len())).map(|i| first + i * 10).collect();
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
