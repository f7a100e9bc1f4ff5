//! Sequence space of an endpoint: classification of its segments as new, retransmitted or filling a hole.
//!
//! A segment that takes sequence numbers is
//! - *new* if it begins at or beyond the end of the highest segment seen; beyond, it leaves a hole;
//! - *retransmitted* if some of its bytes have been seen before;
//! - *late* or *reordered* if it lies in a hole: the retransmission of a segment that was lost before the vantage
//!   point, or a segment that was overtaken on its path ([`Hole::was_overtaken`]);
//! - a *capture duplicate* if it is the same packet captured a second time ([`Sent::is_copy`], [`Repetition::Copy`]);
//! - a *probe* if it repeats the last byte although nothing was lost: a keep-alive (RFC 9293, 3.8.4) or a zero-window
//!   probe (3.8.6.1).

use super::compact_time::CompactTime;
use super::connection::{Connection, ConnectionFlags, EndpointFlags};
use super::flight::{InFlight, PureAck, Sent};
use super::repetition::Repetition;
use super::window::{Hole, Pool};
use crate::segment::Segment;
use crate::segment::{after, distance};
use crate::tally::{SegmentKind, Tally};
use gentle_units::Nanos;
use gentle_wire::TcpFlags;
use std::ops::Range;

/// Longest delay of a reordered segment if neither IP identification nor timestamps decide and no round-trip time is
/// known; Wireshark's value.
const REORDERING: Nanos = Nanos::from_millis(3);

/// Largest credible jump in sequence or acknowledgement numbers: the largest window (RFC 7323, 2.3).
const LARGEST_JUMP: i32 = 1 << 30;

impl Connection {
    /// Handles a segment of `side` that takes sequence numbers, except SYNs.
    // Inlined for the same reason as `sent`.
    #[inline(always)]
    pub(crate) fn data(&mut self, side: usize, segment: &Segment, tally: &mut Tally, pool: &mut Pool) -> SegmentKind {
        let endpoint = &self.endpoints[side];
        if endpoint.flags.has(EndpointFlags::SENT) && segment.seq == endpoint.next {
            self.bytes[side] += u64::from(segment.payload_len);
            let end = segment.seq.wrapping_add(segment.seq_len());
            self.sent(side, segment, end, pool);
            self.note_fin(side, segment.flags().any(TcpFlags::FIN));
            if segment.payload_len == 1 {
                self.note_zero_window_probe(side);
            }
            return SegmentKind::New;
        }
        self.data_out_of_sequence(side, segment, tally, pool)
    }

    /// Handles a segment of `side` that is the first one seen or does not begin at the end of the highest one.
    #[inline(never)]
    fn data_out_of_sequence(
        &mut self,
        side: usize,
        segment: &Segment,
        tally: &mut Tally,
        pool: &mut Pool,
    ) -> SegmentKind {
        let start = segment.seq;
        let end = start.wrapping_add(segment.seq_len());
        let payload = u64::from(segment.payload_len);
        let fin = segment.flags().any(TcpFlags::FIN);
        let endpoint = &mut self.endpoints[side];
        if !endpoint.flags.has(EndpointFlags::SENT) {
            endpoint.flags.set(EndpointFlags::SENT, true);
            self.bytes[side] += payload;
            endpoint.next = end;
            endpoint.recent = Sent::new(segment);
            endpoint.flags.set(EndpointFlags::FIN, fin);
            return SegmentKind::New;
        }
        let ahead = distance(start, endpoint.next);
        if ahead > LARGEST_JUMP {
            // A forged or damaged sequence number, neither old nor new: ignored.
            return SegmentKind::Reordered;
        }
        if ahead > 0 {
            self.bytes[side] += payload;
            let hole = Hole { from: endpoint.next, to: start, by: Sent::new(segment), by_ack: false, acked: false };
            pool.change(&mut self.windows, side, |window| window.leave_hole(hole));
            self.sent(side, segment, end, pool);
            self.note_fin(side, fin);
            return SegmentKind::New;
        }
        self.repeated(side, segment, start..end, fin, tally, pool)
    }

    /// Records that `side` sent one new byte, with which BSD and Windows probe a zero window (RFC 9293, 3.8.6.1).
    fn note_zero_window_probe(&mut self, side: usize) {
        let closed = self.endpoints[1 - side].flags.has(EndpointFlags::ZERO_WINDOW);
        self.endpoints[side].flags.add_if(EndpointFlags::PROBING, closed);
    }

