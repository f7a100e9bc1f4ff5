//! The bytes of a frame.

use super::path::Host;
use gentle_tcp::{Flags, Options, Segment};
use gentle_wire::{
    EthernetHeader, Ipv4Header, Ipv6Header, PseudoHeader, Tcp, TcpFlags, TcpOption, TcpOptions,
    Unreachable, VlanTag, protocol,
};
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
    let options = options(segment, &hosts[side], &hosts[1 - side]);
    let tcp = tcp(segment, &hosts[side], &hosts[1 - side], &options);
    let mut headers = [0; LONGEST_HEADERS];
    let mut len = link_header(side, hosts, vlan, &mut headers);
    let ip_payload = tcp.header_len() as u32 + tcp.payload_len;
    let ip = (ip_id, hosts[side].ttl, protocol::TCP, ip_payload);
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

/// Replaces `out` by a frame with the ICMP message "destination unreachable" of a router before the server about `segment` of the
/// client, of which at most `snaplen` bytes are kept, and returns its whole length.
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
    let message = Unreachable {
        code: HOST_UNREACHABLE,
        quoted: &out[EthernetHeader::UNTAGGED_LEN..][..header + QUOTED],
    };
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
    let tag = vlan.map(|control| VlanTag {
        service: false,
        control,
    });
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

/// Writes the IP header of a packet with this identification, time to live, protocol and payload length, and returns its length
/// and what it gives to the checksum behind it.
fn ip_header(
    side: usize,
    hosts: &[Host; 2],
    (id, ttl, protocol, payload_len): (u16, u8, u8, u32),
    out: &mut [u8],
) -> (usize, PseudoHeader) {
    let (len, pseudo_header) = match (hosts[side].address, hosts[1 - side].address) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let ip = Ipv4Header {
                id,
                ttl,
                ..Ipv4Header::new(src, dst, protocol, payload_len)
            };
            (ip.emit(out), ip.pseudo_header())
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let ip = Ipv6Header {
                hop_limit: ttl,
                ..Ipv6Header::new(src, dst, protocol, payload_len)
            };
            (ip.emit(out), ip.pseudo_header())
        }
        _ => unreachable!("both ends have addresses of one family"),
    };
    (len.expect(FITS), pseudo_header)
}

fn tcp<'a>(
    segment: &Segment,
    source: &Host,
    destination: &Host,
    options: &'a TcpOptions,
) -> Tcp<'a> {
    const FLAGS: [(Flags, TcpFlags); 5] = [
        (Flags::SYN, TcpFlags::SYN),
        (Flags::ACK, TcpFlags::ACK),
        (Flags::FIN, TcpFlags::FIN),
        (Flags::RST, TcpFlags::RST),
        (Flags::PSH, TcpFlags::PSH),
    ];
    let has = |flag| segment.flags.contains(flag);
    let mut flags = TcpFlags::default();
    for (flag, bit) in FLAGS {
        if has(flag) {
            flags |= bit;
        }
    }
    let scale = if has(Flags::SYN) { 0 } else { WINDOW_SCALE };
    Tcp {
        src_port: source.port,
        dst_port: destination.port,
        seq: segment.seq.0,
        ack: if has(Flags::ACK) { segment.ack.0 } else { 0 },
        flags,
        window: (segment.window >> scale).min(u32::from(u16::MAX)) as u16,
        payload_len: segment.len,
        options: options.as_bytes(),
        payload: &[],
    }
}

/// In the order and with the padding that Linux uses (`tcp_options_write`).
fn options(segment: &Segment, source: &Host, destination: &Host) -> TcpOptions {
    use TcpOption::{Mss, NoOperation, Sack, SackPermitted, Timestamps, WindowScale};
    let mut options = TcpOptions::NONE;
    let mut push = |list: &[TcpOption<'_>]| {
        for option in list {
            options.push(*option).expect("at most 40 bytes of options");
        }
    };
    let answers = segment.flags.contains(Flags::ACK);
    let echo = segment.ts_ecr.wrapping_add(destination.clock);
    let stamp = Timestamps(
        segment.ts_val.wrapping_add(source.clock),
        if answers { echo } else { 0 },
    );
    let timestamps = segment.options.contains(Options::TIMESTAMPS);
    if segment.flags.contains(Flags::SYN) {
        // What is announced leaves room for the options of a data segment (RFC 6691).
        push(&[Mss(segment.mss + TIMESTAMPS), SackPermitted]);
        match timestamps {
            true => push(&[stamp]),
            false => push(&[NoOperation, NoOperation]),
        }
        push(&[NoOperation, WindowScale(WINDOW_SCALE)]);
        return options;
    }
    if timestamps {
        push(&[NoOperation, NoOperation, stamp]);
    }
    let blocks = segment.sack_blocks();
    if !blocks.is_empty() {
        let mut edges = [(0, 0); 4];
        for (edges, (left, right)) in edges.iter_mut().zip(blocks) {
            *edges = (left.0, right.0);
        }
        push(&[NoOperation, NoOperation, Sack(&edges[..blocks.len()])]);
    }
    options
}
