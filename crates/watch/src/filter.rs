//! Filter program that the kernel runs on every packet, so that only handshakes, the ends of connections and a sample
//! of the rest reach user space. It is for packets that begin at their IP header (`Layer::Network`).
//!
//! The filter accepts:
//!
//! - TCP segments with SYN, FIN or RST: all, or under pressure those of the connections in a sample;
//! - the other TCP segments of the connections in a smaller sample;
//! - ICMP errors;
//! - UDP datagrams from or to port 53, for names of hosts.
//!
//! It rejects fragments without transport header, and IPv6 packets with extension headers, after which TCP does not
//! occur in practice.

use gentle_packets::bpf::opcode::{
    ABS, ALU, B, H, IND, JGE, JMP, K, LD, LDX, MEM, MISC, MUL, RET, RSH, ST, TAX, W, X, XOR,
};
use gentle_packets::bpf::{Assembler, Instruction, Label, TRANSPORT, Transport, skip_headers};
use gentle_wire::{Address, LinkType, TcpFlags};
use std::ops::Range;

/// Largest sample parameter: 1 in 65,536 connections.
pub(crate) const MAX_SAMPLE: u8 = 16;

/// Accepted length of a TCP segment or ICMP error: an IPv4 header with all its options, and a TCP header with all its
/// options or an ICMP error with a quoted header of that size; bytes.
const HEAD: u32 = 192;
/// Accepted length of a datagram with names, bytes: all of it on Ethernet.
const NAMES: u32 = 1_500;

/// Port of DNS (RFC 1035, 4.2).
const DNS: u32 = 53;

/// Multiplier of the hash: 2^32 divided by the golden ratio, rounded to an odd number. Numbers that differ little, such
/// as successive ports, then have products whose upper bits are spread evenly (Knuth, The Art of Computer Programming,
/// volume 3, 6.4).
const SPREAD: u32 = 0x9e37_79b1;

/// Memory cells of the program.
const ADDRESSES: u32 = 4;
const PORT: u32 = 5;

/// Offsets of the addresses in the IP header, bytes: RFC 791, 3.1; RFC 8200, 3.
const ADDRESSES_V4: Range<u32> = 12..20;
const ADDRESSES_V6: Range<u32> = 8..40;

/// Sizes of the samples: 1 in 2^n connections, n up to [`MAX_SAMPLE`]. A connection in a sample is in all larger samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Samples {
    /// Connections of which segments with SYN, FIN and RST are accepted.
    pub(crate) handshakes: u8,
    /// Connections of which all other segments are accepted too; not less than `handshakes`.
    pub(crate) data: u8,
}

/// Filter with these samples.
pub(crate) fn program(samples: Samples) -> Vec<Instruction> {
    debug_assert!(samples.handshakes <= samples.data && samples.data <= MAX_SAMPLE);
    let mut p = Assembler::default();
    let [tcp, udp, handshake, accept, accept_names, reject] = p.labels();
    // Connections of a sample have zeros in the upper bits of their hash.
    let limit = |sample: u8| 1 << (32 - u32::from(sample));
    skip_headers(&mut p, LinkType::RAW, &Transport { tcp, udp: Some(udp), icmp_error: accept, reject });
    p.at(udp).op(LD | H | IND, 0).is(DNS, accept_names, Label::NEXT);
    p.op(LD | H | IND, 2).is(DNS, accept_names, reject);
    p.at(tcp);
    if samples.data > 0 {
        let marks = TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST;
        p.op(LD | B | IND, 13).has(marks.0.into(), handshake, Label::NEXT);
        hash(&mut p);
        p.jump(JMP | JGE | K, limit(samples.data), reject, accept);
        p.at(handshake);
        if samples.handshakes > 0 {
            hash(&mut p);
            p.jump(JMP | JGE | K, limit(samples.handshakes), reject, accept);
        }
    }
    p.at(accept).op(RET | K, HEAD);
    p.at(accept_names).op(RET | K, NAMES);
    p.at(reject).op(RET | K, 0);
    p.finish()
}

