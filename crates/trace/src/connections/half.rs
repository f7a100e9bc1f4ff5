//! One side's sequence space: what is new, what comes again, what was missing.
//!
//! A segment that takes sequence numbers is
//! - *new* if it begins where the highest one seen ended, or beyond: then it leaves a hole;
//! - *retransmitted* if bytes of it have been seen before;
//! - *late* or *reordered* if it lies in a hole: the retransmission of a segment that was lost before the vantage point,
//!   or one that was overtaken on its way ([`Hole::was_overtaken`]);
//! - a *copy* if it is the same packet a second time ([`Sent::is_copy`]);
//! - a *probe* if it has the last byte again although nothing was lost: a keep-alive (RFC 9293, 3.8.4) or the probe of a
//!   closed window (3.8.6.1).

use super::clock::Tick;
use super::connection::{Connection, HalfState, State};
use super::flight::{Bare, Flying, Sent};
use super::seq::{after, distance};
use super::window::{Hole, Pool};
use crate::measure::Tally;
use crate::segment::Segment;
use gentle_units::Nanos;
use gentle_wire::TcpFlags;
use std::ops::Range;

/// What a segment turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    New,
    Retransmitted(Nanos),
    Late(Nanos),
    Reordered,
    Probe,
    Copy,
}

/// Out of order by at most this where neither IP identification nor time stamps tell and no round-trip time is known:
/// the value that Wireshark has.
const REORDERING: Nanos = Nanos::from_millis(3);

/// Jumps in sequence or acknowledgement numbers beyond this (the largest window, RFC 7323, 2.3) are not believed.
const LARGEST_JUMP: i32 = 1 << 30;

impl Connection {
    /// A segment of `side` that takes sequence numbers, SYNs aside.
    // As `sent`.
    #[inline(always)]
    pub(crate) fn data(
        &mut self,
        side: usize,
        segment: &Segment,
        tally: &mut Tally,
        pool: &mut Pool,
    ) -> Kind {
        let half = &self.halves[side];
        if half.state.has(HalfState::SENT) && segment.seq == half.next {
            self.bytes[side] += u64::from(segment.payload_len);
            let end = segment.seq.wrapping_add(segment.span());
            self.sent(side, segment, end, pool);
            self.fin(side, segment.flags().any(TcpFlags::FIN));
            if segment.payload_len == 1 {
                self.probes(side);
            }
            return Kind::New;
        }
        self.not_in_line(side, segment, tally, pool)
    }

    /// A segment of `side` that is the first to be seen, or does not begin where the one before ended.
    #[inline(never)]
    fn not_in_line(
        &mut self,
        side: usize,
        segment: &Segment,
        tally: &mut Tally,
        pool: &mut Pool,
    ) -> Kind {
        let start = segment.seq;
        let end = start.wrapping_add(segment.span());
        let payload = u64::from(segment.payload_len);
        let fin = segment.flags().any(TcpFlags::FIN);
        let half = &mut self.halves[side];
        if !half.state.has(HalfState::SENT) {
            half.state.set(HalfState::SENT, true);
            self.bytes[side] += payload;
            half.next = end;
            half.recent = Sent::new(segment);
            half.state.set(HalfState::FIN, fin);
            return Kind::New;
        }
        let ahead = distance(start, half.next);
        if ahead > LARGEST_JUMP {
            // Neither old nor new: a forged or damaged sequence number. It is left alone.
            return Kind::Reordered;
        }
        if ahead > 0 {
            self.bytes[side] += payload;
            let hole = Hole {
                from: half.next,
                to: start,
                by: Sent::new(segment),
                by_ack: false,
                acked: false,
            };
            pool.change(&mut self.windows, side, |window| window.leave_hole(hole));
            self.sent(side, segment, end, pool);
            self.fin(side, fin);
            return Kind::New;
        }
        self.again(side, segment, start..end, fin, tally, pool)
    }

    /// `side` has sent one new byte: BSD and Windows probe a closed window so (RFC 9293, 3.8.6.1).
    fn probes(&mut self, side: usize) {
        let closed = self.halves[1 - side].state.has(HalfState::CLOSED_WINDOW);
        self.halves[side].state.add_if(HalfState::PROBING, closed);
    }

    /// Whether `segment` of `side` begins with the byte that probed a closed window and was not taken: it is sent now.
    fn was_probe(&self, side: usize, segment: &Segment) -> bool {
        let half = &self.halves[side];
        half.state.has(HalfState::PROBING)
            && segment.seq.wrapping_add(1) == half.next
            && half.acked == segment.seq
            && !half.recent.is_copy(segment)
    }

    fn fin(&mut self, side: usize, fin: bool) {
        self.halves[side].state.add_if(HalfState::FIN, fin);
    }

