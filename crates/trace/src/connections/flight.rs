//! What was sent last, and when: to tell how long a retransmission took, and a copy from a retransmission.

use super::clock::Tick;
use crate::segment::Segment;
use gentle_units::Nanos;

/// The newest transmission of the bytes that end at `end`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    pub(crate) end: u32,
    pub(crate) at: Tick,
    /// IP identification and low half of the TCP time stamp: a retransmission has others.
    pub(crate) ip_id: u16,
    pub(crate) stamp: u16,
}

impl Sent {
    #[inline]
    pub(crate) fn new(segment: &Segment, end: u32) -> Sent {
        Sent {
            end,
            at: Tick::at(segment.time),
            ip_id: segment.ip_id,
            stamp: segment.timestamp.0 as u16,
        }
    }

    /// Whether `segment`, which ends where this did, is a copy made by the capture or a switch: the same packet a second
    /// time, not a second packet with the same bytes.
    ///
    /// A retransmission gets a new IP identification (unless the sender leaves it at zero, as Linux does in SYN/ACKs and
    /// IPv6 always) and, after one tick of the time stamp clock (RFC 7323, 5.4: 1 ms to 1 s), a new time stamp. The more
    /// of them are there to compare, the longer the gap in which equality convinces.
    pub(crate) fn is_copy(&self, segment: &Segment) -> bool {
        if segment.ip_id != self.ip_id || segment.timestamp.0 as u16 != self.stamp {
            return false;
        }
        let longest = match (segment.ip_id != 0, segment.has_timestamp) {
            (true, true) => Nanos::from_millis(100),
            (true, false) => Nanos::from_millis(10),
            (false, true) => Nanos::from_millis(2),
            (false, false) => Nanos::from_millis(1),
        };
        Tick::at(segment.time).since(self.at) <= longest
    }
}
