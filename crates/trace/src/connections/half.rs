//! Sequence space of one side: classification of segments as new, retransmitted or filling a hole.
//!
//! A segment that takes sequence numbers is
//! - *new* if it begins at or beyond the end of the highest segment seen; beyond, it leaves a hole;
//! - *retransmitted* if some of its bytes have been seen before;
//! - *late* or *reordered* if it lies in a hole: the retransmission of a segment that was lost before the vantage point,
//!   or a segment that was overtaken on its way ([`Hole::was_overtaken`]);
//! - a *copy* if it is the same packet captured a second time ([`Sent::is_copy`]);
//! - a *probe* if it repeats the last byte although nothing was lost: a keep-alive (RFC 9293, 3.8.4) or a zero-window
//!   probe (3.8.6.1).

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

/// Classification of a segment, with the delay of a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    New,
    Retransmitted(Nanos),
    Late(Nanos),
    Reordered,
    Probe,
    Copy,
}

/// Longest delay of a reordered segment if neither IP identification nor timestamps tell and no round-trip time is known;
/// Wireshark's value.
const REORDERING: Nanos = Nanos::from_millis(3);

/// Largest credible jump in sequence or acknowledgement numbers: the largest window (RFC 7323, 2.3).
const LARGEST_JUMP: i32 = 1 << 30;

impl Connection {
    /// Handles a segment of `side` that takes sequence numbers, except SYNs.
    // Inlined for the same reason as `sent`.
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

    /// Handles a segment of `side` that is the first one seen or does not begin at the end of the highest one.
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
            // A forged or damaged sequence number, neither old nor new: ignored.
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

    /// Records that `side` sent one new byte: BSD and Windows probe a zero window so (RFC 9293, 3.8.6.1).
    fn probes(&mut self, side: usize) {
        let closed = self.halves[1 - side].state.has(HalfState::CLOSED_WINDOW);
        self.halves[side].state.add_if(HalfState::PROBING, closed);
    }

    /// Whether `segment` of `side` begins with the byte that probed a zero window, was discarded, and is now sent.
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

    /// Records `segment` as the newest of its side.
    // Inlined into its caller, as `acknowledge` and `Table::newest` are, without their slow paths: the calls took 9 % of the
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

    /// Adds `sent`, no longer the newest of its side and not acknowledged, to the window.
    #[inline(never)]
    fn flies(&mut self, side: usize, sent: Flying, pool: &mut Pool) {
        pool.change(&mut self.windows, side, |window| window.push(sent));
    }

    /// Handles a segment that begins before the end of the highest one seen.
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
                // Remembered separately, so that a copy or retransmission is compared with it, not with segments beyond the hole.
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
        // A retransmission may end elsewhere than the segment it repeats (a FIN joins the last data): then only the IP
        // identification shows that it is the same packet.
        // A segment after a SYN that is not one itself is no copy of it.
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

    /// Whether `segment` of `side`, which takes no sequence numbers, is a copy made by the capture or a switch: it equals the
    /// side's previous such segment and follows it closely. Without IP identification, a host may have sent the same twice, so
    /// it counts as a copy only if unambiguous copies were seen on the connection.
    #[inline]
    pub(crate) fn is_bare_copy(&mut self, side: usize, segment: &Segment) -> bool {
        let bare = Bare::new(segment);
        let before = std::mem::replace(&mut self.halves[side].bare, bare);
        // `last` guards against wrap-around of the short clock of `Bare`.
        before.is_same(bare)
            && bare
                .since(before)
                .max(segment.time.saturating_sub(self.last))
                <= Sent::longest_copy_gap(segment)
            && (segment.ip_id != 0
                || (self.state.has(State::COPIED) && !segment.is_marked_original()))
    }

    /// Whether a segment repeats at most the last byte, with nothing in flight or a zero window of the other side.
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

    /// Transmission with the byte at `seq`; if it was forgotten, the oldest one known after it.
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

    /// Records `segment` as the newest transmission of `start..end`.
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

    /// Handles the acknowledgement number of `segment`, sent by `side`.
    // Inlined for the same reason as `sent`.
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

    /// Handles data of `side` that the capture missed, as the acknowledgement in `segment` shows.
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

    /// Removes data of `side` up to `ack` from the window.
    #[inline(never)]
    fn arrived(&mut self, side: usize, ack: u32, tally: &mut Tally, pool: &mut Pool) {
        if let Some(windows) = &mut self.windows {
            tally.order.unseen += windows.sides[side].acknowledge(ack);
            if windows.is_empty() {
                pool.take_back(&mut self.windows);
            }
        }
    }

    /// Whether `segment` of `side` shows that a retransmission of the other side was spurious: by a duplicate SACK (RFC 2883),
    /// or because it acknowledges the retransmitted bytes with the echo of an older timestamp (RFC 3522).
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