    /// `segment` is the newest of its side.
    // Compiled into its caller, as `acknowledge` and `Table::newest` are, without what is rare: the calls took 9 % of the
    // instructions of `gentle analyze` (callgrind).
    #[inline(always)]
    fn sent(&mut self, side: usize, segment: &Segment, end: u32, pool: &mut Pool) {
        let half = &mut self.halves[side];
        let before = Flying {
            end: std::mem::replace(&mut half.next, end),
            sent: std::mem::replace(&mut half.recent, Sent::new(segment)),
        };
        half.state.set(HalfState::OPENING_OR_PROBING, false);
        if !half.state.has(HalfState::ACKED) || after(before.end, half.acked) {
            self.flies(side, before, pool);
        }
    }

    /// `sent`, which is not the newest of its side any more, has not arrived.
    #[inline(never)]
    fn flies(&mut self, side: usize, sent: Flying, pool: &mut Pool) {
        pool.change(&mut self.windows, side, |window| window.push(sent));
    }

    /// A segment that begins before the highest one seen ended.
    fn again(
        &mut self,
        side: usize,
        segment: &Segment,
        Range { start, end }: Range<u32>,
        fin: bool,
        tally: &mut Tally,
        pool: &mut Pool,
    ) -> Kind {
        if self.is_probe(side, segment, end) {
            return Kind::Probe;
        }
        if self.was_probe(side, segment) {
            self.halves[side].next = start;
            self.bytes[side] -= 1;
            return self.data(side, segment, tally, pool);
        }
        let longest = self
            .round_trip()
            .map_or(REORDERING, |rtt| Nanos(rtt.0 / 2).max(REORDERING));
        let now = Tick::at(segment.time);
        let half = &self.halves[side];
        let beyond = distance(end, half.next).max(0) as u32;
        let seen_end = if beyond > 0 { half.next } else { end };
        let (filled, hole) = if self.windows.is_some() {
            pool.change(&mut self.windows, side, |window| {
                window.fill(start, seen_end)
            })
        } else {
            (0, None)
        };
        let fin_again = fin && beyond == 0 && half.state.has(HalfState::FIN);
        if let Some(hole) = hole.filter(|hole| hole.by_ack) {
            let whole = filled == hole.to.wrapping_sub(hole.from);
            tally
                .order
                .acknowledged_before(now.since(hole.by.at), whole);
        }
        let numbers = end.wrapping_sub(start);
        let seen_before = numbers - beyond.min(numbers) - filled.min(numbers);
        self.bytes[side] += u64::from((filled + beyond).min(segment.payload_len));

        if let (0, Some(hole)) = (seen_before, hole) {
            let overtaken = hole.was_overtaken(segment, self.halves[side].recent, longest);
            self.fin(side, fin);
            if beyond > 0 {
                self.sent(side, segment, end, pool);
            } else {
                // Its copy, or its retransmission, is one of it and not of what lies beyond the hole.
                let sent = Flying {
                    end,
                    sent: Sent::new(segment),
                };
                pool.change(&mut self.windows, side, |window| window.insert(sent));
            }
            if overtaken {
                return Kind::Reordered;
            }
            let delay = now.since(hole.by.at);
            let trouble = &mut self.trouble().sides[side];
            trouble.late += 1;
            trouble.delay = trouble.delay.saturating_add(delay);
            trouble.newest = Some((end, segment.timestamp.0));
            return Kind::Late(delay);
        }

        let previous = self.transmission(side, start);
        // A retransmission may end elsewhere than what it repeats (a FIN joins the last data): then only the identification
        // shows that it is the same packet.
        // What comes after a SYN, without being one, is no copy of it.
        let opening = self.halves[side].state.has(HalfState::OPENING);
        let is_copied = |of: &Flying| {
            (of.end == end || segment.ip_id != 0) && of.sent.is_copy(segment) && !opening
        };
        let again = self
            .trouble
            .as_ref()
            .and_then(|trouble| trouble.sides[side].again);
        if beyond == 0 && (is_copied(&previous) || again.as_ref().is_some_and(is_copied)) {
            return Kind::Copy;
        }
        let delay = now.since(previous.sent.at);
        self.transmitted_again(side, start, end, segment);
        if beyond > 0 {
            self.sent(side, segment, end, pool);
        }
        self.fin(side, fin && !fin_again);
        let trouble = &mut self.trouble().sides[side];
        trouble.retransmitted += 1;
        trouble.again = Some(Flying {
            end,
            sent: Sent::new(segment),
        });
        trouble.delay = trouble.delay.saturating_add(delay);
        trouble.newest = Some((end, segment.timestamp.0));
        Kind::Retransmitted(delay)
    }

    /// Whether `segment` of `side`, which takes no sequence numbers, is a copy made by the capture or a switch: the next
    /// segment of its side after the same one, but for its time. Without IP identification a host may as well have said
    /// the same thing twice, unless segments that cannot be said twice were copied.
    #[inline]
    pub(crate) fn is_bare_copy(&mut self, side: usize, segment: &Segment) -> bool {
        let bare = Bare::new(segment);
        let before = std::mem::replace(&mut self.halves[side].bare, bare);
        // `last` also keeps the short clock of `Bare` from going round.
        before.is_same(bare)
            && bare
                .since(before)
                .max(segment.time.saturating_sub(self.last))
                <= Sent::longest_copy_gap(segment)
            && (segment.ip_id != 0
                || (self.state.has(State::COPIED) && !segment.is_marked_original()))
    }