/// Whether the connection between these addresses and ports is in the sample.
pub(crate) fn is_sampled(addresses: [Address; 2], ports: [u16; 2], sample: u8) -> bool {
    let words = |address: Address| {
        // IPv4 addresses have their four bytes at the end.
        let bytes = if address.is_v4() { &address.0[12..] } else { &address.0[..] };
        let words = bytes.chunks_exact(4).map(|word| word.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)));
        words.fold(0, |sum: u32, word| sum ^ word)
    };
    let ports = u32::from(ports[0] ^ ports[1]);
    let hash = (words(addresses[0]) ^ words(addresses[1]) ^ ports).wrapping_mul(SPREAD);
    hash.leading_zeros() >= u32::from(sample)
}

/// Leaves the hash of the connection in A, which is the same for both directions: the XOR of all words of the addresses
/// and of both ports, multiplied by [`SPREAD`].
fn hash(p: &mut Assembler) {
    let [v4, v6, ports] = p.labels();
    p.op(LD | B | ABS, 0).op(ALU | RSH | K, 4).is(4, v4, v6);
    p.at(v4);
    xor_words(p, ADDRESSES_V4);
    p.goto(ports);
    p.at(v6);
    xor_words(p, ADDRESSES_V6);
    p.at(ports).op(ST, ADDRESSES).op(LDX | MEM, TRANSPORT);
    p.op(LD | H | IND, 0).op(ST, PORT);
    p.op(LD | H | IND, 2).op(LDX | MEM, PORT).op(ALU | XOR | X, 0);
    p.op(LDX | MEM, ADDRESSES).op(ALU | XOR | X, 0);
    p.op(ALU | MUL | K, SPREAD);
}

