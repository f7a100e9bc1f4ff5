//! Headers of a simulated packet as bytes.
//!
//! Host number N of a scenario has the addresses 10.1.x.y on the left and 10.2.x.y on the right of the bottleneck, where
//! x.y is N + 1. The host on the left has a port for each connection, the one on the right port 9 (discard). Each further
//! [`PORTS`] connections get their ports again, with another second octet on the left: 16, 17, … Forged sources of a flood
//! are in 10.3.0.0/16.

use crate::engine::Packet;
use crate::tcp_header::{tcp_header, tcp_options};
use gentle_experiment::{Direction, IP_HEADER};
use gentle_wire::{EthernetHeader, Ipv4Header, TcpOptions, Udp, protocol};
use std::net::Ipv4Addr;

pub(super) const ETHERNET_HEADER: u32 = EthernetHeader::UNTAGGED_LEN as u32;

/// The longest headers: Ethernet, IPv4 without options, TCP with 40 bytes of options.
const LONGEST_HEADERS: usize = EthernetHeader::UNTAGGED_LEN + 20 + 60;

/// Window scale that every simulated SYN announces: windows of up to 16 MB are shown to within 256 bytes.
const WINDOW_SCALE: u8 = 8;

/// Port of the discard service (RFC 863).
const DISCARD: u16 = 9;

/// Second octets of the hosts on the left and on the right, and of the sources of a flood, which no host has.
const LEFT_NET: u8 = 1;
const RIGHT_NET: u8 = 2;
const FLOOD_NET: u8 = 3;

/// Second octets of the hosts on the left for connections beyond the first [`PORTS`]: from this one, and their number.
const FURTHER_NETS: u8 = 16;
const NETS: u32 = 256 - FURTHER_NETS as u32;

/// Connections with a port each.
const PORTS: u32 = 60_000;
const FIRST_PORT: u32 = 1_024;

/// Longest IPv4 packet, bytes. A scenario may have longer segments; the capture shows this much of them.
pub(super) const LONGEST_IP_PACKET: u32 = u16::MAX as u32;

/// Replaces `out` by the Ethernet, IP and TCP or UDP headers of `packet`, whose IP packet is `ip_bytes`
/// long, at most [`LONGEST_IP_PACKET`]. The payload is zeros.
pub(super) fn write(packet: &Packet, ip_bytes: u32, out: &mut Vec<u8>) {
    let round = packet.serial / PORTS;
    let left_net = match round {
        0 => LEFT_NET,
        further => FURTHER_NETS + ((further - 1) % NETS) as u8,
    };
    let host = packet.host.wrapping_add(1);
    let left = address(left_net, host);
    let right = address(RIGHT_NET, host);
    let left_port = (FIRST_PORT + packet.serial % PORTS) as u16;
    let (src, dst, src_port, dst_port) = match packet.direction {
        _ if packet.is_of_flood() => {
            let source = address(FLOOD_NET, round as u16);
            (source, right, left_port, DISCARD)
        }
        Direction::Down => (left, right, left_port, DISCARD),
        Direction::Up => (right, left, DISCARD, left_port),
    };
    let ethernet = EthernetHeader { dst: mac(dst), src: mac(src), tags: &[], ether_type: EthernetHeader::IPV4 };
    let protocol = match packet.is_udp() {
        true => protocol::UDP,
        false => protocol::TCP,
    };
    let payload_len = ip_bytes - IP_HEADER;
    let ip = Ipv4Header { tos: packet.ds_field(), ..Ipv4Header::new(src, dst, protocol, payload_len) };
    let mut headers = [0; LONGEST_HEADERS];
    let fits = "the length was cut to what fits";
    let mut len = ethernet.emit(&mut headers).expect(fits);
    len += ip.emit(&mut headers[len..]).expect(fits);
    len += if packet.is_udp() {
        let udp = Udp { src_port, dst_port, payload_len: payload_len - Udp::HEADER_LEN as u32, payload: &[] };
        udp.emit(None, &mut headers[len..]).expect(fits)
    } else {
        let options = match packet.is_of_flood() {
            true => TcpOptions::NONE,
            false => tcp_options(&packet.segment, WINDOW_SCALE),
        };
        let segment = &packet.segment;
        let mut tcp = tcp_header(segment, src_port, dst_port, WINDOW_SCALE, &options);
        tcp.payload_len = payload_len - tcp.header_len() as u32;
        let pseudo_header = ip.pseudo_header();
        tcp.emit(&pseudo_header, &mut headers[len..]).expect(fits)
    };
    out.clear();
    out.extend_from_slice(&headers[..len]);
}

fn address(net: u8, host: u16) -> Ipv4Addr {
    let [high, low] = host.to_be_bytes();
    Ipv4Addr::new(10, net, high, low)
}

/// A locally administered address made of the IP address.
fn mac(ip: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = ip.octets();
    [2, 0, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::packet::Path;
    use gentle_tcp::{Flags, Options, Segment, Seq};
    use gentle_units::Nanos;

    /// A scenario may set an MSS that leaves no room for options; the frame shows as much as IPv4 can carry.
    #[test]
    fn a_segment_too_long_for_ip_is_cut() {
        let mut segment = Segment::new(Seq(u32::MAX), Flags::ACK);
        segment.len = 65_495;
        segment.options |= Options::TIMESTAMPS;
        segment.sack_count = 3;
        let path = Path { place: 0, serial: 0, host: 0, extra_delay: Nanos::ZERO, dscp: 0, tunnel: 0, group: 0 };
        let packet = Packet::tcp(&segment, &path, Direction::Down, 0, 0);
        let mut frame = Vec::new();
        write(&packet, LONGEST_IP_PACKET, &mut frame);
        let length = frame.len() as u32;
        assert_eq!(length, ETHERNET_HEADER + IP_HEADER + segment.header_bytes());
        let total_length = [frame[16], frame[17]];
        assert_eq!(u32::from(u16::from_be_bytes(total_length)), LONGEST_IP_PACKET);
    }
}
