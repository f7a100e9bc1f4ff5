//! What was sent last, and when: to tell how long a retransmission took, and a copy from a retransmission.

use super::clock::Tick;
use crate::segment::Segment;
use gentle_units::Nanos;

/// A transmission.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    pub(crate) at: Tick,
    /// IP identification and low half of the TCP time stamp: a retransmission has others.
    pub(crate) ip_id: u16,
    pub(crate) stamp: u16,
}

impl Sent {
    #[inline]
    pub(crate) fn new(segment: &Segment) -> Sent {
        Sent {
            at: Tick::at(segment.time),
            ip_id: segment.ip_id,
            stamp: segment.timestamp.0 as u16,
        }
    }

    /// One that the capture missed, of which `acknowledgement` tells.
    pub(crate) fn unseen(acknowledgement: &Segment) -> Sent {
        Sent {
            at: Tick::at(acknowledgement.time),
            ip_id: 0,
            stamp: 0,
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
        Tick::at(segment.time).since(self.at) <= Sent::longest_copy_gap(segment)
    }

    /// The longest gap between `segment` and one of which it is a copy.
    pub(crate) fn longest_copy_gap(segment: &Segment) -> Nanos {
        match (segment.ip_id != 0, segment.has_timestamp()) {
            (true, true) => Nanos::from_millis(100),
            (true, false) => Nanos::from_millis(10),
            (false, true) => Nanos::from_millis(2),
            (false, false) => Nanos::from_millis(1),
        }
    }
}

/// The newest transmission of the bytes that end at `end`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flying {
    pub(crate) end: u32,
    pub(crate) sent: Sent,
}

/// The last segment of a side that took no sequence numbers, and when: to tell the copy of an acknowledgement from the
/// next one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bare {
    ip_id: u16,
    /// What else tells two of them apart, folded: the acknowledgements of a window differ in more than their
    /// identification, which they may lack, and those sent again because of a hole in their SACK blocks.
    mark: u16,
    /// In units of 256 µs, so it wraps around after 17 s.
    at: u16,
}

impl Bare {
    #[inline]
    pub(crate) fn new(segment: &Segment) -> Bare {
        let mark = segment.ack
            ^ segment.seq.rotate_left(5)
            ^ segment.timestamp.0.rotate_left(9)
            ^ segment.timestamp.1.rotate_left(13)
            ^ segment.sack.0.rotate_left(17)
            ^ segment.sack.1.rotate_left(21)
            ^ u32::from(segment.window).rotate_left(25)
            ^ u32::from(segment.flags().0);
        Bare {
            ip_id: segment.ip_id,
            mark: (mark ^ mark >> 16) as u16,
            at: (segment.time.as_micros() >> 8) as u16,
        }
    }

    #[inline]
    pub(crate) fn is_same(self, other: Bare) -> bool {
        self.ip_id == other.ip_id && self.mark == other.mark
    }

    /// From `earlier` to here; long if the capture's clock went back.
    pub(crate) fn since(self, earlier: Bare) -> Nanos {
        Nanos::from_micros(u64::from(self.at.wrapping_sub(earlier.at)) << 8)
    }
}
