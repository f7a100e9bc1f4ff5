//! Reader of the packet capture of a run; keeps the header fields that the evaluation needs.

use super::ResultsError;
use crate::experiment::{is_forged, is_gateway, is_host};
use crate::traffic::CapturePoint;
use gentle_capture::CaptureReader;
use gentle_experiment::Class;
use gentle_units::Nanos;
use gentle_wire::{EthernetHeader, LinkType, Packet, TcpFlags, Transport, Tunnels, dissect, protocol};
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// A packet seen at one of the taps.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) at: Nanos,
    pub(super) point: CapturePoint,
    /// Source and destination; in a tunnel, those of the packet that the datagram carries.
    pub(super) addresses: [IpAddr; 2],
    /// Length of the IP packet, bytes; in a tunnel, that of the datagram.
    pub(super) ip_bytes: u32,
    /// Whether the packet is a UDP datagram.
    udp: bool,
    /// TCP segment; `None` for other protocols and for packets of a flood.
    pub(super) segment: Option<Segment>,
    /// Hash of the packet, equal at the entry and at the exit of a queue.
    pub(super) identity: u64,
}

/// A TCP segment.
#[derive(Debug, Clone, Hash)]
pub(super) struct Segment {
    pub(super) src_port: u16,
    pub(super) dst_port: u16,
    pub(super) seq: u32,
    pub(super) ack: Option<u32>,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) payload: u32,
    /// SACK blocks (RFC 2018).
    pub(super) sacks: Vec<(u32, u32)>,
    /// TSval and TSecr of the timestamps option (RFC 7323).
    pub(super) stamps: Option<(u32, u32)>,
}

impl Segment {
    /// Whether the segment is a SYN without ACK.
    pub(super) fn is_syn(&self) -> bool {
        self.syn && self.ack.is_none()
    }

    /// Length in the sequence space.
    pub(super) fn length(&self) -> u32 {
        self.payload + u32::from(self.syn) + u32::from(self.fin)
    }
}

impl Frame {
    /// Class of the packet in the loss statistics, as in the simulator.
    pub(super) fn class(&self) -> Class {
        match &self.segment {
            Some(segment) if segment.is_syn() => Class::Syn,
            Some(segment) if segment.syn => Class::SynAck,
            Some(segment) if segment.payload > 0 => Class::Data,
            None if self.udp => Class::Data,
            _ => Class::Other,
        }
    }
}

/// Reads the capture from start to end.
pub(super) struct Frames {
    reader: CaptureReader,
}

impl Frames {
    pub(super) fn open(path: &Path) -> Result<Frames, ResultsError> {
        let reader = CaptureReader::open(path)?.strict(true);
        Ok(Frames { reader })
    }

    /// Next IP packet; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, ResultsError> {
        while let Some(packet) = self.reader.next()? {
            let Some(point) = CapturePoint::ALL.get(packet.interface as usize) else {
                continue;
            };
            if let Some(frame) = frame(packet.time, *point, packet.data, packet.original_len) {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }
}

/// Whether both addresses of a packet are such.
fn is_between(packet: &Packet<'_>, such: fn(Ipv4Addr) -> bool) -> bool {
    let mut ends = [packet.ip.src, packet.ip.dst].into_iter();
    ends.all(|address| matches!(IpAddr::from(address), IpAddr::V4(address) if such(address)))
}

fn frame(at: Nanos, point: CapturePoint, bytes: &[u8], original_len: u32) -> Option<Frame> {
    let mut packet = dissect(LinkType::ETHERNET, bytes, original_len, Tunnels::Outer).ok()?;
    if let (Transport::Udp(datagram), true) = (packet.transport, is_between(&packet, is_gateway)) {
        let (inner, length) = (datagram.payload, datagram.payload_len);
        packet = dissect(LinkType::RAW, inner, length, Tunnels::Outer).ok()?;
    }
    let from_flood = matches!(IpAddr::from(packet.ip.src), IpAddr::V4(src) if is_forged(src));
    // Packets between the router and its neighbours pass no queue.
    if !from_flood && !is_between(&packet, is_host) {
        return None;
    }
    let segment = match packet.transport {
        Transport::Tcp(tcp) => Some(Segment {
            src_port: tcp.src_port,
            dst_port: tcp.dst_port,
            seq: tcp.seq,
            ack: tcp.flags.any(TcpFlags::ACK).then_some(tcp.ack),
            syn: tcp.flags.any(TcpFlags::SYN),
            fin: tcp.flags.any(TcpFlags::FIN),
            payload: tcp.payload_len,
            sacks: tcp.sack_blocks().collect(),
            stamps: tcp.timestamps(),
        }),
        _ => None,
    };
    let mut hasher = std::hash::DefaultHasher::new();
    (
        packet.ip.src,
        packet.ip.dst,
        packet.ip.id,
        packet.ip.payload_len,
    )
        .hash(&mut hasher);
    if let Transport::Udp(udp) = &packet.transport {
        (udp.src_port, udp.dst_port).hash(&mut hasher);
    }
    segment.hash(&mut hasher);
    Some(Frame {
        at,
        point,
        addresses: [packet.ip.src.into(), packet.ip.dst.into()],
        ip_bytes: original_len.saturating_sub(EthernetHeader::UNTAGGED_LEN as u32),
        udp: packet.ip.protocol == protocol::UDP,
        // A packet of a flood belongs to no connection, regardless of its flags.
        segment: segment.filter(|_| !from_flood),
        identity: hasher.finish(),
    })
}
