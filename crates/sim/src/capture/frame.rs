//! The bytes of a simulated packet's headers.

use crate::engine::Packet;
use etherparse::{
    EtherType, Ethernet2Header, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader,
};
use gentle_experiment::{Direction, IP_HEADER};
use gentle_tcp::{Flags, Options, Segment};

pub(super) const ETHERNET_HEADER: u32 = Ethernet2Header::LEN as u32;

/// Window scale that every simulated SYN announces: windows of up to 16 MB are shown to within 256 bytes.
const WINDOW_SCALE: u8 = 8;

/// RFC 863.
const DISCARD: u16 = 9;

const TTL: u8 = 64;

/// 10.3.0.0/16: addresses that no host has.
const FLOOD_NET: u8 = 3;

const PORTS: u32 = 60_000;
const FIRST_PORT: u32 = 1_024;

/// The longest IPv4 packet. A scenario may ask for longer segments; what is shown of them is this long.
pub(super) const LONGEST_IP_PACKET: u32 = u16::MAX as u32;

/// What every payload consists of.
static ZEROS: [u8; LONGEST_IP_PACKET as usize] = [0; LONGEST_IP_PACKET as usize];

/// Replaces `out` by the Ethernet, IP and TCP or UDP headers of `packet`, whose IP packet is `ip_bytes`
/// long, at most [`LONGEST_IP_PACKET`].
pub(super) fn write(packet: &Packet, ip_bytes: u32, out: &mut Vec<u8>) {
    out.clear();
    let host = packet.serial / PORTS;
    let left = [10, 1, (host >> 8) as u8, host as u8];
    let right = [10, 2, 0, 1];
    let left_port = (FIRST_PORT + packet.serial % PORTS) as u16;
    let (source, destination, source_port, destination_port) = match packet.direction {
        _ if packet.is_of_flood() => {
            let source = [10, FLOOD_NET, (host >> 8) as u8, host as u8];
            (source, right, left_port, DISCARD)
        }
        Direction::Down => (left, right, left_port, DISCARD),
        Direction::Up => (right, left, DISCARD, left_port),
    };
    let payload_len = (ip_bytes - IP_HEADER) as u16;
    let protocol = if packet.is_udp() {
        IpNumber::UDP
    } else {
        IpNumber::TCP
    };
    let mut ip = Ipv4Header::new(payload_len, TTL, protocol, source, destination)
        .expect("the length was cut to what fits");
    ip.ecn = if packet.congestion_experienced() {
        IpEcn::THREE
    } else if packet.segment.ect {
        IpEcn::TWO
    } else {
        IpEcn::ZERO
    };
    ip.header_checksum = ip.calc_header_checksum();
    let ethernet = Ethernet2Header {
        source: mac(source),
        destination: mac(destination),
        ether_type: EtherType::IPV4,
    };
    out.extend_from_slice(&ethernet.to_bytes());
    out.extend_from_slice(&ip.to_bytes());
    if packet.is_udp() {
        let udp = UdpHeader {
            source_port,
            destination_port,
            length: payload_len,
            // "None": legal over IPv4 (RFC 768).
            checksum: 0,
        };
        out.extend_from_slice(&udp.to_bytes());
    } else {
        let header = match packet.is_of_flood() {
            true => header_without_options,
            false => tcp_header,
        };
        let mut tcp = header(&packet.segment, source_port, destination_port);
        let payload = usize::from(payload_len) - tcp.header_len();
        tcp.checksum = tcp
            .calc_checksum_ipv4(&ip, &ZEROS[..payload])
            .expect("the length was cut to what fits");
        out.extend_from_slice(&tcp.to_bytes());
    }
}

/// A locally administered address made of the IP address.
fn mac(ip: [u8; 4]) -> [u8; 6] {
    [2, 0, ip[0], ip[1], ip[2], ip[3]]
}

fn tcp_header(segment: &Segment, source_port: u16, destination_port: u16) -> TcpHeader {
    let mut tcp = header_without_options(segment, source_port, destination_port);
    tcp.set_options(&options(segment))
        .expect("at most 40 bytes of options");
    tcp
}

