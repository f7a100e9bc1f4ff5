//! Frames, and a socket to send them.

use gentle_wire::{EthernetHeader, Ipv4Header, Ipv6Header, Tcp, TcpFlags, VlanTag, protocol};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, sendto, socket};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd};

/// Most bytes of options of a TCP or an IPv4 header, all of them no-operation options (kind 1 of either).
pub(super) const OPTIONS: &[u8; 40] = &[1; 40];

/// EtherTypes of VLAN tags (IEEE 802.1Q, 802.1ad).
pub(super) const VLAN: u16 = 0x8100;
pub(super) const SERVICE_VLAN: u16 = 0x88a8;

/// IPv4 header of a whole packet.
pub(super) const V4: Ipv4Header<'_> = Ipv4Header {
    dont_fragment: false,
    ..Ipv4Header::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), protocol::TCP, 0)
};

/// IPv6 header without extension headers.
pub(super) const V6: Ipv6Header<'_> = Ipv6Header::new(
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
    protocol::TCP,
    0,
);

/// TCP segment with flags and the given numbers of bytes of options (a multiple of four) and payload. The checksum is
/// that of a segment in IPv4.
pub(super) fn tcp(flags: TcpFlags, options: usize, payload: usize) -> Vec<u8> {
    let tcp = Tcp {
        src_port: 1000,
        dst_port: 80,
        seq: 0,
        ack: 0,
        flags,
        window: 1000,
        payload_len: payload as u32,
        options: &OPTIONS[..options],
        payload: &vec![b'x'; payload],
    };
    let mut bytes = vec![0; tcp.header_len() + payload];
    tcp.emit(&V4.pseudo_header(), &mut bytes).expect("room");
    bytes
}

/// IPv4 packet of `header`, whose payload length is set, and `payload`.
pub(super) fn ipv4(header: Ipv4Header<'_>, payload: &[u8]) -> Vec<u8> {
    let header = Ipv4Header { payload_len: payload.len() as u32, ..header };
    let mut bytes = vec![0; header.header_len()];
    header.emit(&mut bytes).expect("a valid header");
    bytes.extend(payload);
    bytes
}

/// IPv6 packet of `header`, whose payload length is set, and `payload`.
pub(super) fn ipv6(header: Ipv6Header<'_>, payload: &[u8]) -> Vec<u8> {
    let header = Ipv6Header { payload_len: payload.len() as u32, ..header };
    let mut bytes = vec![0; header.header_len()];
    header.emit(&mut bytes).expect("a valid header");
    bytes.extend(payload);
    bytes
}

/// Ethernet frame around a packet; `types` are the EtherTypes of the tags, outermost first, and finally of the packet.
pub(super) fn ethernet(types: &[u16], packet: &[u8]) -> Vec<u8> {
    let (ether_type, tags) = types.split_last().expect("a type");
    let tags: Vec<VlanTag> = tags
        .iter()
        .map(|tag| VlanTag {
            service: *tag == SERVICE_VLAN,
            // The number of the VLAN.
            control: 5,
        })
        .collect();
    let header =
        EthernetHeader { dst: [2, 0, 0, 0, 0, 2], src: [2, 0, 0, 0, 0, 1], tags: &tags, ether_type: *ether_type };
    let mut bytes = vec![0; header.header_len()];
    header.emit(&mut bytes).expect("room");
    bytes.extend(packet);
    bytes
}

fn plain(segment: &[u8]) -> Vec<u8> {
    ethernet(&[EthernetHeader::IPV4], &ipv4(V4, segment))
}

/// SYN with the options that Linux sends.
pub(super) fn syn() -> Vec<u8> {
    plain(&tcp(TcpFlags::SYN, 20, 0))
}

/// FIN without data.
pub(super) fn fin() -> Vec<u8> {
    plain(&tcp(TcpFlags::FIN | TcpFlags::ACK, 12, 0))
}

/// Data segment.
pub(super) fn data(payload: usize) -> Vec<u8> {
    plain(&tcp(TcpFlags::ACK, 12, payload))
}

/// Sender of frames on a device, through its qdisc.
pub(super) struct Sender {
    socket: OwnedFd,
    device: LinkAddr,
}

impl Sender {
    pub(super) fn new(device: &str) -> Sender {
        let socket = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            // The socket does not receive.
            None,
        )
        .expect("a packet socket");
        let device = getifaddrs()
            .expect("interfaces")
            .filter(|interface| interface.interface_name == device)
            .find_map(|interface| interface.address?.as_link_addr().copied())
            .expect("the device has a link-layer address");
        Sender { socket, device }
    }

    /// Sends a frame; returns whether the device and its qdisc accepted it.
    pub(super) fn send(&mut self, frame: &[u8]) -> bool {
        let socket = self.socket.as_raw_fd();
        sendto(socket, frame, &self.device, MsgFlags::empty()) == Ok(frame.len())
    }
}