    /// At most one byte, the last one, again: nothing is in flight, or the other side has closed its window.
    fn is_probe(&self, side: usize, segment: &Segment, end: u32) -> bool {
        let half = &self.halves[side];
        let last_byte =
            segment.payload_len <= 1 && !segment.flags().any(TcpFlags::FIN) && end == half.next;
        let nothing_in_flight = half.state.has(HalfState::ACKED)
            && !after(half.next, half.acked)
            && !half.state.has(HalfState::FIN);
        let closed = self.halves[1 - side].state.has(HalfState::CLOSED_WINDOW);
        last_byte && (nothing_in_flight || closed)
    }

    /// The transmission that had the byte at `seq`; where it is forgotten, the oldest one known after it.
    fn transmission(&mut self, side: usize, seq: u32) -> Flying {
        let half = &self.halves[side];
        self.windows
            .as_mut()
            .and_then(|windows| windows.sides[side].find(seq).copied())
            .unwrap_or(Flying {
                end: half.next,
                sent: half.recent,
            })
    }

    /// The transmissions that began in `start..end` are now as new as `segment`.
    fn transmitted_again(&mut self, side: usize, start: u32, end: u32, segment: &Segment) {
        let half = &mut self.halves[side];
        if !after(start, half.next) && !after(half.next, end) {
            half.recent = Sent::new(segment);
        }
        if let Some(windows) = &mut self.windows
            && let Some(flying) = windows.sides[side].find(start)
        {
            flying.sent = Sent::new(segment);
        }
    }

    /// `segment` of `side` acknowledges what the other side sent.
    // As `sent`.
    #[inline(always)]
    pub(crate) fn acknowledge(
        &mut self,
        side: usize,
        segment: &Segment,
        tally: &mut Tally,
        pool: &mut Pool,
    ) {
        let other = 1 - side;
        let half = &self.halves[other];
        let ack = segment.ack;
        if half.state.has(HalfState::SENT) {
            let beyond = distance(ack, half.next);
            if beyond > LARGEST_JUMP {
                return;
            }
            if beyond > 0 && half.state.has(HalfState::ACKED) {
                self.missed(other, segment, pool);
            }
        }
        let half = &mut self.halves[other];
        if half.state.has(HalfState::ACKED) && !after(ack, half.acked) {
            return;
        }
        half.acked = ack;
        let fin_acked = half.state.has(HalfState::FIN) & !after(half.next, ack);
        half.state.set(HalfState::ACKED, true);
        half.state.add_if(HalfState::FIN_ACKED, fin_acked);
        if self.windows.is_some() {
            self.arrived(other, ack, tally, pool);
        }
    }

    /// The capture missed what `side` sent and `segment` acknowledges.
    #[cold]
    fn missed(&mut self, side: usize, segment: &Segment, pool: &mut Pool) {
        let half = &mut self.halves[side];
        let hole = Hole {
            from: half.next,
            to: segment.ack,
            by: Sent::unseen(segment),
            by_ack: true,
            acked: false,
        };
        half.next = segment.ack;
        half.recent = hole.by;
        half.state.set(HalfState::OPENING, false);
        pool.change(&mut self.windows, side, |window| window.leave_hole(hole));
    }

    /// What `side` sent has arrived up to `ack`.
    #[inline(never)]
    fn arrived(&mut self, side: usize, ack: u32, tally: &mut Tally, pool: &mut Pool) {
        if let Some(windows) = &mut self.windows {
            tally.order.unseen += windows.sides[side].acknowledge(ack);
            if windows.is_empty() {
                pool.take_back(&mut self.windows);
            }
        }
    }

    /// Whether `segment` of `side` shows that a retransmission of the other side was not needed: by a duplicate SACK
    /// (RFC 2883), or because it acknowledges the retransmitted bytes with the echo of an older time stamp (RFC 3522).
    pub(crate) fn shows_spurious(&mut self, side: usize, segment: &Segment) -> bool {
        let Some(trouble) = &mut self.trouble else {
            return false;
        };
        let other = &mut trouble.sides[1 - side];
        if other.retransmitted + other.late == other.spurious {
            return false;
        }
        if let Some((end, stamp)) = other.newest
            && segment.flags().any(TcpFlags::ACK)
            && !after(end, segment.ack)
        {
            other.newest = None;
            let echo = segment.timestamp.1;
            if segment.has_timestamp() && stamp != 0 && echo != 0 && after(stamp, echo) {
                other.found_spurious = Some(end);
                other.spurious += 1;
                return true;
            }
        }
        if let Some(block) = segment.dsack()
            && block != other.dsack
        {
            other.dsack = block;
            if other.found_spurious != Some(block.1) {
                other.spurious += 1;
                return true;
            }
        }
        false
    }
}
