//! Encoding of frames.

use crate::path::Host;
use etherparse::{
    EtherType, Ethernet2Header, IpNumber, Ipv4Header, Ipv6Header, SingleVlanHeader, TcpHeader,
    TcpOptionElement, VlanId,
};
use gentle_tcp::{Flags, Options, Segment};
use std::net::IpAddr;

/// Window scale announced in every SYN: Linux's for its default buffers.
const WINDOW_SCALE: u8 = 7;

/// Length of the timestamps option with its padding, bytes.
const TIMESTAMPS: u16 = 12;

/// Smallest Ethernet frame without frame check sequence, bytes.
const LEAST_FRAME: usize = 60;

/// Payload of all segments.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// Addresses of the routers on the two sides of the vantage point.
const ROUTERS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

/// Replaces `out` by at most `snaplen` bytes of a frame with `segment`, and returns the whole length of the frame.
pub(crate) fn write(
    segment: &Segment,
    ip_id: u16,
    hosts: &[Host; 2],
    from_server: bool,
    vlan: Option<VlanId>,
    snaplen: usize,
    out: &mut Vec<u8>,
) -> u32 {
    let side = usize::from(from_server);
    let (source, destination) = (&hosts[side], &hosts[1 - side]);
    let mut tcp = tcp_header(segment, source, destination);
    let payload = &ZEROS[..segment.len as usize];
    let tcp_bytes = (tcp.header_len() + payload.len()) as u16;
    out.clear();
    link_header(side, hosts, vlan, out);
    match (source.address, destination.address) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let (from, to) = (from.octets(), to.octets());
            let mut ip = Ipv4Header::new(tcp_bytes, source.ttl, IpNumber::TCP, from, to)
                .expect("a segment fits into a packet");
            ip.identification = ip_id;
            ip.dont_fragment = true;
            ip.header_checksum = ip.calc_header_checksum();
            tcp.checksum = tcp
                .calc_checksum_ipv4(&ip, payload)
                .expect("a segment fits into a packet");
            out.extend_from_slice(&ip.to_bytes());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let ip = Ipv6Header {
                payload_length: tcp_bytes,
                next_header: IpNumber::TCP,
                hop_limit: source.ttl,
                source: from.octets(),
                destination: to.octets(),
                ..Ipv6Header::default()
            };
            tcp.checksum = tcp
                .calc_checksum_ipv6(&ip, payload)
                .expect("a segment fits into a packet");
            out.extend_from_slice(&ip.to_bytes());
        }
        _ => unreachable!("both ends have addresses of one family"),
    }
    out.extend_from_slice(&tcp.to_bytes());
    let whole = (out.len() + payload.len()).max(LEAST_FRAME);
    out.resize(whole.min(snaplen), 0);
    whole as u32
}

/// Replaces `out` by at most `snaplen` bytes of a frame with an ICMP message "destination unreachable" about `segment` of the
/// client, sent by a router before the server, and returns the whole length of the frame.
pub(crate) fn write_undelivered(
    segment: &Segment,
    hosts: &[Host; 2],
    vlan: Option<VlanId>,
    snaplen: usize,
    out: &mut Vec<u8>,
) -> u32 {
    write(segment, 0, hosts, false, None, usize::from(u16::MAX), out);
    let header = match hosts[0].address {
        IpAddr::V4(_) => Ipv4Header::MIN_LEN,
        IpAddr::V6(_) => Ipv6Header::LEN,
    };
    let quoted = &out[Ethernet2Header::LEN..][..header + 8];
    let (number, kind) = match hosts[0].address {
        IpAddr::V4(_) => (IpNumber::ICMP, 3),
        IpAddr::V6(_) => (IpNumber::IPV6_ICMP, 1),
    };
    // Code 1 is "host unreachable" in ICMP, but "prohibited" in ICMPv6.
    let message = [&[kind, 1, 0, 0, 0, 0, 0, 0], quoted].concat();
    let ip = match (hosts[1].address, hosts[0].address) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut ip =
                Ipv4Header::new(message.len() as u16, 60, number, from.octets(), to.octets())
                    .expect("the message fits into a packet");
            ip.header_checksum = ip.calc_header_checksum();
            ip.to_bytes().to_vec()
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => Ipv6Header {
            payload_length: message.len() as u16,
            next_header: number,
            hop_limit: 60,
            source: from.octets(),
            destination: to.octets(),
            ..Ipv6Header::default()
        }
        .to_bytes()
        .to_vec(),
        _ => unreachable!("both ends have addresses of one family"),
    };
    out.clear();
    link_header(1, hosts, vlan, out);
    out.extend(ip);
    out.extend(message);
    let whole = out.len();
    out.truncate(snaplen);
    whole as u32
}

