//! Segments that repeat bytes without evidence of a loss.
//!
//! A sender repeats data after duplicate acknowledgements, which need newer data under way, or after a timer. The first takes a
//! round trip at least, a timer longer (RFC 6298; RFC 8985, 7.2: twice the round-trip time). Data that have been acknowledged
//! when they pass again are late copies, or nobody waits for them any more.

use super::compact_time::CompactTime;
use super::connection::{Connection, EndpointFlags};
use super::flight::{InFlight, LONGEST_COPY_GAP, SHORTEST_RTO, Sent};
use crate::segment::{Segment, after};
use gentle_units::Nanos;

/// Why a segment repeats bytes that were all seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repetition {
    /// The capture or a switch copied the segment.
    Copy,
    /// The bytes had been acknowledged, and no sign of a timer shows.
    Needless,
    /// The sender waited for an acknowledgement.
    Awaited,
}

impl Connection {
    /// Infers why `side` repeats the bytes before `end` in `segment`; `previous` is their previous transmission if that is
    /// still known.
    pub(super) fn repetition(&self, side: usize, segment: &Segment, end: u32, previous: &InFlight) -> Repetition {
        let endpoint = &self.endpoints[side];
        let now = CompactTime::at(segment.time);
        let recovers = self.loss_state.as_ref().is_some_and(|loss_state| {
            let last = loss_state.waited_for_data.end();
            segment.time.saturating_since(last) < SHORTEST_RTO
        });
        let has = |flag| endpoint.flags.has(flag);
        if recovers || has(EndpointFlags::OPENING) || !has(EndpointFlags::ACKED) {
            return Repetition::Awaited;
        }
        let acked = |number: u32| !after(number, endpoint.acked);
        let is_newest = end == endpoint.next;
        if acked(end) && !is_newest {
            // The previous transmission is forgotten, but the newest segment shows whether the sender sent this one later.
            let is_copy_like = now.since(endpoint.recent.at) < SHORTEST_RTO && !endpoint.recent.is_before(segment);
            return match is_copy_like {
                true => Repetition::Needless,
                false => Repetition::Awaited,
            };
        }
        if previous.end != end || !previous.sent.is_copy_within(segment, SHORTEST_RTO) {
            return Repetition::Awaited;
        }
        // A sender begins with the first segment that is not acknowledged, or probes with the last (RFC 8985, 7). With newer data
        // under way, no timer is needed, and the round trip may have got shorter.
        let round_trip = self.round_trip().unwrap_or_default();
        let soonest = match (acked(segment.seq), is_newest) {
            (_, true) => round_trip,
            (true, false) => Nanos(round_trip.0 / 4 * 3),
            (false, false) => LONGEST_COPY_GAP,
        };
        if now.since(previous.sent.at) < soonest.min(LONGEST_COPY_GAP) {
            Repetition::Copy
        } else if acked(end) {
            Repetition::Needless
        } else {
            Repetition::Awaited
        }
    }
}

impl Sent {
    /// Whether `segment` was sent after this, by their timestamps or, within a tick, IP identifications.
    fn is_before(&self, segment: &Segment) -> bool {
        let later = |own: u16, other: u16| match (own, other) {
            (0, _) | (_, 0) => 0,
            (own, other) => other.wrapping_sub(own) as i16,
        };
        match later(self.stamp, segment.timestamp.0 as u16) {
            0 => later(self.ip_id, segment.ip_id) > 0,
            ticks => ticks > 0,
        }
    }
}
