//! Reader of the packet capture of a run; keeps the header fields that the evaluation needs.

use super::ResultsError;
use crate::experiment::{is_forged, is_gateway, is_host};
use crate::traffic::CapturePoint;
use gentle_capture::CaptureReader;
use gentle_experiment::Class;
use gentle_units::Instant;
use gentle_wire::{EthernetHeader, LinkType, Packet, TcpFlags, Transport, Tunnels, dissect};
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// A packet seen at one of the taps.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) at: Instant,
    pub(super) point: CapturePoint,
    /// Source and destination; in a tunnel, of the packet that the datagram carries.
    pub(super) addresses: [IpAddr; 2],
    /// Length of the IP packet, bytes; in a tunnel, the length of the datagram.
    pub(super) ip_bytes: u32,
    /// Source and destination port of a UDP datagram.
    pub(super) datagram: Option<[u16; 2]>,
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
            None if self.datagram.is_some() => Class::Data,
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

fn frame(at: Instant, point: CapturePoint, bytes: &[u8], original_len: u32) -> Option<Frame> {
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
    (packet.ip.src, packet.ip.dst, packet.ip.id, packet.ip.payload_len).hash(&mut hasher);
    let datagram = match &packet.transport {
        Transport::Udp(udp) => Some([udp.src_port, udp.dst_port]),
        _ => None,
    };
    if let Some([from, to]) = datagram {
        (from, to).hash(&mut hasher);
    }
    segment.hash(&mut hasher);
    Some(Frame {
        at,
        point,
        addresses: [packet.ip.src.into(), packet.ip.dst.into()],
        ip_bytes: original_len.saturating_sub(EthernetHeader::UNTAGGED_LEN as u32),
        datagram,
        // A packet of a flood belongs to no connection, regardless of its flags.
        segment: segment.filter(|_| !from_flood),
        identity: hasher.finish(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Gateway, TUNNEL_PORT, client_address, server_address};
    use gentle_wire::{Ipv4Header, Tcp, Udp, protocol};

    /// A packet with `header`, whose payload begins with these bytes.
    fn packet(header: Ipv4Header, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; header.header_len()];
        header.emit(&mut bytes).unwrap();
        bytes.extend_from_slice(payload);
        bytes
    }

    /// The packet in a datagram from one gateway of tunnel 7 to the other. `length` is the length of the packet, of
    /// which only the first bytes may be there.
    fn tunnelled(from: Gateway, id: u16, packet_inside: &[u8], length: u32) -> Vec<u8> {
        let udp = Udp { src_port: TUNNEL_PORT, dst_port: TUNNEL_PORT, payload_len: length, payload: packet_inside };
        let mut datagram = vec![0; 8 + packet_inside.len()];
        udp.emit(None, &mut datagram).unwrap();
        let [from, to] = [from, from.other()].map(|gateway| gateway.address(7));
        let header = Ipv4Header { id, ..Ipv4Header::new(from, to, protocol::UDP, 8 + length) };
        packet(header, &datagram)
    }

    fn read(packet: &[u8], length: u32) -> Option<Frame> {
        let ethernet = EthernetHeader { dst: [2; 6], src: [1; 6], tags: &[], ether_type: EthernetHeader::IPV4 };
        let mut bytes = vec![0; EthernetHeader::UNTAGGED_LEN];
        ethernet.emit(&mut bytes).unwrap();
        bytes.extend_from_slice(packet);
        frame(Instant(5), CapturePoint::UpExit, &bytes, 14 + length)
    }

    #[test]
    fn a_packet_in_a_tunnel_is_that_beside_it_with_the_length_of_the_datagram() {
        let [client, server] = [client_address(3, 2), server_address(3, 7)];
        let tcp = Tcp {
            src_port: 19,
            dst_port: 40_000,
            seq: 77,
            ack: 1_000,
            flags: TcpFlags::SYN | TcpFlags::ACK,
            window: 1_000,
            payload_len: 1_432,
            options: &[],
            payload: &[],
        };
        let header = Ipv4Header { id: 9, ..Ipv4Header::new(server, client, protocol::TCP, 20 + 1_432) };
        let mut segment = vec![0; 20];
        tcp.emit(&header.pseudo_header(), &mut segment).unwrap();
        let inner = packet(header, &segment);
        let outside = read(&inner, 1_472).unwrap();
        let inside = read(&tunnelled(Gateway::Down, 1, &inner, 1_472), 1_500).unwrap();
        assert_eq!((outside.ip_bytes, inside.ip_bytes), (1_472, 1_500));
        assert_eq!(inside.addresses, [IpAddr::from(server), client.into()]);
        assert_eq!(inside.addresses, outside.addresses);
        assert_eq!((inside.class(), outside.class()), (Class::SynAck, Class::SynAck));
        let payload = |frame: &Frame| frame.segment.as_ref().map(|segment| segment.payload);
        assert_eq!((payload(&inside), payload(&outside)), (Some(1_432), Some(1_432)));
        assert_eq!(inside.identity, outside.identity);
    }

    #[test]
    fn datagrams_in_a_tunnel_are_told_apart_and_what_is_no_traffic_is_left_out() {
        let [client, server] = [client_address(0, 0), server_address(0, 7)];
        let udp = Udp { src_port: 1_024, dst_port: 1_024, payload_len: 100, payload: &[] };
        let mut ports = vec![0; 8];
        udp.emit(None, &mut ports).unwrap();
        let numbered = |id| {
            let header = Ipv4Header { id, ..Ipv4Header::new(client, server, protocol::UDP, 108) };
            let inner = packet(header, &ports);
            read(&tunnelled(Gateway::Up, 50, &inner, 128), 156).unwrap()
        };
        assert_eq!(numbered(1).class(), Class::Data);
        assert_eq!(numbered(1).identity, numbered(1).identity);
        assert_ne!(numbered(1).identity, numbered(2).identity);
        // Neither a packet of the gateways themselves nor nonsense from one to the other.
        for inner in [&[][..], &[0; 40]] {
            let length = inner.len() as u32;
            assert!(read(&tunnelled(Gateway::Up, 1, inner, length), 28 + length).is_none());
        }
        let header = Ipv4Header::new(Gateway::Up.address(7), Gateway::Down.address(7), protocol::TCP, 20);
        assert!(read(&packet(header, &[0; 20]), 40).is_none());
    }
}
