//! TCP segments of a trace, decoded.

use crate::connections::{Ends, EndsHasher, Found, after};
use gentle_units::Nanos;
use gentle_wire::{Address, Packet, PlainTcp, Tcp, TcpFlags};

/// What the analysis needs of a segment; no borrow from the frame, so that decoding and analysis can overlap, and one
/// line of the cache, because it goes from one core to another.
#[derive(Debug, Clone, Copy)]
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

/// From the lower of its ends to the upper one.
const FORWARD: u8 = 1;
/// Its addresses are IPv6.
const WIDE: u8 = 2;
/// It has the option of time stamps.
const TIMESTAMP: u8 = 4;
/// The first SACK block is a duplicate SACK.
const DSACK: u8 = 8;

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

/// Segments in the order of the trace.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) segments: Vec<Segment>,
    /// Address pairs of IPv6 segments.
    wide: Vec<[Address; 2]>,
}

impl Batch {
    pub(crate) fn with_capacity(segments: usize) -> Batch {
        Batch {
            segments: Vec::with_capacity(segments),
            wide: Vec::new(),
        }
    }

    /// Adds a dissected packet.
    pub(crate) fn push(
        &mut self,
        time: Nanos,
        wire_len: u32,
        direction: u8,
        packet: &Packet<'_>,
        tcp: &Tcp<'_>,
        hasher: &EndsHasher,
    ) {
        let ip = &packet.ip;
        let found = hasher.ends((ip.src, tcp.src_port), (ip.dst, tcp.dst_port));
        let id = ip.id.unwrap_or(0);
        self.add(time, wire_len, direction, found, (id, ip.ttl), tcp);
    }

    /// Adds a plain one in IPv4.
    #[inline(always)]
    pub(crate) fn push_v4(
        &mut self,
        time: Nanos,
        wire_len: u32,
        direction: u8,
        plain: &PlainTcp<'_, [u8; 4]>,
        hasher: &EndsHasher,
    ) {
        let tcp = &plain.tcp;
        let found = hasher.v4_ends(
            (u32::from_be_bytes(plain.src), tcp.src_port),
            (u32::from_be_bytes(plain.dst), tcp.dst_port),
        );
        let id = plain.id.unwrap_or(0);
        self.add(time, wire_len, direction, found, (id, plain.ttl), tcp);
    }

    /// Adds a plain one in IPv6.
    #[inline(always)]
    pub(crate) fn push_v6(
        &mut self,
        time: Nanos,
        wire_len: u32,
        direction: u8,
        plain: &PlainTcp<'_, [u8; 16]>,
        hasher: &EndsHasher,
    ) {
        let tcp = &plain.tcp;
        let found = hasher.ends(
            (Address(plain.src), tcp.src_port),
            (Address(plain.dst), tcp.dst_port),
        );
        self.add(time, wire_len, direction, found, (0, plain.ttl), tcp);
    }

    #[inline(always)]
    fn add(
        &mut self,
        time: Nanos,
        wire_len: u32,
        direction: u8,
        found: Found,
        (ip_id, ttl): (u16, u8),
        tcp: &Tcp<'_>,
    ) {
        let mut ends = found.ends;
        let mut marks = 0;
        if found.forward {
            marks |= FORWARD;
        }
        if let Some(addresses) = found.wide {
            marks |= WIDE;
            ends.addresses = self.wide.len() as u64;
            self.wide.push(addresses);
        }
        let timestamp = tcp.timestamps();
        if timestamp.is_some() {
            marks |= TIMESTAMP;
        }
        // Beside time stamps there is room for SACK blocks only in longer options.
        let without_sack = timestamp.is_some() && tcp.options.len() <= 12;
        let mut sack = (0, 0);
        if !without_sack && !tcp.flags.any(TcpFlags::SYN) {
            let mut blocks = tcp.sack_blocks();
            if let Some(first) = blocks.next() {
                sack = first;
                if is_dsack(tcp, first, blocks.next()) {
                    marks |= DSACK;
                }
            }
        }
        self.segments.push(Segment {
            time,
            ends,
            seq: tcp.seq,
            ack: tcp.ack,
            payload_len: tcp.payload_len,
            wire_len,
            timestamp: timestamp.unwrap_or_default(),
            sack,
            window: tcp.window,
            ip_id,
            flags: tcp.flags.0 as u8,
            marks,
            ttl,
            direction,
        });
    }

    /// The addresses of one of its segments, the lower end's first, if they are IPv6.
    #[inline]
    pub(crate) fn wide(&self, segment: &Segment) -> Option<[Address; 2]> {
        segment
            .is_wide()
            .then(|| self.wide[segment.ends.addresses as usize])
    }

    pub(crate) fn clear(&mut self) {
        self.segments.clear();
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