/// Appends the headers before the IP header.
fn link_header(side: usize, hosts: &[Host; 2], vlan: Option<VlanId>, out: &mut Vec<u8>) {
    let ether_type = match hosts[side].address {
        IpAddr::V4(_) => EtherType::IPV4,
        IpAddr::V6(_) => EtherType::IPV6,
    };
    let ethernet = Ethernet2Header {
        source: ROUTERS[side],
        destination: ROUTERS[1 - side],
        ether_type: vlan.map_or(ether_type, |_| EtherType::VLAN_TAGGED_FRAME),
    };
    out.extend_from_slice(&ethernet.to_bytes());
    if let Some(vlan_id) = vlan {
        let tag = SingleVlanHeader {
            vlan_id,
            ether_type,
            ..SingleVlanHeader::default()
        };
        out.extend_from_slice(&tag.to_bytes());
    }
}

fn tcp_header(segment: &Segment, source: &Host, destination: &Host) -> TcpHeader {
    let has = |flag| segment.flags.contains(flag);
    let scale = if has(Flags::SYN) { 0 } else { WINDOW_SCALE };
    let window = (segment.window >> scale).min(u32::from(u16::MAX)) as u16;
    let mut tcp = TcpHeader::new(source.port, destination.port, segment.seq.0, window);
    tcp.syn = has(Flags::SYN);
    tcp.ack = has(Flags::ACK);
    tcp.fin = has(Flags::FIN);
    tcp.rst = has(Flags::RST);
    tcp.psh = has(Flags::PSH);
    if tcp.ack {
        tcp.acknowledgment_number = segment.ack.0;
    }
    tcp.set_options(&options(segment, source, destination))
        .expect("at most 40 bytes of options");
    tcp
}

/// TCP options in the order and with the padding that Linux uses (`tcp_options_write`).
fn options(segment: &Segment, source: &Host, destination: &Host) -> Vec<TcpOptionElement> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
        Timestamp, WindowScale,
    };
    let answers = segment.flags.contains(Flags::ACK);
    let echo = segment.ts_ecr.wrapping_add(destination.clock);
    let stamp = Timestamp(
        segment.ts_val.wrapping_add(source.clock),
        if answers { echo } else { 0 },
    );
    let mut list = Vec::new();
    if segment.flags.contains(Flags::SYN) {
        // The announced MSS includes the room for the options of a data segment (RFC 6691).
        list.push(MaximumSegmentSize(segment.mss + TIMESTAMPS));
        list.push(SelectiveAcknowledgementPermitted);
        if segment.options.contains(Options::TIMESTAMPS) {
            list.push(stamp);
        } else {
            list.extend([Noop, Noop]);
        }
        list.extend([Noop, WindowScale(WINDOW_SCALE)]);
        return list;
    }
    if segment.options.contains(Options::TIMESTAMPS) {
        list.extend([Noop, Noop, stamp]);
    }
    if let Some((first, rest)) = segment.sack_blocks().split_first() {
        let mut others = [None; 3];
        for (other, (left, right)) in others.iter_mut().zip(rest) {
            *other = Some((left.0, right.0));
        }
        let first = (first.0.0, first.1.0);
        list.extend([Noop, Noop, SelectiveAcknowledgement(first, others)]);
    }
    list
}
