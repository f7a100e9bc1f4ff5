//! Frames as bytes.

use super::path::Host;
use gentle_sim::{tcp_header, tcp_options};
use gentle_tcp::{Flags, Segment};
use gentle_wire::{EthernetHeader, Ipv4Header, Ipv6Header, PseudoHeader, Unreachable, VlanTag, protocol};
use std::net::IpAddr;

/// Window scale that every SYN announces, as Linux does for its default buffers.
const WINDOW_SCALE: u8 = 7;

/// Bytes of the timestamps option with its padding.
const TIMESTAMPS: u16 = 12;

/// The least frame on Ethernet, without the check sequence.
const LEAST_FRAME: usize = 60;

/// The longest headers: Ethernet with a tag, IPv6, TCP with 40 bytes of options.
const LONGEST_HEADERS: usize = 18 + 40 + 60;

/// Bytes of a TCP header that an ICMP message quotes at least (RFC 792): ports and sequence number.
const QUOTED: usize = 8;

/// The code of ICMP for a host that is unreachable; in ICMPv6 it says "prohibited".
const HOST_UNREACHABLE: u8 = 1;

/// The routers on the two sides of the vantage point.
const ROUTERS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

/// Why headers can be written.
const FITS: &str = "a segment fits into a packet";

/// Replaces `out` by a frame with `segment`, of which at most `snaplen` bytes are kept, and returns its whole length.
pub(crate) fn write(
    segment: &Segment,
    ip_id: u16,
    hosts: &[Host; 2],
    from_server: bool,
    vlan: Option<u16>,
    snaplen: usize,
    out: &mut Vec<u8>,
) -> u32 {
    let side = usize::from(from_server);
    let (source, destination) = (&hosts[side], &hosts[1 - side]);
    let segment = on_the_wire(segment, source, destination);
    let options = tcp_options(&segment, WINDOW_SCALE);
    let ports = (source.port, destination.port);
    let tcp = tcp_header(&segment, ports.0, ports.1, WINDOW_SCALE, &options);
    let mut headers = [0; LONGEST_HEADERS];
    let mut len = link_header(side, hosts, vlan, &mut headers);
    let ip_payload = tcp.header_len() as u32 + tcp.payload_len;
    let ip = (ip_id, source.ttl, protocol::TCP, ip_payload);
    let (ip_header, pseudo_header) = ip_header(side, hosts, ip, &mut headers[len..]);
    len += ip_header;
    len += tcp.emit(&pseudo_header, &mut headers[len..]).expect(FITS);
    out.clear();
    out.extend_from_slice(&headers[..len]);
    // The payload is zeros, and so is what fills the frame up.
    let whole = (len + segment.len as usize).max(LEAST_FRAME);
    out.resize(whole.min(snaplen), 0);
    whole as u32
}

/// Replaces `out` by a frame with the ICMP message "destination unreachable" of a router before the server about
/// `segment` of the client, of which at most `snaplen` bytes are kept, and returns its whole length.
pub(crate) fn write_undelivered(
    segment: &Segment,
    hosts: &[Host; 2],
    vlan: Option<u16>,
    snaplen: usize,
    out: &mut Vec<u8>,
) -> u32 {
    write(segment, 0, hosts, false, None, usize::from(u16::MAX), out);
    let (header, number) = match hosts[0].address {
        IpAddr::V4(_) => (20, protocol::ICMP),
        IpAddr::V6(_) => (40, protocol::ICMPV6),
    };
    let message =
        Unreachable { code: HOST_UNREACHABLE, quoted: &out[EthernetHeader::UNTAGGED_LEN..][..header + QUOTED] };
    let mut frame = [0; LONGEST_HEADERS];
    let mut whole = link_header(1, hosts, vlan, &mut frame);
    let ip = (0, 60, number, message.message_len() as u32);
    let (ip_header, pseudo_header) = ip_header(1, hosts, ip, &mut frame[whole..]);
    whole += ip_header;
    let written = match hosts[0].address {
        IpAddr::V4(_) => message.emit_v4(&mut frame[whole..]),
        IpAddr::V6(_) => message.emit_v6(&pseudo_header, &mut frame[whole..]),
    };
    whole += written.expect(FITS);
    out.clear();
    out.extend_from_slice(&frame[..whole.min(snaplen)]);
    whole as u32
}

/// Writes the headers before the IP header, and returns their length.
fn link_header(side: usize, hosts: &[Host; 2], vlan: Option<u16>, out: &mut [u8]) -> usize {
    let tag = vlan.map(|control| VlanTag { service: false, control });
    let ethernet = EthernetHeader {
        dst: ROUTERS[1 - side],
        src: ROUTERS[side],
        tags: tag.as_slice(),
        ether_type: match hosts[side].address {
            IpAddr::V4(_) => EthernetHeader::IPV4,
            IpAddr::V6(_) => EthernetHeader::IPV6,
        },
    };
    ethernet.emit(out).expect(FITS)
}

/// Writes the IP header of a packet with this identification, time to live, protocol and payload length, and returns
/// its length and what it gives to the checksum behind it.
fn ip_header(
    side: usize,
    hosts: &[Host; 2],
    (id, ttl, protocol, payload_len): (u16, u8, u8, u32),
    out: &mut [u8],
) -> (usize, PseudoHeader) {
    let (len, pseudo_header) = match (hosts[side].address, hosts[1 - side].address) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let ip = Ipv4Header { id, ttl, ..Ipv4Header::new(src, dst, protocol, payload_len) };
            (ip.emit(out), ip.pseudo_header())
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let ip = Ipv6Header { hop_limit: ttl, ..Ipv6Header::new(src, dst, protocol, payload_len) };
            (ip.emit(out), ip.pseudo_header())
        }
        _ => unreachable!("both ends have addresses of one family"),
    };
    (len.expect(FITS), pseudo_header)
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