/// Leaves the XOR of the 32-bit words at these offsets in A.
fn xor_words(p: &mut Assembler, offsets: Range<u32>) {
    p.op(LD | W | ABS, offsets.start);
    for offset in offsets.skip(4).step_by(4) {
        p.op(MISC | TAX, 0).op(LD | W | ABS, offset).op(ALU | XOR | X, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_packets::interpreter::run;
    use gentle_packets::{Device, Host, Layer, PacketSocket};
    use gentle_wire::{Ipv4Header, Ipv6Header, Tcp, Tunnels, Udp, dissect, protocol};
    use proptest::prelude::*;
    use std::io::{Read, Write};
    use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
    use std::time::{Duration, Instant};

    const ALWAYS: TcpFlags = TcpFlags(0x07);

    /// Addresses of one version and ports.
    #[derive(Debug, Clone, Copy)]
    struct Ends {
        addresses: (IpAddr, IpAddr),
        ports: (u16, u16),
    }

    impl Ends {
        fn reversed(self) -> Ends {
            let ((a, b), (c, d)) = (self.addresses, self.ports);
            Ends { addresses: (b, a), ports: (d, c) }
        }
    }

    fn ends() -> impl Strategy<Value = Ends> {
        let v4 = any::<([u8; 4], [u8; 4])>().prop_map(|(a, b)| (IpAddr::from(a), IpAddr::from(b)));
        let v6 = any::<([u8; 16], [u8; 16])>().prop_map(|(a, b)| (IpAddr::from(a), IpAddr::from(b)));
        (prop_oneof![v4, v6], any::<(u16, u16)>()).prop_map(|(addresses, ports)| Ends { addresses, ports })
    }

    fn samples() -> impl Strategy<Value = Samples> {
        (0..=MAX_SAMPLE, 0..=MAX_SAMPLE).prop_map(|(a, b)| Samples { handshakes: a.min(b), data: a.max(b) })
    }

    /// IP header, with `options` bytes of options in IPv4, and the payload that `emit` writes.
    fn ip(
        addresses: (IpAddr, IpAddr),
        options: usize,
        protocol: u8,
        len: usize,
        emit: impl FnOnce(&gentle_wire::PseudoHeader, &mut [u8]) -> usize,
    ) -> Vec<u8> {
        let mut packet = vec![0; 100 + len];
        let (header, sum) = match addresses {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let header = Ipv4Header::new(src, dst, protocol, len as u32);
                let header = Ipv4Header { options: &[0; 40][..options], ..header };
                (header.emit(&mut packet), header.pseudo_header())
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let header = Ipv6Header::new(src, dst, protocol, len as u32);
                (header.emit(&mut packet), header.pseudo_header())
            }
            other => panic!("{other:?}"),
        };
        let header = header.expect("a header");
        let payload = emit(&sum, &mut packet[header..]);
        packet.truncate(header + payload);
        packet
    }

    fn tcp(ends: Ends, options: usize, flags: TcpFlags, data: usize) -> Vec<u8> {
        let tcp = Tcp {
            src_port: ends.ports.0,
            dst_port: ends.ports.1,
            seq: 1,
            ack: 2,
            flags,
            window: 3,
            payload_len: data as u32,
            options: &[],
            payload: &[0; 1500][..data],
        };
        ip(ends.addresses, options, protocol::TCP, tcp.header_len() + data, |sum, out| {
            tcp.emit(sum, out).expect("a segment")
        })
    }

    fn udp(ends: Ends) -> Vec<u8> {
        let udp = Udp { src_port: ends.ports.0, dst_port: ends.ports.1, payload_len: 1, payload: &[0] };
        ip(ends.addresses, 0, protocol::UDP, 9, |sum, out| udp.emit(Some(sum), out).expect("a datagram"))
    }

    fn is_sampled(ends: Ends, sample: u8) -> bool {
        let (a, b) = ends.addresses;
        super::is_sampled([a.into(), b.into()], ends.ports.into(), sample)
    }

    #[test]
    fn fragments_extension_headers_and_requests_are_rejected() {
        let v4 = Ends { addresses: ([192, 0, 2, 1].into(), [192, 0, 2, 2].into()), ports: (40_000, 80) };
        let v6 = Ends { addresses: ([1; 16].into(), [2; 16].into()), ports: (40_000, 80) };
        let all = program(Samples::default());
        let run = |packet: &[u8]| [false, true].map(|outgoing| run(&all, packet, outgoing));
        let mut fragment = tcp(v4, 0, TcpFlags::SYN, 0);
        // The first fragment has the flags.
        fragment[6] = 0x20;
        assert_eq!(run(&fragment), [HEAD; 2]);
        fragment[7] = 1;
        assert_eq!(run(&fragment), [0; 2]);
        let mut extended = tcp(v6, 0, TcpFlags::SYN, 0);
        extended[6] = 60;
        assert_eq!(run(&extended), [0; 2]);
        for (version, protocol, errors) in
            [(v4, protocol::ICMP, &[3_u8, 11, 12][..]), (v6, protocol::ICMPV6, &[1, 2, 3, 4])]
        {
            for kind in 0..=255 {
                let icmp = ip(version.addresses, 0, protocol, 8, |_, out| {
                    out[0] = kind;
                    8
                });
                assert_eq!(run(&icmp), if errors.contains(&kind) { [HEAD; 2] } else { [0; 2] }, "{protocol} {kind}");
            }
        }
        assert_eq!(run(b"\x02\x42\x42"), [0; 2]);
    }

    proptest! {
        #[test]
        fn segments_of_the_samples_pass(
            ends in ends(),
            options in (0..=10_usize).prop_map(|words| words * 4),
            flags in (0..0x1000_u16).prop_map(TcpFlags),
            data in 0..300_usize,
            samples in samples(),
            outgoing: bool,
        ) {
            let packet = tcp(ends, options, flags, data);
            let sample = if flags.any(ALWAYS) { samples.handshakes } else { samples.data };
            let expected = if is_sampled(ends, sample) { HEAD } else { 0 };
            prop_assert_eq!(run(&program(samples), &packet, outgoing), expected);
            prop_assert_eq!(run(&program(Samples { handshakes: 0, ..samples }), &packet, outgoing) > 0, flags.any(ALWAYS) || expected > 0);
            prop_assert_eq!(run(&program(Samples::default()), &packet, outgoing), HEAD);
        }

        /// Everything that gentle-wire reads as such a segment passes, also in damaged packets.
        #[test]
        fn nothing_that_the_parser_reads_is_rejected(
            ends in ends(),
            flags in (0..0x200_u16).prop_map(TcpFlags),
            damage in prop::collection::vec((0..60_usize, any::<u8>()), 0..4),
            length in 0..120_usize,
            data in 0..=MAX_SAMPLE,
        ) {
            let mut packet = tcp(ends, 0, flags, 40);
            for (at, byte) in damage {
                if let Some(at) = packet.get_mut(at) {
                    *at = byte;
                }
            }
            let original_len = packet.len() as u32;
            packet.truncate(length);
            // An IPv6 packet with extension headers has another next header.
            let extended = |packet: &[u8]| packet[0] >> 4 == 6 && packet[6] != protocol::TCP;
            if let Ok(read) = dissect(LinkType::RAW, &packet, original_len, Tunnels::Outer)
                && let gentle_wire::Transport::Tcp(tcp) = read.transport
                && !extended(&packet)
                && (data == 0 || tcp.flags.any(ALWAYS))
            {
                prop_assert_eq!(run(&program(Samples { handshakes: 0, data }), &packet, false), HEAD);
            }
        }

        #[test]
        fn both_directions_have_the_same_fate_and_samples_are_nested(ends in ends(), data in 0..300_usize) {
            let passes = |ends: Ends, sample: u8| {
                let fates = [TcpFlags::ACK, TcpFlags::SYN].map(|flags| {
                    run(&program(Samples { handshakes: sample, data: sample }), &tcp(ends, 0, flags, data), false) > 0
                });
                assert_eq!(fates[0], fates[1]);
                fates[0]
            };
            for sample in 0..=MAX_SAMPLE {
                prop_assert_eq!(passes(ends, sample), passes(ends.reversed(), sample));
                prop_assert!(sample == 0 || !passes(ends, sample) || passes(ends, sample - 1));
            }
        }

        #[test]
        fn names_pass_and_other_datagrams_do_not(ends in ends(), side in 0..3, samples in samples()) {
            let ports = match side {
                0 => (53, ends.ports.1),
                1 => (ends.ports.0, 53),
                _ => ends.ports,
            };
            let expected = if ports.0 == 53 || ports.1 == 53 { NAMES } else { 0 };
            prop_assert_eq!(run(&program(samples), &udp(Ends { ports, ..ends }), false), expected);
        }

        #[test]
        fn any_bytes_end_the_program(
            mut packet in prop::collection::vec(any::<u8>(), 0..120),
            version in prop_oneof![Just(None), Just(Some(0x45)), Just(Some(0x4f)), Just(Some(0x60))],
            samples in samples(),
            outgoing: bool,
        ) {
            if let (Some(version), Some(first)) = (version, packet.first_mut()) {
                *first = version;
            }
            prop_assert!([0, HEAD, NAMES].contains(&run(&program(samples), &packet, outgoing)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4, max_shrink_iters: 0, ..ProptestConfig::default() })]

        /// Random connections, and connections of neighbours: clients of a network to the ports of one server.
        #[test]
        fn a_sample_has_its_share(
            random in prop::collection::vec(ends(), 20_000),
            server: [u8; 4],
            network: u16,
            port in 1_024..60_000_u16,
        ) {
            let client = |n: u32| IpAddr::from((u32::from(network) << 16 | n >> 2).to_be_bytes());
            let neighbours: Vec<Ends> = (0..20_000)
                .map(|n: u32| Ends {
                    addresses: (client(n), server.into()),
                    ports: (port.wrapping_add((n % 5_000) as u16), 443),
                })
                .collect();
            for connections in [&random, &neighbours] {
                let count = connections.len() as f64;
                let packets: Vec<Vec<u8>> =
                    connections.iter().map(|ends| tcp(*ends, 0, TcpFlags::ACK, 0)).collect();
                for sample in [1, 3, 6] {
                    let program = program(Samples { handshakes: 0, data: sample });
                    let passed = packets.iter().filter(|packet| run(&program, packet, false) > 0).count() as f64;
                    let share = 1.0 / f64::from(1 << sample);
                    let deviation = (count * share * (1.0 - share)).sqrt();
                    prop_assert!((passed - count * share).abs() < 6.0 * deviation, "{} of 2^-{}", passed, sample);
                }
            }
        }
    }

    /// Client's end of a connection to the server that is in the sample, or is not.
    fn client(server: SocketAddr, sample: u8, sampled: bool) -> TcpStream {
        // Connections that are not used stay open until then, so that each has another port.
        let mut others = Vec::new();
        for _ in 0..1_000 {
            let stream = TcpStream::connect(server).expect("the server is there");
            let local = stream.local_addr().expect("an address");
            let ends = Ends { addresses: (local.ip(), server.ip()), ports: (local.port(), server.port()) };
            if is_sampled(ends, sample) == sampled {
                return stream;
            }
            others.push(stream);
        }
        panic!("no connection to {server} is in the sample, or all are");
    }

    /// Packet that a socket has received: its protocol, ports, TCP flags and captured bytes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Seen {
        protocol: u8,
        ports: (u16, u16),
        flags: TcpFlags,
        captured: usize,
    }

    #[test]
    fn the_kernel_runs_the_program() {
        const SAMPLE: u8 = 2;
        const SAMPLES: Samples = Samples { handshakes: 0, data: SAMPLE };
        let Some(host) = Host::new() else {
            return;
        };
        host.sh("ip link set lo up");
        host.run(|| {
            for data in 0..=MAX_SAMPLE {
                for handshakes in 0..=data {
                    let program = program(Samples { handshakes, data });
                    PacketSocket::open(Device::Any, Layer::Network, 1 << 20, |_| program).expect("it is accepted");
                }
            }
            let listeners = ["127.0.0.1:0", "[::1]:0"].map(|address| TcpListener::bind(address).expect("a port"));
            for listener in &listeners {
                let server = listener.local_addr().expect("an address");
                let mut socket =
                    PacketSocket::open(Device::Any, Layer::Network, 1 << 20, |_| program(SAMPLES)).expect("a socket");
                let mut seen: Vec<Seen> = Vec::new();
                let mut ports = Vec::new();
                for sampled in [true, false] {
                    let mut stream = client(server, SAMPLE, sampled);
                    let port = stream.local_addr().expect("an address").port();
                    ports.push(port);
                    // Connections before this one were closed by the client without data.
                    let mut accepted = loop {
                        let (accepted, peer) = listener.accept().expect("a connection");
                        if peer.port() == port {
                            break accepted;
                        }
                    };
                    for _ in 0..20 {
                        stream.write_all(&[0; 1000]).expect("it reads");
                        accepted.read_exact(&mut [0; 1000]).expect("data");
                    }
                    drop(stream);
                    assert_eq!(accepted.read(&mut [0]).expect("the end"), 0);
                }
                let udp = UdpSocket::bind((server.ip(), 0)).expect("a port");
                for port in [9, 53] {
                    udp.send_to(&[0; 2000], (server.ip(), port)).expect("a route");
                }
                let deadline = Instant::now() + Duration::from_secs(10);
                let names = |seen: &[Seen]| seen.iter().any(|seen| seen.protocol == protocol::UDP);
                // Packets are received in order, so the datagram to port 53 is the last but for its ICMP error.
                while !names(&seen) {
                    assert!(Instant::now() < deadline, "{seen:?}");
                    let count = socket
                        .receive(|packet| {
                            let read = dissect(LinkType::RAW, packet.bytes, packet.original_len, Tunnels::Outer);
                            let read = read.expect("a packet");
                            let (ports, flags) = match read.transport {
                                gentle_wire::Transport::Tcp(tcp) => ((tcp.src_port, tcp.dst_port), tcp.flags),
                                gentle_wire::Transport::Udp(udp) => ((udp.src_port, udp.dst_port), TcpFlags(0)),
                                _ => ((0, 0), TcpFlags(0)),
                            };
                            let (protocol, captured) = (read.ip.protocol, packet.bytes.len());
                            seen.push(Seen { protocol, ports, flags, captured });
                        })
                        .expect("packets");
                    if count == 0 {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                assert_eq!(socket.missed(), 0);
                let of = |port: u16| -> Vec<Seen> {
                    let has =
                        |seen: &&Seen| seen.protocol == protocol::TCP && [seen.ports.0, seen.ports.1].contains(&port);
                    seen.iter().filter(has).copied().collect()
                };
                let (sampled, other) = (of(ports[0]), of(ports[1]));
                let with = |seen: &[Seen], flags: TcpFlags| seen.iter().filter(|seen| seen.flags.any(flags)).count();
                for connection in [&sampled, &other] {
                    assert_eq!(with(connection, TcpFlags::SYN), 2, "{connection:?}");
                    assert!(with(connection, TcpFlags::FIN) > 0, "{connection:?}");
                    assert!(connection.iter().all(|seen| seen.captured <= HEAD as usize), "{connection:?}");
                }
                assert!(sampled.len() - with(&sampled, ALWAYS) > 20, "{sampled:?}");
                assert_eq!(with(&other, ALWAYS), other.len(), "{other:?}");
                let datagrams: Vec<&Seen> = seen.iter().filter(|seen| seen.protocol == protocol::UDP).collect();
                assert!(datagrams.iter().all(|seen| seen.ports.1 == 53 && seen.captured == NAMES as usize), "{seen:?}");
                // The error that answers the datagram to the closed port 9.
                let errors = seen.iter().filter(|seen| [protocol::ICMP, protocol::ICMPV6].contains(&seen.protocol));
                assert!(errors.count() > 0, "{seen:?}");
            }
        });
    }
}
