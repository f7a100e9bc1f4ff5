//! TCP segments decoded from a capture.

use crate::flow_key::{DirectedKey, FlowKey, v4_pair};
pub(crate) use crate::syn_extras::SynExtras;
use gentle_units::Instant;
use gentle_wire::{Address, Tcp, TcpFlags};
use std::hash::Hash;

/// Fields of a TCP segment that the analysis needs. Borrows nothing from the frame, so that decoding and analysis can
/// run on different threads, and fills one cache line (64 bytes), because it moves from one core to another.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Segment {
    pub(crate) time: Instant,
    /// Addresses and ports; for IPv6, `addresses` is an index into [`Batch::v6`].
    pub(crate) key: FlowKey,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) payload_len: u32,
    /// Bytes of the packet on the wire.
    pub(crate) wire_len: u32,
    /// Value and echo of the TCP timestamps option; zero without the option.
    pub(crate) timestamp: (u32, u32),
    /// First SACK block, sequence numbers; both are equal without one. Of a SYN, which has none, the first is
    /// [`Segment::syn_extras`].
    pub(crate) sack: (u32, u32),
    pub(crate) window: u16,
    /// IP identification; zero where the header has none.
    pub(crate) ip_id: u16,
    flags: u8,
    marks: u8,
    pub(crate) ttl: u8,
    /// Index of the packet's direction where it does not depend on the connection, else 0.
    pub(crate) direction: u8,
}

const _: () = assert!(size_of::<Segment>() == 64);

/// Fields of a [`Segment`] that come from outside of its TCP header.
pub(crate) struct PacketMeta {
    pub(crate) time: Instant,
    pub(crate) wire_len: u32,
    pub(crate) ip_id: u16,
    pub(crate) ttl: u8,
}

/// The segment goes from the lower endpoint to the upper one.
const FORWARD: u8 = 1;
/// The addresses are IPv6.
const V6: u8 = 2;
/// The segment has the TCP timestamps option.
const TIMESTAMP: u8 = 4;
/// The first SACK block is a duplicate SACK.
const DSACK: u8 = 8;
/// Not a segment: an ICMP message reports that one with this flow key and sequence number was not delivered.
const UNDELIVERED: u8 = 16;
/// Other segments show that this one is a copy made by the capture.
const DUPLICATE: u8 = 32;
/// Other segments show the delay of the capture's copies, and by that delay this segment is an original.
const ORIGINAL: u8 = 64;

impl Segment {
    /// Low eight flag bits; the AE flag (ninth bit) and reserved bits are left out.
    #[inline]
    pub(crate) fn flags(&self) -> TcpFlags {
        TcpFlags(u16::from(self.flags))
    }

    #[inline]
    pub(crate) fn is_forward(&self) -> bool {
        self.marks & FORWARD != 0
    }

    #[inline]
    pub(crate) fn is_v6(&self) -> bool {
        self.marks & V6 != 0
    }

    #[inline]
    pub(crate) fn has_timestamp(&self) -> bool {
        self.marks & TIMESTAMP != 0
    }

    /// Whether the source address and port equal the destination's; `v6` has the addresses if they are IPv6.
    pub(crate) fn is_to_itself(&self, v6: Option<[Address; 2]>) -> bool {
        let same_host = match v6 {
            Some([lower, upper]) => lower == upper,
            None => self.key.addresses >> 32 == self.key.addresses & u64::from(u32::MAX),
        };
        same_host && self.key.ports[0] == self.key.ports[1]
    }

    /// Address of the sender; `v6` has the addresses if they are IPv6.
    pub(crate) fn source(&self, v6: Option<[Address; 2]>) -> Address {
        let pair = v6.unwrap_or_else(|| v4_pair(self.key.addresses));
        pair[usize::from(!self.is_forward())]
    }

    /// Whether other segments show that this one is a copy made by the capture.
    #[inline]
    pub(crate) fn is_marked_duplicate(&self) -> bool {
        self.marks & DUPLICATE != 0
    }

    /// Whether other segments show that this one is not a copy made by the capture.
    #[inline]
    pub(crate) fn is_marked_original(&self) -> bool {
        self.marks & ORIGINAL != 0
    }

    /// Records whether this segment is a copy made by the capture, as the known delay of the capture's copies shows.
    pub(crate) fn mark(&mut self, is_duplicate: bool) {
        self.marks |= if is_duplicate { DUPLICATE } else { ORIGINAL };
    }

    /// Fields that are equal in a copy: all but time, TTL and the layers below IP, which depend on the capture point.
    pub(crate) fn content(&self) -> impl Hash {
        (
            (self.key.hash, self.key.ports, self.is_forward()),
            (self.seq, self.ack, self.payload_len, self.window),
            (self.timestamp, self.sack, self.ip_id, self.flags),
        )
    }

    /// Whether this is no segment but an ICMP message about one, with that segment's flow key and sequence number.
    #[inline]
    pub(crate) fn is_undelivered(&self) -> bool {
        self.marks & UNDELIVERED != 0
    }

    /// Length in sequence numbers: payload, SYN and FIN (SEG.LEN of RFC 9293, 3.3.1).
    #[inline]
    pub(crate) fn seq_len(&self) -> u32 {
        self.payload_len
            .wrapping_add(u32::from(self.flags().any(TcpFlags::SYN)))
            .wrapping_add(u32::from(self.flags().any(TcpFlags::FIN)))
    }