    /// Whether `segment` of `side` begins with the byte that probed a zero window, was discarded, and is now sent.
    fn was_probe(&self, side: usize, segment: &Segment) -> bool {
        let endpoint = &self.endpoints[side];
        endpoint.flags.has(EndpointFlags::PROBING)
            && segment.seq.wrapping_add(1) == endpoint.next
            && endpoint.acked == segment.seq
            && !endpoint.recent.is_copy(segment)
    }

    /// Records whether `side` has sent a FIN.
    fn note_fin(&mut self, side: usize, fin: bool) {
        self.endpoints[side].flags.add_if(EndpointFlags::FIN, fin);
    }

    /// Records `segment` as the newest of its side.
    // Inlined into its caller, as `acknowledge` and `Table::newest` are, without their slow paths: the calls took 9 %
    // of the instructions of `gentle analyze` (callgrind).
    #[inline(always)]
    fn sent(&mut self, side: usize, segment: &Segment, end: u32, pool: &mut Pool) {
        let endpoint = &mut self.endpoints[side];
        let before = InFlight {
            end: std::mem::replace(&mut endpoint.next, end),
            sent: std::mem::replace(&mut endpoint.recent, Sent::new(segment)),
        };
        endpoint.flags.set(EndpointFlags::OPENING_OR_PROBING, false);
        if !endpoint.flags.has(EndpointFlags::ACKED) || after(before.end, endpoint.acked) {
            self.add_in_flight(side, before, pool);
        }
    }

    /// Adds `sent`, no longer the newest of its side and not acknowledged, to the window.
    #[inline(never)]
    fn add_in_flight(&mut self, side: usize, sent: InFlight, pool: &mut Pool) {
        pool.change(&mut self.windows, side, |window| window.push(sent));
    }

    /// Handles a segment that begins before the end of the highest one seen.
    fn repeated(
        &mut self,
        side: usize,
        segment: &Segment,
        Range { start, end }: Range<u32>,
        fin: bool,
        tally: &mut Tally,
        pool: &mut Pool,
    ) -> SegmentKind {
        if self.is_probe(side, segment, end) {
            return SegmentKind::Probe;
        }
        if self.was_probe(side, segment) {
            self.endpoints[side].next = start;
            self.bytes[side] -= 1;
            return self.data(side, segment, tally, pool);
        }
        let longest = self.round_trip().map_or(REORDERING, |rtt| Nanos(rtt.0 / 2).max(REORDERING));
        let now = CompactTime::at(segment.time);
        let endpoint = &self.endpoints[side];
        let beyond = distance(end, endpoint.next).max(0) as u32;
        let seen_end = if beyond > 0 { endpoint.next } else { end };
        let (filled, hole) = if self.windows.is_some() {
            pool.change(&mut self.windows, side, |window| window.fill(start, seen_end))
        } else {
            (0, None)
        };
        let fin_again = fin && beyond == 0 && endpoint.flags.has(EndpointFlags::FIN);
        if let Some(hole) = hole.filter(|hole| hole.by_ack) {
            let whole = filled == hole.to.wrapping_sub(hole.from);
            tally.order.acknowledged_before(now.since(hole.by.at), whole);
        }
        let numbers = end.wrapping_sub(start);
        let seen_before = numbers - beyond.min(numbers) - filled.min(numbers);
        self.bytes[side] += u64::from((filled + beyond).min(segment.payload_len));

        if let (0, Some(hole)) = (seen_before, hole) {
            let overtaken = hole.was_overtaken(segment, self.endpoints[side].recent, longest);
            self.note_fin(side, fin);
            if beyond > 0 {
                self.sent(side, segment, end, pool);
            } else {
                // Remembered separately, so that a copy or retransmission is compared with it, not with segments beyond
                // the hole.
                let sent = InFlight { end, sent: Sent::new(segment) };
                pool.change(&mut self.windows, side, |window| window.insert(sent));
            }
            if overtaken {
                return SegmentKind::Reordered;
            }
            let delay = now.since(hole.by.at);
            let acked = self.has_acknowledged_data(side);
            let loss_state = self.loss_state();
            loss_state.add_delay(side, delay, segment.time);
            let loss_state = &mut loss_state.sides[side];
            loss_state.late += 1;
            loss_state.note_place(start, end, acked);
            loss_state.newest = Some((end, segment.timestamp.0));
            return SegmentKind::Late(delay);
        }

        let previous = self.transmission(side, start);
        // A retransmission may end elsewhere than the segment it repeats (a FIN joins the last data), so equal
        // timestamps and times do not show a copy then; an equal IP identification does. Only a SYN can be a copy of a
        // SYN.
        let opening = self.endpoints[side].flags.has(EndpointFlags::OPENING);
        let is_copied = |of: &InFlight| (of.end == end || segment.ip_id != 0) && of.sent.is_copy(segment) && !opening;
        let again = self.loss_state.as_ref().and_then(|loss_state| loss_state.sides[side].last_retransmitted);
        if beyond == 0 && (is_copied(&previous) || again.as_ref().is_some_and(is_copied)) {
            return SegmentKind::CaptureDuplicate;
        }
        let repetition = match beyond {
            0 => self.repetition(side, segment, end, &previous),
            _ => Repetition::Awaited,
        };
        if repetition == Repetition::Copy {
            return SegmentKind::CaptureDuplicate;
        }
        let delay = now.since(previous.sent.at);
        self.note_retransmission(side, start, end, segment);
        if beyond > 0 {
            self.sent(side, segment, end, pool);
        }
        self.note_fin(side, fin && !fin_again);
        let acked = self.has_acknowledged_data(side);
        let loss_state = self.loss_state();
        if repetition == Repetition::Awaited {
            loss_state.add_delay(side, delay, segment.time);
        }
        let loss_state = &mut loss_state.sides[side];
        loss_state.retransmitted += 1;
        loss_state.note_place(start, end, acked);
        loss_state.last_retransmitted = Some(InFlight { end, sent: Sent::new(segment) });
        loss_state.newest = Some((end, segment.timestamp.0));
        SegmentKind::Retransmitted(delay)
    }

