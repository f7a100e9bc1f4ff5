//! Latest transmissions, from which follow the delay of a retransmission and whether a segment is a copy made by the
//! capture.

use super::compact_time::CompactTime;
use crate::segment::Segment;
use gentle_units::Nanos;

/// Longest delay of a copy.
pub(super) const LONGEST_COPY_GAP: Nanos = Nanos::from_millis(100);

/// Time within which no timer retransmits a SYN or SYN/ACK, so that an equal one is a copy, and another one was held up on
/// the path together with the one before it. The initial RTO is 1 s (RFC 6298, 2.1), the shortest RTO of a stack 30 ms
/// (FreeBSD, `net.inet.tcp.rexmit_min`; Linux 200 ms), that of `gentle rexmit` 20 ms.
pub(super) const SHORTEST_TIMER: Nanos = Nanos::from_millis(20);

/// Shortest RTO of usual stacks: Linux `TCP_RTO_MIN`.
pub(super) const SHORTEST_RTO: Nanos = Nanos::from_millis(200);

/// Time and identity of a transmission.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    pub(crate) at: CompactTime,
    /// IP identification; `stamp`: low 16 bits of the timestamp value (TSval). A retransmission differs in both.
    pub(crate) ip_id: u16,
    pub(crate) stamp: u16,
}

impl Sent {
    /// Transmission that `segment` is.
    #[inline]
    pub(crate) fn new(segment: &Segment) -> Sent {
        Sent { at: CompactTime::at(segment.time), ip_id: segment.ip_id, stamp: segment.timestamp.0 as u16 }
    }

    /// Transmission that is not in the capture, inferred from its `acknowledgement`.
    pub(crate) fn unseen(acknowledgement: &Segment) -> Sent {
        Sent { at: CompactTime::at(acknowledgement.time), ip_id: 0, stamp: 0 }
    }

    /// Whether `segment`, which ends at the same sequence number, is the same packet captured twice by the capture or a
    /// switch, not a second packet with the same bytes.
    ///
    /// A retransmission gets a new IP identification (unless the sender leaves it zero, as Linux does in SYN/ACKs, or
    /// uses IPv6) and, after one tick of the timestamp clock (RFC 7323, 5.4: 1 ms to 1 s), a new timestamp. The more of
    /// these fields are present, the longer the gap for which equal values prove a copy.
    pub(crate) fn is_copy(&self, segment: &Segment) -> bool {
        self.is_copy_within(segment, Sent::longest_copy_gap(segment))
    }

    /// [`Sent::is_copy`] with another longest gap.
    pub(super) fn is_copy_within(&self, segment: &Segment, longest: Nanos) -> bool {
        segment.ip_id == self.ip_id
            && segment.timestamp.0 as u16 == self.stamp
            && CompactTime::at(segment.time).since(self.at) <= longest
    }

    /// Longest gap between `segment` and an earlier packet of which it may be a copy.
    pub(crate) fn longest_copy_gap(segment: &Segment) -> Nanos {
        match (segment.ip_id != 0, segment.has_timestamp()) {
            (true, true) => LONGEST_COPY_GAP,
            (true, false) => Nanos::from_millis(10),
            (false, true) => Nanos::from_millis(2),
            (false, false) => Nanos::from_millis(1),
        }
    }
}

/// Newest transmission of the bytes that end at `end`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InFlight {
    pub(crate) end: u32,
    pub(crate) sent: Sent,
}

/// Identity and time of the last segment of an endpoint that took no sequence numbers, by which a copy of an
/// acknowledgement is distinguished from the next one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PureAck {
    ip_id: u16,
    /// XOR of the other fields, folded to 16 bits: acknowledgements of a window of data differ in these even without an
    /// identification, and acknowledgements repeated because of a hole differ in their SACK blocks.
    mark: u16,
    /// Time in units of 256 µs; wraps around after 17 s.
    at: u16,
}

impl PureAck {
    /// Identity of `segment`.
    #[inline]
    pub(crate) fn new(segment: &Segment) -> PureAck {
        let mark = segment.ack
            ^ segment.seq.rotate_left(5)
            ^ segment.timestamp.0.rotate_left(9)
            ^ segment.timestamp.1.rotate_left(13)
            ^ segment.sack.0.rotate_left(17)
            ^ segment.sack.1.rotate_left(21)
            ^ u32::from(segment.window).rotate_left(25)
            ^ u32::from(segment.flags().0);
        PureAck {
            ip_id: segment.ip_id,
            mark: (mark ^ mark >> 16) as u16,
            at: (segment.time.since_origin().as_micros() >> 8) as u16,
        }
    }

    /// Whether both are equal but for their times.
    #[inline]
    pub(crate) fn is_same(self, other: PureAck) -> bool {
        self.ip_id == other.ip_id && self.mark == other.mark
    }

    /// Duration from `earlier`; long if the capture's clock went back.
    pub(crate) fn since(self, earlier: PureAck) -> Nanos {
        Nanos::from_micros(u64::from(self.at.wrapping_sub(earlier.at)) << 8)
    }
}
