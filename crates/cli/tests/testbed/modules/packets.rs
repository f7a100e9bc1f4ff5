//! Frames, and a socket to send them.

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, sendto, socket};
use std::os::fd::{AsRawFd, OwnedFd};

pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const ACK: u8 = 0x10;

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// TCP segment with flags and the given numbers of bytes of options (a multiple of four) and payload.
pub(super) fn tcp(flags: u8, options: usize, payload: usize) -> Vec<u8> {
    let words = (20 + options) / 4;
    let mut bytes = vec![0; 20];
    bytes[..2].copy_from_slice(&1000u16.to_be_bytes());
    bytes[2..4].copy_from_slice(&80u16.to_be_bytes());
    bytes[12] = (words as u8) << 4;
    bytes[13] = flags;
    bytes[14..16].copy_from_slice(&1000u16.to_be_bytes());
    bytes.resize(20 + options, 1);
    bytes.resize(20 + options + payload, b'x');
    bytes
}

/// IPv4 packet around `payload`, with `options` bytes of options (a multiple of four) and the fragment word `fragment`.
pub(super) fn ipv4(protocol: u8, options: usize, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let header = 20 + options;
    let mut bytes = vec![0; 20];
    bytes[0] = 0x40 | (header / 4) as u8;
    bytes[2..4].copy_from_slice(&((header + payload.len()) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&fragment.to_be_bytes());
    bytes[8] = 64;
    bytes[9] = protocol;
    bytes[12..16].copy_from_slice(&[10, 0, 0, 1]);
    bytes[16..20].copy_from_slice(&[10, 0, 0, 2]);
    // No-operation options.
    bytes.resize(header, 1);
    bytes.extend(payload);
    bytes
}

/// IPv6 packet around `payload` of protocol `next`.
pub(super) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 40];
    bytes[0] = 0x60;
    bytes[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    bytes[6] = next;
    bytes[7] = 64;
    (bytes[8], bytes[23], bytes[24], bytes[39]) = (0xfd, 1, 0xfd, 2);
    bytes.extend(payload);
    bytes
}

/// Ethernet frame around a packet; `types` are the EtherTypes of the tags, outermost first, and finally of the packet.
pub(super) fn ethernet(types: &[u16], packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    let (last, tags) = types.split_last().expect("a type");
    for tag in tags {
        bytes.extend(tag.to_be_bytes());
        // VLAN identifier.
        bytes.extend(5u16.to_be_bytes());
    }
    bytes.extend(last.to_be_bytes());
    bytes.extend(packet);
    bytes
}

fn plain(segment: &[u8]) -> Vec<u8> {
    ethernet(&[IPV4], &ipv4(TCP, 0, 0, segment))
}

/// SYN with the options that Linux sends.
pub(super) fn syn() -> Vec<u8> {
    plain(&tcp(SYN, 20, 0))
}

/// FIN without data.
pub(super) fn fin() -> Vec<u8> {
    plain(&tcp(FIN | ACK, 12, 0))
}

/// Data segment.
pub(super) fn data(payload: usize) -> Vec<u8> {
    plain(&tcp(ACK, 12, payload))
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