fn header_without_options(segment: &Segment, source_port: u16, destination_port: u16) -> TcpHeader {
    let has = |flag| segment.flags.contains(flag);
    let scale = if has(Flags::SYN) { 0 } else { WINDOW_SCALE };
    let window = (segment.window >> scale).min(u32::from(u16::MAX)) as u16;
    let mut tcp = TcpHeader::new(source_port, destination_port, segment.seq.0, window);
    tcp.syn = has(Flags::SYN);
    tcp.ack = has(Flags::ACK);
    tcp.fin = has(Flags::FIN);
    tcp.rst = has(Flags::RST);
    tcp.psh = has(Flags::PSH);
    tcp.ece = has(Flags::ECE);
    tcp.cwr = has(Flags::CWR);
    if tcp.ack {
        tcp.acknowledgment_number = segment.ack.0;
    }
    tcp
}

/// In the order and with the padding that Linux uses (`tcp_options_write`).
fn options(segment: &Segment) -> Vec<TcpOptionElement> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
        Timestamp, WindowScale,
    };
    let timestamps = segment.options.contains(Options::TIMESTAMPS);
    let stamp = Timestamp(segment.ts_val, segment.ts_ecr);
    let mut list = Vec::new();
    if segment.flags.contains(Flags::SYN) {
        list.push(MaximumSegmentSize(segment.mss));
        let sack = segment.options.contains(Options::SACK_PERMITTED);
        match (sack, timestamps) {
            (true, true) => list.extend([SelectiveAcknowledgementPermitted, stamp]),
            (true, false) => list.extend([Noop, Noop, SelectiveAcknowledgementPermitted]),
            (false, true) => list.extend([Noop, Noop, stamp]),
            (false, false) => {}
        }
        list.extend([Noop, WindowScale(WINDOW_SCALE)]);
        return list;
    }
    if timestamps {
        list.extend([Noop, Noop, stamp]);
    }
    if let Some((first, rest)) = segment.sack_blocks().split_first() {
        let pair = |block: &(gentle_tcp::Seq, gentle_tcp::Seq)| (block.0.0, block.1.0);
        let mut others = [None; 3];
        for (other, block) in others.iter_mut().zip(rest) {
            *other = Some(pair(block));
        }
        list.extend([Noop, Noop, SelectiveAcknowledgement(pair(first), others)]);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::packet::Path;
    use gentle_tcp::Seq;
    use gentle_units::Nanos;

    /// What the simulator charges the link for a header is what the header takes.
    #[test]
    fn headers_are_as_long_as_the_simulator_says() {
        for flags in [Flags::SYN, Flags::SYN | Flags::ACK, Flags::ACK] {
            for options in 0..4 {
                for blocks in 0..=3 {
                    let mut segment = Segment::new(Seq(1), flags);
                    if options & 1 != 0 {
                        segment.options |= Options::TIMESTAMPS;
                    }
                    if options & 2 != 0 && flags.contains(Flags::SYN) {
                        segment.options |= Options::SACK_PERMITTED;
                    }
                    if !flags.contains(Flags::SYN) {
                        segment.sack_count = blocks;
                    }
                    let header = tcp_header(&segment, 1, 2);
                    assert_eq!(
                        header.header_len() as u32,
                        segment.header_bytes(),
                        "{segment:?}"
                    );
                }
            }
        }
    }

    /// A scenario may set an MSS that leaves no room for options; the frame shows as much as IPv4 can carry.
    #[test]
    fn a_segment_too_long_for_ip_is_cut() {
        let mut segment = Segment::new(Seq(u32::MAX), Flags::ACK);
        segment.len = 65_495;
        segment.options |= Options::TIMESTAMPS;
        segment.sack_count = 3;
        let path = Path {
            place: 0,
            serial: 0,
            host: 0,
            extra_delay: Nanos::ZERO,
        };
        let packet = Packet::tcp(&segment, &path, Direction::Down, 0);
        let mut frame = Vec::new();
        write(&packet, LONGEST_IP_PACKET, &mut frame);
        let length = frame.len() as u32;
        assert_eq!(length, ETHERNET_HEADER + IP_HEADER + segment.header_bytes());
        let total_length = [frame[16], frame[17]];
        assert_eq!(
            u32::from(u16::from_be_bytes(total_length)),
            LONGEST_IP_PACKET
        );
    }
}
