//! Frames as bytes.

use crate::connection::{CLIENT, Host, SERVER};
use crate::event_loop::Side;
use crate::network::Packet;
use gentle_sim::{tcp_header, tcp_options};
use gentle_tcp::{Flags, Segment};
use gentle_wire::{EthernetHeader, Ipv4Header, Ipv6Header, PseudoHeader, Unreachable, VlanTag, protocol};
use std::net::IpAddr;

/// Window scale that every SYN announces, as Linux does for its default buffers.
const WINDOW_SCALE: u8 = 7;

/// Bytes of the timestamps option with its padding.
const TIMESTAMPS: u16 = 12;

/// The least frame on Ethernet, without the check sequence.
const LEAST_FRAME: u32 = 60;

/// The longest headers: Ethernet with a tag, IPv6, TCP with 40 bytes of options.
const LONGEST_HEADERS: usize = 18 + 40 + 60;

/// Bytes of a TCP header that an ICMP message quotes at least (RFC 792): ports and sequence number.
const QUOTED: usize = 8;

/// The code of ICMP for a host that is unreachable; in ICMPv6 it says "prohibited".
const HOST_UNREACHABLE: u8 = 1;

/// Time to live of an ICMP message of a router.
const ROUTER_TTL: u8 = 60;

/// The routers on the two sides of the observer.
const ROUTERS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

/// Why headers can be written.
const FITS: &str = "a segment fits into a packet";

/// Replaces `out` by the frame of a packet between client and server, of which at most `snaplen` bytes are kept, and
/// returns its whole length.
pub(crate) fn write(packet: &Packet, hosts: [&Host; 2], vlan: Option<u16>, snaplen: usize, out: &mut Vec<u8>) -> u32 {
    let mut headers = [0; LONGEST_HEADERS];
    let (len, payload) = match packet.undelivered {
        false => (segment_headers(packet, hosts, vlan, &mut headers), packet.segment.len),
        true => (undelivered(packet, hosts, vlan, &mut headers), 0),
    };
    out.clear();
    out.extend_from_slice(&headers[..len]);
    // The payload is zeros, and so is what fills the frame up.
    let whole = (len as u32 + payload).max(LEAST_FRAME);
    out.resize(snaplen.min(whole as usize), 0);
    whole
}

/// Writes the headers of a segment, and returns their length.
fn segment_headers(packet: &Packet, hosts: [&Host; 2], vlan: Option<u16>, out: &mut [u8]) -> usize {
    let [source, destination] = [packet.from, packet.from.peer()].map(|side| hosts[side.index()]);
    let segment = on_the_wire(&packet.segment, source, destination);
    let options = tcp_options(&segment, WINDOW_SCALE);
    let tcp = tcp_header(&segment, source.port, destination.port, WINDOW_SCALE, &options);
    let ip = (packet.ip_id, source.ttl, protocol::TCP, tcp.header_len() as u32 + tcp.payload_len);
    let (len, pseudo_header) = link_and_ip(packet.from, hosts, vlan, ip, out);
    len + tcp.emit(&pseudo_header, &mut out[len..]).expect(FITS)
}

/// Writes the ICMP message "destination unreachable" of a router before the server about a segment of the client, and
/// returns the length of its frame.
fn undelivered(packet: &Packet, hosts: [&Host; 2], vlan: Option<u16>, out: &mut [u8]) -> usize {
    let mut sent = [0; LONGEST_HEADERS];
    segment_headers(&Packet { from: CLIENT, ip_id: 0, ..*packet }, hosts, None, &mut sent);
    let (header, number) = match hosts[0].address {
        IpAddr::V4(_) => (20, protocol::ICMP),
        IpAddr::V6(_) => (40, protocol::ICMPV6),
    };
    let quoted = &sent[EthernetHeader::UNTAGGED_LEN..][..header + QUOTED];
    let message = Unreachable { code: HOST_UNREACHABLE, quoted };
    let ip = (0, ROUTER_TTL, number, message.message_len() as u32);
    let (len, pseudo_header) = link_and_ip(SERVER, hosts, vlan, ip, out);
    let written = match hosts[0].address {
        IpAddr::V4(_) => message.emit_v4(&mut out[len..]),
        IpAddr::V6(_) => message.emit_v6(&pseudo_header, &mut out[len..]),
    };
    len + written.expect(FITS)
}

/// Writes the headers of link and IP of a packet with this identification, time to live, protocol and payload length, and
/// returns their length and what they give to the checksum behind them.
fn link_and_ip(
    from: Side,
    hosts: [&Host; 2],
    vlan: Option<u16>,
    (id, ttl, protocol, payload_len): (u16, u8, u8, u32),
    out: &mut [u8],
) -> (usize, PseudoHeader) {
    let (from, to) = (from.index(), from.peer().index());
    let tag = vlan.map(|control| VlanTag { service: false, control });
    let link = |ether_type, out: &mut [u8]| {
        let ethernet = EthernetHeader { dst: ROUTERS[to], src: ROUTERS[from], tags: tag.as_slice(), ether_type };
        ethernet.emit(out).expect(FITS)
    };
    match (hosts[from].address, hosts[to].address) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let len = link(EthernetHeader::IPV4, out);
            let ip = Ipv4Header { id, ttl, ..Ipv4Header::new(src, dst, protocol, payload_len) };
            (len + ip.emit(&mut out[len..]).expect(FITS), ip.pseudo_header())
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let len = link(EthernetHeader::IPV6, out);
            let ip = Ipv6Header { hop_limit: ttl, ..Ipv6Header::new(src, dst, protocol, payload_len) };
            (len + ip.emit(&mut out[len..]).expect(FITS), ip.pseudo_header())
        }
        _ => unreachable!("both ends have addresses of one family"),
    }
}

/// The segment as it leaves `source`: with the clocks of the two hosts in its timestamps, and an MSS that leaves room
/// for the options of a data segment (RFC 6691).
fn on_the_wire(segment: &Segment, source: &Host, destination: &Host) -> Segment {
    let answers = segment.flags.contains(Flags::ACK);
    let echo = segment.ts_ecr.wrapping_add(destination.clock);
    Segment {
        mss: segment.mss + TIMESTAMPS,
        ts_val: segment.ts_val.wrapping_add(source.clock),
        ts_ecr: if answers { echo } else { 0 },
        ..*segment
    }
}
