//! TCP segments of a trace, decoded.

use crate::connections::{Ends, Found, after};
use gentle_units::Nanos;
use gentle_wire::{Address, Tcp, TcpFlags};
use std::hash::Hash;

/// What the analysis needs of a segment; no borrow from the frame, so that decoding and analysis can overlap, and one
/// line of the cache, because it goes from one core to another.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Segment {
    pub(crate) time: Nanos,
    /// Its ends; IPv6 addresses are in [`Batch::wide`].
    pub(crate) ends: Ends,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) payload_len: u32,
    /// Bytes of the packet on the wire.
    pub(crate) wire_len: u32,
    /// TCP time stamp value and echo; zero without the option.
    pub(crate) timestamp: (u32, u32),
    /// First SACK block; both ends equal without one.
    pub(crate) sack: (u32, u32),
    pub(crate) window: u16,
    /// IP identification; zero without one.
    pub(crate) ip_id: u16,
    flags: u8,
    marks: u8,
    pub(crate) ttl: u8,
    /// Direction of the packet where that does not depend on its connection, else 0.
    pub(crate) direction: u8,
}

const _: () = assert!(size_of::<Segment>() == 64);

/// What the packet around a segment says of it: fields of [`Segment`].
pub(crate) struct Around {
    pub(crate) time: Nanos,
    pub(crate) wire_len: u32,
    pub(crate) ip_id: u16,
    pub(crate) ttl: u8,
}

/// From the lower of its ends to the upper one.
const FORWARD: u8 = 1;
/// Its addresses are IPv6.
const WIDE: u8 = 2;
/// It has the option of time stamps.
const TIMESTAMP: u8 = 4;
/// The first SACK block is a duplicate SACK.
const DSACK: u8 = 8;
/// No segment: an ICMP message says that one with these ends and this sequence number was not delivered.
const UNDELIVERED: u8 = 16;
/// It is a copy made by the capture, by the evidence of other segments.
const COPY: u8 = 32;
/// Copies come after a delay that is known from other segments, and by it this is none.
const ORIGINAL: u8 = 64;

impl Segment {
    /// Flags, without those of ECN's ninth bit and beyond.
    #[inline]
    pub(crate) fn flags(&self) -> TcpFlags {
        TcpFlags(u16::from(self.flags))
    }

    #[inline]
    pub(crate) fn is_forward(&self) -> bool {
        self.marks & FORWARD != 0
    }

    #[inline]
    pub(crate) fn is_wide(&self) -> bool {
        self.marks & WIDE != 0
    }

    #[inline]
    pub(crate) fn has_timestamp(&self) -> bool {
        self.marks & TIMESTAMP != 0
    }

    /// Whether both of its ends are one; `wide` are its addresses if they are IPv6.
    pub(crate) fn is_to_itself(&self, wide: Option<[Address; 2]>) -> bool {
        let same_host = match wide {
            Some([lower, upper]) => lower == upper,
            None => self.ends.addresses >> 32 == self.ends.addresses & u64::from(u32::MAX),
        };
        same_host && self.ends.ports[0] == self.ends.ports[1]
    }

    /// Whether it is a copy made by the capture, by the evidence of other segments.
    #[inline]
    pub(crate) fn is_marked_copy(&self) -> bool {
        self.marks & COPY != 0
    }

    /// Whether it is none, by the same evidence.
    #[inline]
    pub(crate) fn is_marked_original(&self) -> bool {
        self.marks & ORIGINAL != 0
    }

    /// Copies come after a delay that is known from other segments: by it, this is one, or none.
    pub(crate) fn mark(&mut self, is_copy: bool) {
        self.marks |= if is_copy { COPY } else { ORIGINAL };
    }

    /// What is the same in a copy: everything but time, TTL and layers below IP, which depend on where it was captured.
    pub(crate) fn content(&self) -> impl Hash {
        (
            (self.ends.hash, self.ends.ports, self.is_forward()),
            (self.seq, self.ack, self.payload_len, self.window),
            (self.timestamp, self.sack, self.ip_id, self.flags),
        )
    }

    /// Whether this is what an ICMP message says about a segment, which has its ends and its sequence number, and not a
    /// segment.
    #[inline]
    pub(crate) fn is_undelivered(&self) -> bool {
        self.marks & UNDELIVERED != 0
    }

    /// Sequence numbers it takes: payload, SYN and FIN.
    #[inline]
    pub(crate) fn span(&self) -> u32 {
        self.payload_len
            .wrapping_add(u32::from(self.flags().any(TcpFlags::SYN)))
            .wrapping_add(u32::from(self.flags().any(TcpFlags::FIN)))
    }

