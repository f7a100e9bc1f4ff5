//! One TCP segment of a trace, decoded.

use crate::connections::{EndsHasher, after};
use gentle_units::Nanos;
use gentle_wire::{Address, Packet, Tcp, TcpFlags};

/// What the analysis needs of a segment; no borrow from the frame, so that decoding and analysis can overlap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) time: Nanos,
    pub(crate) src: Address,
    pub(crate) dst: Address,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    /// Of addresses and ports, the same in both directions.
    pub(crate) hash: u32,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) payload_len: u32,
    /// Bytes of the packet on the wire.
    pub(crate) wire_len: u32,
    /// TCP time stamp value and echo; zero without the option.
    pub(crate) timestamp: (u32, u32),
    /// First SACK block; both ends equal without one.
    pub(crate) sack: (u32, u32),
    /// Second SACK block, in which a DSACK may lie (RFC 2883, 4).
    pub(crate) sack_around: (u32, u32),
    pub(crate) window: u16,
    /// IP identification; zero without one.
    pub(crate) ip_id: u16,
    pub(crate) flags: TcpFlags,
    pub(crate) ttl: u8,
    pub(crate) has_timestamp: bool,
    /// Direction of the packet where that does not depend on its connection, else 0.
    pub(crate) direction: u8,
}

impl Segment {
    /// From a dissected packet.
    #[inline(always)]
    pub(crate) fn new(
        time: Nanos,
        wire_len: u32,
        direction: u8,
        packet: &Packet<'_>,
        tcp: &Tcp<'_>,
        hasher: &EndsHasher,
    ) -> Segment {
        let timestamp = tcp.timestamps();
        // Beside time stamps there is room for SACK blocks only in longer options.
        let without_sack = timestamp.is_some() && tcp.options.len() <= 12;
        let (sack, sack_around) = if without_sack || tcp.flags.any(TcpFlags::SYN) {
            ((0, 0), (0, 0))
        } else {
            let mut blocks = tcp.sack_blocks();
            (
                blocks.next().unwrap_or_default(),
                blocks.next().unwrap_or_default(),
            )
        };
        Segment {
            time,
            src: packet.ip.src,
            dst: packet.ip.dst,
            src_port: tcp.src_port,
            dst_port: tcp.dst_port,
            hash: hasher.hash((packet.ip.src, tcp.src_port), (packet.ip.dst, tcp.dst_port)),
            seq: tcp.seq,
            ack: tcp.ack,
            payload_len: tcp.payload_len,
            wire_len,
            timestamp: timestamp.unwrap_or_default(),
            sack,
            sack_around,
            window: tcp.window,
            ip_id: packet.ip.id.unwrap_or(0),
            flags: tcp.flags,
            ttl: packet.ip.ttl,
            has_timestamp: timestamp.is_some(),
            direction,
        }
    }

    /// Sequence numbers it takes: payload, SYN and FIN.
    #[inline]
    pub(crate) fn span(&self) -> u32 {
        self.payload_len
            .wrapping_add(u32::from(self.flags.any(TcpFlags::SYN)))
            .wrapping_add(u32::from(self.flags.any(TcpFlags::FIN)))
    }

    /// The block of a duplicate SACK (RFC 2883, 4): its first SACK block lies below the acknowledgement number or inside
    /// the second block.
    #[inline]
    pub(crate) fn dsack(&self) -> Option<(u32, u32)> {
        let (from, to) = self.sack;
        if from == to || !self.flags.any(TcpFlags::ACK) {
            return None;
        }
        let below = !after(to, self.ack);
        let (outer_from, outer_to) = self.sack_around;
        let inside = outer_from != outer_to && !after(outer_from, from) && !after(to, outer_to);
        (below || inside).then_some(self.sack)
    }
}
