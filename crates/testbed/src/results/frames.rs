//! The packets in the file, as far as they matter here.

use super::ResultsError;
use crate::conduct::Point;
use crate::experiment::{client_address, is_forged, server_address};
use gentle_capture::CaptureReader;
use gentle_experiment::Class;
use gentle_units::Nanos;
use gentle_wire::{Address, LinkType, TcpFlags, Transport, Tunnels, dissect};
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::path::Path;

const ETHERNET_HEADER: u32 = 14;
const UDP: u8 = 17;

/// A packet that was seen somewhere.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) at: Nanos,
    pub(super) point: Point,
    /// Length of the IP packet.
    pub(super) ip_bytes: u32,
    /// Whether it is a UDP datagram.
    udp: bool,
    /// What it is of a connection.
    pub(super) segment: Option<Segment>,
    /// The same at the entry and at the exit of a queue.
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
    /// Ranges that it reports as received out of order (RFC 2018).
    pub(super) sacks: Vec<(u32, u32)>,
    /// The time stamp and the one echoed (RFC 7323).
    pub(super) stamps: Option<(u32, u32)>,
}

impl Segment {
    /// A SYN without ACK.
    pub(super) fn is_syn(&self) -> bool {
        self.syn && self.ack.is_none()
    }

    /// How much of the sequence space it takes.
    pub(super) fn length(&self) -> u32 {
        self.payload + u32::from(self.syn) + u32::from(self.fin)
    }
}

impl Frame {
    /// What it is to the statistics of loss; see the simulator.
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

/// Reads the file from its beginning to its end.
pub(super) struct Frames {
    reader: CaptureReader,
}

impl Frames {
    pub(super) fn open(path: &Path) -> Result<Frames, ResultsError> {
        let reader = CaptureReader::open(path)?.strict(true);
        Ok(Frames { reader })
    }

    /// The next IP packet.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, ResultsError> {
        while let Some(packet) = self.reader.next()? {
            let Some(point) = Point::ALL.get(packet.interface as usize) else {
                continue;
            };
            if let Some(frame) = frame(packet.time, *point, packet.data, packet.original_len) {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }
}

fn frame(at: Nanos, point: Point, bytes: &[u8], original_len: u32) -> Option<Frame> {
    let packet = dissect(LinkType::ETHERNET, bytes, original_len, Tunnels::Outer).ok()?;
    let of_flood = matches!(IpAddr::from(packet.ip.src), IpAddr::V4(src) if is_forged(src));
    // What the router's neighbours say to one another goes through no queue.
    let mut ends = [packet.ip.src, packet.ip.dst].into_iter();
    if !of_flood && ends.any(|address| !is_host(address)) {
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
    segment.hash(&mut hasher);
    Some(Frame {
        at,
        point,
        ip_bytes: original_len.saturating_sub(ETHERNET_HEADER),
        udp: packet.ip.protocol == UDP,
        // No connection waits for it, whatever its flags say.
        segment: segment.filter(|_| !of_flood),
        identity: hasher.finish(),
    })
}

/// Whether one of the two hosts has the address.
fn is_host(address: Address) -> bool {
    match IpAddr::from(address) {
        IpAddr::V4(address) => {
            address == server_address() || address.octets()[..3] == client_address(0).octets()[..3]
        }
        IpAddr::V6(_) => false,
    }
}