    /// The block of a duplicate SACK (RFC 2883).
    #[inline]
    pub(crate) fn dsack(&self) -> Option<(u32, u32)> {
        (self.marks & DSACK != 0).then_some(self.sack)
    }
}

/// Segments in the order of the trace, as many as there are places at most.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The places; what is behind the first `len` means nothing.
    segments: Vec<Segment>,
    len: usize,
    /// Address pairs of IPv6 segments.
    wide: Vec<[Address; 2]>,
}

impl Batch {
    pub(crate) fn with_capacity(segments: usize) -> Batch {
        Batch {
            segments: vec![Segment::default(); segments],
            len: 0,
            wide: Vec::new(),
        }
    }

    /// Adds the segment of a packet; `find` finds its ends.
    // It is written where it stays, field by field, those first that are there first: then the compiler has enough
    // registers. Put together and then moved here it took decoding a tenth more instructions (callgrind).
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: Around, tcp: &Tcp<'_>, find: impl FnOnce() -> Found) {
        let segment = &mut self.segments[self.len];
        self.len += 1;
        segment.seq = tcp.seq;
        segment.ack = tcp.ack;
        segment.payload_len = tcp.payload_len;
        segment.window = tcp.window;
        segment.flags = tcp.flags.0 as u8;
        segment.ip_id = packet.ip_id;
        segment.ttl = packet.ttl;
        segment.time = packet.time;
        segment.wire_len = packet.wire_len;
        segment.direction = 0;
        let found = find();
        segment.ends = found.ends;
        let mut marks = if found.forward { FORWARD } else { 0 };
        if let Some(addresses) = found.wide {
            marks |= WIDE;
            segment.ends.addresses = self.wide.len() as u64;
            self.wide.push(addresses);
        }
        let timestamp = tcp.timestamps();
        segment.timestamp = timestamp.unwrap_or_default();
        if timestamp.is_some() {
            marks |= TIMESTAMP;
        }
        segment.sack = (0, 0);
        // Beside time stamps there is room for SACK blocks only in longer options.
        let without_sack = timestamp.is_some() && tcp.options.len() <= 12;
        if !without_sack && !tcp.flags.any(TcpFlags::SYN) {
            let mut blocks = tcp.sack_blocks();
            if let Some(first) = blocks.next() {
                segment.sack = first;
                if is_dsack(tcp, first, blocks.next()) {
                    marks |= DSACK;
                }
            }
        }
        segment.marks = marks;
    }

    /// Adds what an ICMP message says: the segment with these ends and this sequence number was not delivered.
    ///
    /// It has the flag SYN, so that it takes the rare way of segments that open connections.
    pub(crate) fn push_undelivered(&mut self, time: Nanos, found: Found, seq: u32) {
        let segment = &mut self.segments[self.len];
        self.len += 1;
        *segment = Segment {
            time,
            ends: found.ends,
            seq,
            flags: TcpFlags::SYN.0 as u8,
            marks: UNDELIVERED | if found.forward { FORWARD } else { 0 },
            ..Segment::default()
        };
        if let Some(addresses) = found.wide {
            segment.marks |= WIDE;
            segment.ends.addresses = self.wide.len() as u64;
            self.wide.push(addresses);
        }
    }

    /// Those added.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments[..self.len]
    }

    /// Those added, to be marked.
    pub(crate) fn segments_mut(&mut self) -> &mut [Segment] {
        &mut self.segments[..self.len]
    }

    /// Whether there is no place for another one.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len == self.segments.len()
    }

    /// The segment added last has this direction.
    pub(crate) fn direct(&mut self, direction: u8) {
        self.segments[self.len - 1].direction = direction;
    }

    /// The addresses of one of its segments, the lower end's first, if they are IPv6.
    #[inline]
    pub(crate) fn wide(&self, segment: &Segment) -> Option<[Address; 2]> {
        segment
            .is_wide()
            .then(|| self.wide[segment.ends.addresses as usize])
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.wide.clear();
    }
}

/// Whether `first` is the block of a duplicate SACK (RFC 2883, 4): it lies below the acknowledgement number or inside
/// the second block.
fn is_dsack(tcp: &Tcp<'_>, first: (u32, u32), second: Option<(u32, u32)>) -> bool {
    let (from, to) = first;
    if from == to || !tcp.flags.any(TcpFlags::ACK) {
        return false;
    }
    let below = !after(to, tcp.ack);
    let inside = second.is_some_and(|(outer_from, outer_to)| {
        outer_from != outer_to && !after(outer_from, from) && !after(to, outer_to)
    });
    below || inside
}