    /// Whether `segment` of `side`, which takes no sequence numbers, is a copy made by the capture or a switch: it
    /// equals the side's previous such segment and follows it closely. Without IP identification, the host may have
    /// sent two equal segments, so the second one counts as a copy only if unambiguous copies were seen on the
    /// connection.
    #[inline]
    pub(crate) fn is_pure_ack_copy(&mut self, side: usize, segment: &Segment) -> bool {
        let pure_ack = PureAck::new(segment);
        let previous = std::mem::replace(&mut self.endpoints[side].pure_ack, pure_ack);
        // `last` guards against wrap-around of the 16-bit clock of `PureAck`.
        previous.is_same(pure_ack)
            && pure_ack.since(previous).max(segment.time.saturating_since(self.last)) <= Sent::longest_copy_gap(segment)
            && (segment.ip_id != 0 || (self.flags.has(ConnectionFlags::COPIED) && !segment.is_marked_original()))
    }

    /// Whether a segment repeats at most the last byte, with nothing in flight or a zero window of the other side.
    fn is_probe(&self, side: usize, segment: &Segment, end: u32) -> bool {
        let endpoint = &self.endpoints[side];
        let last_byte = segment.payload_len <= 1 && !segment.flags().any(TcpFlags::FIN) && end == endpoint.next;
        let nothing_in_flight = endpoint.flags.has(EndpointFlags::ACKED)
            && !after(endpoint.next, endpoint.acked)
            && !endpoint.flags.has(EndpointFlags::FIN);
        let closed = self.endpoints[1 - side].flags.has(EndpointFlags::ZERO_WINDOW);
        last_byte && (nothing_in_flight || closed)
    }

    /// Transmission with the byte at `seq`; if it was forgotten, the oldest one known after it.
    fn transmission(&mut self, side: usize, seq: u32) -> InFlight {
        let endpoint = &self.endpoints[side];
        self.windows
            .as_mut()
            .and_then(|windows| windows.sides[side].find(seq).copied())
            .unwrap_or(InFlight { end: endpoint.next, sent: endpoint.recent })
    }

    /// Whether the other side has acknowledged any data of `side`.
    fn has_acknowledged_data(&self, side: usize) -> bool {
        let endpoint = &self.endpoints[side];
        endpoint.flags.has(EndpointFlags::ACKED) && after(endpoint.acked, self.isn[side].wrapping_add(1))
    }