    /// Of a SYN: what middleboxes may drop it for.
    pub(crate) fn syn_extras(&self) -> SynExtras {
        SynExtras::from_bits(self.sack.0)
    }

    /// The first SACK block if it is a duplicate SACK (RFC 2883).
    #[inline]
    pub(crate) fn dsack(&self) -> Option<(u32, u32)> {
        (self.marks & DSACK != 0).then_some(self.sack)
    }
}

/// Segments in the order of the trace, up to a fixed capacity.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Storage for the whole capacity; only the first `len` entries are valid.
    segments: Vec<Segment>,
    len: usize,
    /// Address pairs of the IPv6 segments, lower endpoint first.
    v6: Vec<[Address; 2]>,
    /// Numbers of the capture points of the first segments; empty if the trace has one.
    points: Vec<u8>,
    /// Whether packets of these points alternate, so that the same may come from more than one.
    has_several_points: bool,
}

impl Batch {
    pub(crate) fn with_capacity(segments: usize) -> Batch {
        Batch {
            segments: vec![Segment::default(); segments],
            len: 0,
            v6: Vec::new(),
            points: Vec::new(),
            has_several_points: false,
        }
    }

    /// Adds the segment of a packet; `find_key` returns its flow key.
    // Written in place, field by field, in the order in which the values are known: then the compiler has enough
    // registers. Building the segment first and moving it here took 10 % more instructions for decoding (callgrind).
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: PacketMeta, tcp: &Tcp<'_>, find_key: impl FnOnce() -> DirectedKey) {
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
        let found = find_key();
        segment.key = found.key;
        let mut marks = if found.forward { FORWARD } else { 0 };
        if let Some(addresses) = found.v6 {
            marks |= V6;
            segment.key.addresses = self.v6.len() as u64;
            self.v6.push(addresses);
        }
        let timestamp = tcp.timestamps();
        segment.timestamp = timestamp.unwrap_or_default();
        if timestamp.is_some() {
            marks |= TIMESTAMP;
        }
        segment.sack = (0, 0);
        // With timestamps, a SACK block needs more than 12 bytes of options.
        let without_sack = timestamp.is_some() && tcp.options.len() <= 12;
        if tcp.flags.is_syn() {
            segment.sack.0 = SynExtras::of(tcp).bits();
        } else if !without_sack && !tcp.flags.any(TcpFlags::SYN) {
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

    /// Adds an ICMP message that reports an undelivered segment with this flow key and sequence number.
    ///
    /// The entry has the flag SYN, so that it takes the slow path of segments that open connections.
    pub(crate) fn push_undelivered(&mut self, time: Instant, found: DirectedKey, seq: u32) {
        let segment = &mut self.segments[self.len];
        self.len += 1;
        *segment = Segment {
            time,
            key: found.key,
            seq,
            flags: TcpFlags::SYN.0 as u8,
            marks: UNDELIVERED | if found.forward { FORWARD } else { 0 },
            ..Segment::default()
        };
        if let Some(addresses) = found.v6 {
            segment.marks |= V6;
            segment.key.addresses = self.v6.len() as u64;
            self.v6.push(addresses);
        }
    }

    /// The segments added so far.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments[..self.len]
    }

    /// The segments added so far, mutable.
    pub(crate) fn segments_mut(&mut self) -> &mut [Segment] {
        &mut self.segments[..self.len]
    }

    /// Whether the capacity is used up.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len == self.segments.len()
    }

    /// Sets the direction of the segment added last.
    pub(crate) fn set_direction(&mut self, direction: u8) {
        self.segments[self.len - 1].direction = direction;
    }

    /// Sets the capture point of the segment added last; segments before it without one are of point 0. `several`: whether
    /// packets of the points seen so far alternate.
    pub(crate) fn set_point(&mut self, point: u8, several: bool) {
        self.has_several_points |= several;
        self.points.resize(self.len, 0);
        self.points[self.len - 1] = point;
    }

    /// Capture points of the first segments; 0 for the others.
    pub(crate) fn points(&self) -> &[u8] {
        &self.points
    }

    /// Whether the same packet may be in the trace from more than one capture point.
    pub(crate) fn has_several_points(&self) -> bool {
        self.has_several_points
    }

    /// Keeps the segments for which `keep` returns true.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Segment) -> bool) {
        let mut kept = 0;
        for at in 0..self.len {
            if keep(&self.segments[at]) {
                self.segments[kept] = self.segments[at];
                kept += 1;
            }
        }
        self.len = kept;
        self.points.clear();
        self.has_several_points = false;
    }

    /// IPv6 addresses of a segment of this batch, lower endpoint first; `None` for IPv4.
    #[inline]
    pub(crate) fn v6_addresses(&self, segment: &Segment) -> Option<[Address; 2]> {
        segment.is_v6().then(|| self.v6[segment.key.addresses as usize])
    }

    /// Removes all segments; the capacity stays.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.v6.clear();
        self.points.clear();
        self.has_several_points = false;
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

/// Whether sequence number `a` comes after `b`. Sequence numbers wrap around and are compared by their difference
/// (RFC 9293, 3.4).
#[inline]
pub(crate) fn after(a: u32, b: u32) -> bool {
    distance(a, b) > 0
}

/// Signed distance from sequence number `b` to `a`; negative if `a` comes first.
#[inline]
pub(crate) fn distance(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}