    /// Records `segment` as the newest transmission of `start..end`.
    fn note_retransmission(&mut self, side: usize, start: u32, end: u32, segment: &Segment) {
        let endpoint = &mut self.endpoints[side];
        if !after(start, endpoint.next) && !after(endpoint.next, end) {
            endpoint.recent = Sent::new(segment);
        }
        // Acknowledged bytes have no entry in the window any more: `find` would return the first segment still in flight.
        let acknowledged = endpoint.flags.has(EndpointFlags::ACKED) && !after(end, endpoint.acked);
        if !acknowledged
            && let Some(windows) = &mut self.windows
            && let Some(flying) = windows.sides[side].find(start)
        {
            flying.sent = Sent::new(segment);
        }
    }

    /// Handles the acknowledgement number of `segment`, sent by `side`. Returns the round-trip time to `side` if the
    /// segment shows it.
    // Inlined for the same reason as `sent`.
    #[inline(always)]
    pub(crate) fn acknowledge(
        &mut self,
        side: usize,
        segment: &Segment,
        tally: &mut Tally,
        pool: &mut Pool,
    ) -> Option<Nanos> {
        let other = 1 - side;
        let endpoint = &self.endpoints[other];
        let ack = segment.ack;
        if endpoint.flags.has(EndpointFlags::SENT) {
            let beyond = distance(ack, endpoint.next);
            if beyond > LARGEST_JUMP {
                return None;
            }
            // Nothing follows a FIN: the number is of another connection.
            let may_follow = endpoint.flags.has(EndpointFlags::ACKED) & !endpoint.flags.has(EndpointFlags::FIN);
            if beyond > 0 && may_follow {
                self.note_unseen_data(other, segment, pool);
            }
        }
        let endpoint = &mut self.endpoints[other];
        if endpoint.flags.has(EndpointFlags::ACKED) && !after(ack, endpoint.acked) {
            return None;
        }
        endpoint.acked = ack;
        let fin_acked = endpoint.flags.has(EndpointFlags::FIN) & !after(endpoint.next, ack);
        endpoint.flags.set(EndpointFlags::ACKED, true);
        endpoint.flags.add_if(EndpointFlags::FIN_ACKED, fin_acked);
        match self.windows.is_some() {
            true => self.remove_acknowledged(other, segment, tally, pool),
            false => None,
        }
    }

    /// Records data of `side` that is not in the capture, as the acknowledgement in `segment` shows.
    #[cold]
    fn note_unseen_data(&mut self, side: usize, segment: &Segment, pool: &mut Pool) {
        let endpoint = &mut self.endpoints[side];
        let hole = Hole { from: endpoint.next, to: segment.ack, by: Sent::unseen(segment), by_ack: true, acked: false };
        endpoint.next = segment.ack;
        endpoint.recent = hole.by;
        endpoint.flags.set(EndpointFlags::OPENING, false);
        pool.change(&mut self.windows, side, |window| window.leave_hole(hole));
    }

    /// Removes data of `side` that `segment` acknowledges from the window. Returns the time since the last of it was sent if
    /// the receiver acknowledged it at once: several segments, and none of them a retransmission, which makes the first
    /// acknowledged one newer than those after it.
    #[inline(never)]
    fn remove_acknowledged(
        &mut self,
        side: usize,
        segment: &Segment,
        tally: &mut Tally,
        pool: &mut Pool,
    ) -> Option<Nanos> {
        let windows = self.windows.as_mut()?;
        let (removed, unseen) = windows.sides[side].acknowledge(segment.ack);
        tally.order.unseen += unseen;
        if windows.is_empty() {
            pool.take_back(&mut self.windows);
        }
        let [first, last] = removed?;
        let endpoint = &self.endpoints[side];
        let last = match segment.ack {
            ack if ack == endpoint.next => endpoint.recent.at,
            ack if ack == last.end => last.sent.at,
            // A part of a segment.
            _ => return None,
        };
        let several = first.end != segment.ack;
        let in_order = first.sent.at == last || last.since(first.sent.at) > Nanos::ZERO;
        let is_plain = segment.seq_len() == 0;
        (is_plain && several && in_order && unseen == 0).then(|| CompactTime::at(segment.time).since(last))
    }

    /// Whether `segment` of `side` shows that a retransmission of the other side was spurious: by a duplicate SACK (RFC
    /// 2883), or because it acknowledges the retransmitted bytes with the echo of an older timestamp (RFC 3522).
    pub(crate) fn shows_spurious(&mut self, side: usize, segment: &Segment) -> bool {
        let Some(loss_state) = &mut self.loss_state else {
            return false;
        };
        let other = &mut loss_state.sides[1 - side];
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
