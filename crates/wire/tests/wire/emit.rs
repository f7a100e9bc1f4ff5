//! Headers that are written are read back with the same fields, by this crate and by etherparse, which also checks
//! lengths and checksums.

use etherparse::{
    IpHeaders, IpNumber, NetSlice, PacketHeaders, SlicedPacket, TcpOptionElement, TransportHeader, TransportSlice,
};
use gentle_wire::{
    Address, EmitError, EthernetHeader, Fragment, Ip, Ipv4Header, Ipv6Extension, Ipv6Header, LinkType, Packet,
    PseudoHeader, Tcp, TcpFlags, TcpOption, TcpOptions, Transport, Tunnels, Udp, Unreachable, VlanTag, dissect,
    protocol, undelivered,
};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Buffer size that holds every frame of these tests, bytes.
const LONGEST: usize = 2_048;

/// Fields of an IP header that are chosen at random.
#[derive(Debug, Clone)]
enum AnyIp {
    V4 {
        src: Ipv4Addr,
        dst: Ipv4Addr,
        tos: u8,
        id: u16,
        dont_fragment: bool,
        ttl: u8,
        options: usize,
    },
    V6 {
        src: Ipv6Addr,
        dst: Ipv6Addr,
        traffic_class: u8,
        flow_label: u32,
        hop_limit: u8,
        /// Octuples of destination options, as padding.
        destination: Option<usize>,
        /// Octuples of hop-by-hop options.
        hop_by_hop: Option<usize>,
    },
}

fn any_v4() -> impl Strategy<Value = AnyIp> {
    let fields =
        (any::<Ipv4Addr>(), any::<Ipv4Addr>(), any::<u8>(), any::<u16>(), any::<bool>(), any::<u8>(), 0..=10_usize);
    fields.prop_map(|(src, dst, tos, id, dont_fragment, ttl, words)| AnyIp::V4 {
        src,
        dst,
        tos,
        id,
        dont_fragment,
        ttl,
        options: 4 * words,
    })
}

fn any_v6() -> impl Strategy<Value = AnyIp> {
    let fields = (
        any::<Ipv6Addr>(),
        any::<Ipv6Addr>(),
        any::<u8>(),
        0..1_u32 << 20,
        any::<u8>(),
        prop::option::of(1..5_usize),
        prop::option::of(1..5_usize),
    );
    fields.prop_map(|(src, dst, traffic_class, flow_label, hop_limit, destination, hop_by_hop)| AnyIp::V6 {
        src,
        dst,
        traffic_class,
        flow_label,
        hop_limit,
        destination,
        hop_by_hop,
    })
}

/// Options that do nothing (PadN, RFC 8200, 4.2), as many octuples with the two bytes before them.
fn padding(octuples: usize) -> Vec<u8> {
    let mut content = vec![0; 8 * octuples - 2];
    content[0] = 1;
    content[1] = content.len() as u8 - 2;
    content
}

impl AnyIp {
    /// Writes the header for a payload of `len` bytes of `protocol`; its bytes, what is to be read of it, and its
    /// pseudo-header.
    fn emit(&self, protocol: u8, len: u32) -> (Vec<u8>, Ip, PseudoHeader) {
        let mut out = vec![0xee; LONGEST];
        let (written, ip, pseudo_header) = match *self {
            AnyIp::V4 { src, dst, tos, id, dont_fragment, ttl, options } => {
                let header = Ipv4Header {
                    tos,
                    id,
                    dont_fragment,
                    ttl,
                    // "No operation" (RFC 791).
                    options: &[1; 40][..options],
                    ..Ipv4Header::new(src, dst, protocol, len)
                };
                let ip = Ip {
                    src: src.into(),
                    dst: dst.into(),
                    ttl,
                    tos,
                    id: Some(id),
                    fragment: None,
                    payload_len: len,
                    protocol,
                };
                (header.emit(&mut out).unwrap(), ip, header.pseudo_header())
            }
            AnyIp::V6 { src, dst, traffic_class, flow_label, hop_limit, destination, hop_by_hop } => {
                let [hop_by_hop, destination] = [hop_by_hop, destination].map(|n| n.map(padding));
                let hop_by_hop = hop_by_hop.as_deref().map(Ipv6Extension::HopByHop);
                let destination = destination.as_deref().map(Ipv6Extension::Destination);
                let extensions: Vec<_> = hop_by_hop.into_iter().chain(destination).collect();
                let header = Ipv6Header {
                    traffic_class,
                    flow_label,
                    hop_limit,
                    extensions: &extensions,
                    ..Ipv6Header::new(src, dst, protocol, len)
                };
                let ip = Ip {
                    src: IpAddr::V6(src).into(),
                    dst: IpAddr::V6(dst).into(),
                    ttl: hop_limit,
                    tos: traffic_class,
                    id: None,
                    fragment: None,
                    payload_len: len,
                    protocol,
                };
                (header.emit(&mut out).unwrap(), ip, header.pseudo_header())
            }
        };
        out.truncate(written);
        (out, ip, pseudo_header)
    }

    fn ether_type(&self) -> u16 {
        match self {
            AnyIp::V4 { .. } => EthernetHeader::IPV4,
            AnyIp::V6 { .. } => EthernetHeader::IPV6,
        }
    }
}

fn any_ip() -> impl Strategy<Value = AnyIp> {
    prop_oneof![any_v4(), any_v6()]
}

fn any_tags() -> impl Strategy<Value = Vec<VlanTag>> {
    let tag = (any::<bool>(), any::<u16>());
    let tag = tag.prop_map(|(service, control)| VlanTag { service, control });
    prop::collection::vec(tag, 0..3)
}

/// A TCP option in a form that owns its blocks.
#[derive(Debug, Clone)]
enum AnyOption {
    Short(TcpOption<'static>),
    Sack(Vec<(u32, u32)>),
}

impl AnyOption {
    fn borrow(&self) -> TcpOption<'_> {
        match self {
            AnyOption::Short(option) => *option,
            AnyOption::Sack(blocks) => TcpOption::Sack(blocks),
        }
    }

    fn theirs(&self) -> TcpOptionElement {
        match self.borrow() {
            TcpOption::NoOperation => TcpOptionElement::Noop,
            TcpOption::Mss(mss) => TcpOptionElement::MaximumSegmentSize(mss),
            TcpOption::WindowScale(shift) => TcpOptionElement::WindowScale(shift),
            TcpOption::SackPermitted => TcpOptionElement::SelectiveAcknowledgementPermitted,
            TcpOption::Timestamps(value, echo) => TcpOptionElement::Timestamp(value, echo),
            TcpOption::Sack(blocks) => {
                let mut others = [None; 3];
                for (other, block) in others.iter_mut().zip(&blocks[1..]) {
                    *other = Some(*block);
                }
                TcpOptionElement::SelectiveAcknowledgement(blocks[0], others)
            }
            TcpOption::AccEcn1(_) => unreachable!("etherparse does not know it"),
        }
    }
}

/// Options that fit into a header, each kind at most once.
fn any_options() -> impl Strategy<Value = Vec<AnyOption>> {
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 1..=4);
    let every = (any::<u16>(), any::<u8>(), any::<(u32, u32)>(), blocks, 0..4_usize);
    let every = every.prop_map(|(mss, shift, (value, echo), blocks, padding)| {
        let mut options = vec![
            AnyOption::Short(TcpOption::Mss(mss)),
            AnyOption::Short(TcpOption::WindowScale(shift)),
            AnyOption::Short(TcpOption::SackPermitted),
            AnyOption::Short(TcpOption::Timestamps(value, echo)),
            AnyOption::Sack(blocks),
        ];
        options.extend(vec![AnyOption::Short(TcpOption::NoOperation); padding]);
        options
    });
    let some = every.prop_flat_map(|options| {
        let count = options.len();
        prop::sample::subsequence(options, 0..=count).prop_shuffle()
    });
    some.prop_map(|mut options| {
        let borrowed = |options: &[AnyOption]| -> Vec<_> {
            TcpOptions::new(&options.iter().map(AnyOption::borrow).collect::<Vec<_>>()).into_iter().collect()
        };
        while borrowed(&options).is_empty() {
            options.pop();
        }
        options
    })
}

fn frame(tags: &[VlanTag], ether_type: u16, pieces: &[&[u8]]) -> Vec<u8> {
    let header = EthernetHeader { dst: [2, 0, 0, 0, 0, 2], src: [2, 0, 0, 0, 0, 1], tags, ether_type };
    let mut frame = vec![0; header.header_len()];
    assert_eq!(header.emit(&mut frame), Ok(frame.len()));
    [&[&frame[..]], pieces].concat().concat()
}

fn read(frame: &[u8], cut: u32) -> Packet<'_> {
    let len = frame.len() as u32 + cut;
    dissect(LinkType::ETHERNET, frame, len, Tunnels::Outer).unwrap()
}

/// Whether etherparse finds the addresses of `ip`, and the checksum of an IPv4 header right.
fn check_ip(theirs: &NetSlice<'_>, ip: &Ip) {
    let (src, dst): (IpAddr, IpAddr) = match theirs {
        NetSlice::Ipv4(v4) => {
            let header = v4.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            assert_eq!(Some(header.identification), ip.id);
            (v4.header().source_addr().into(), v4.header().destination_addr().into())
        }
        NetSlice::Ipv6(v6) => (v6.header().source_addr().into(), v6.header().destination_addr().into()),
        NetSlice::Arp(_) => panic!("it is IP"),
    };
    assert_eq!((Address::from(src), Address::from(dst)), (ip.src, ip.dst));
}

/// The header of IP as etherparse reads it, for its calculation of checksums.
fn headers(frame: &[u8]) -> (IpHeaders, TransportHeader) {
    let headers = PacketHeaders::from_ethernet_slice(frame).unwrap();
    let net = headers.net.unwrap();
    let ip = match net {
        etherparse::NetHeaders::Ipv4(header, extensions) => IpHeaders::Ipv4(header, extensions),
        etherparse::NetHeaders::Ipv6(header, extensions) => IpHeaders::Ipv6(header, extensions),
        etherparse::NetHeaders::Arp(_) => panic!("it is IP"),
    };
    (ip, headers.transport.unwrap())
}

proptest! {
    #[test]
    fn tcp_is_read_back(
        tags in any_tags(),
        ip in any_ip(),
        (ports, seq, ack, flags, window) in any::<((u16, u16), u32, u32, u16, u16)>(),
        options in any_options(),
        payload in prop::collection::vec(any::<u8>(), 0..200),
        cut in 0..1_000_u32,
    ) {
        let borrowed: Vec<_> = options.iter().map(AnyOption::borrow).collect();
        let bytes = TcpOptions::new(&borrowed).unwrap();
        let tcp = Tcp {
            src_port: ports.0,
            dst_port: ports.1,
            seq,
            ack,
            flags: TcpFlags(flags & 0x0fff),
            window,
            payload_len: payload.len() as u32 + cut,
            options: bytes.as_bytes(),
            payload: &payload,
        };
        let len = tcp.header_len() as u32 + tcp.payload_len;
        let (header, expected, pseudo_header) = ip.emit(protocol::TCP, len);
        let mut segment = vec![0xee; LONGEST];
        let written = tcp.emit(&pseudo_header, &mut segment).unwrap();
        segment.truncate(written);
        let mut bytes = frame(&tags, ip.ether_type(), &[&header, &segment]);

        let packet = read(&bytes, cut);
        prop_assert_eq!(packet.ip, expected);
        let Transport::Tcp(found) = packet.transport else {
            panic!("{packet:?}");
        };
        prop_assert_eq!(found, tcp);
        for option in &borrowed {
            match *option {
                TcpOption::Mss(mss) => prop_assert_eq!(found.mss(), Some(mss)),
                TcpOption::WindowScale(shift) => prop_assert_eq!(found.window_scale(), Some(shift)),
                TcpOption::Timestamps(value, echo) => {
                    prop_assert_eq!(found.timestamps(), Some((value, echo)));
                }
                TcpOption::Sack(blocks) => {
                    prop_assert_eq!(found.sack_blocks().collect::<Vec<_>>(), blocks);
                }
                TcpOption::SackPermitted | TcpOption::NoOperation | TcpOption::AccEcn1(_) => {}
            }
        }

        // The payload that was not at hand was taken for zeros.
        bytes.extend(vec![0; cut as usize]);
        let sliced = SlicedPacket::from_ethernet(&bytes).unwrap();
        prop_assert_eq!(sliced.link_exts.len(), tags.len());
        check_ip(sliced.net.as_ref().unwrap(), &expected);
        let Some(TransportSlice::Tcp(theirs)) = sliced.transport else {
            panic!("they find no TCP");
        };
        let elements: Vec<_> = theirs.options_iterator().map(Result::unwrap).collect();
        prop_assert_eq!(elements, options.iter().map(AnyOption::theirs).collect::<Vec<_>>());
        prop_assert_eq!(theirs.to_header().acknowledgment_number, ack);
        let sum = match sliced.net.unwrap() {
            NetSlice::Ipv4(ip) => {
                let ip = ip.header();
                theirs.calc_checksum_ipv4(ip.source(), ip.destination())
            }
            NetSlice::Ipv6(ip) => {
                let ip = ip.header();
                theirs.calc_checksum_ipv6(ip.source(), ip.destination())
            }
            NetSlice::Arp(_) => panic!("it is IP"),
        };
        prop_assert_eq!(theirs.checksum(), sum.unwrap());
    }

    #[test]
    fn udp_is_read_back(
        tags in any_tags(),
        ip in any_ip(),
        ports in any::<(u16, u16)>(),
        payload in prop::collection::vec(any::<u8>(), 0..200),
        cut in 0..1_000_u32,
        has_checksum in any::<bool>(),
    ) {
        let udp = Udp {
            src_port: ports.0,
            dst_port: ports.1,
            payload_len: payload.len() as u32 + cut,
            payload: &payload,
        };
        let len = Udp::HEADER_LEN as u32 + udp.payload_len;
        let (header, expected, pseudo_header) = ip.emit(protocol::UDP, len);
        let mut datagram = vec![0xee; LONGEST];
        let pseudo_header = has_checksum.then_some(&pseudo_header);
        let written = udp.emit(pseudo_header, &mut datagram).unwrap();
        datagram.truncate(written);
        let mut bytes = frame(&tags, ip.ether_type(), &[&header, &datagram]);

        let packet = read(&bytes, cut);
        prop_assert_eq!(packet.ip, expected);
        let Transport::Udp(found) = packet.transport else {
            panic!("{packet:?}");
        };
        prop_assert_eq!(found, udp);

        bytes.extend(vec![0; cut as usize]);
        let sliced = SlicedPacket::from_ethernet(&bytes).unwrap();
        check_ip(sliced.net.as_ref().unwrap(), &expected);
        let Some(TransportSlice::Udp(theirs)) = sliced.transport else {
            panic!("they find no UDP");
        };
        let (ip, TransportHeader::Udp(header)) = headers(&bytes) else {
            panic!("they find no UDP");
        };
        let sum = match &ip {
            IpHeaders::Ipv4(ip, _) => header.calc_checksum_ipv4(ip, theirs.payload()),
            IpHeaders::Ipv6(ip, _) => header.calc_checksum_ipv6(ip, theirs.payload()),
        };
        let sum = if has_checksum { sum.unwrap() } else { 0 };
        prop_assert_eq!(header.checksum, sum);
    }

    /// The segment that an ICMP message "destination unreachable" quotes is read back.
    #[test]
    fn unreachable_is_read_back(
        ip in any_ip(),
        back in any_ip(),
        (ports, seq, code) in any::<((u16, u16), u32, u8)>(),
        more in 0..12_usize,
    ) {
        let tcp = Tcp {
            src_port: ports.0,
            dst_port: ports.1,
            seq,
            ack: 0,
            flags: TcpFlags::SYN,
            window: 0,
            payload_len: 0,
            options: &[],
            payload: &[],
        };
        let (mut quoted, about, pseudo_header) = ip.emit(protocol::TCP, tcp.header_len() as u32);
        let header_len = quoted.len();
        quoted.resize(header_len + tcp.header_len(), 0);
        tcp.emit(&pseudo_header, &mut quoted[header_len..]).unwrap();
        let message = Unreachable { code, quoted: &quoted[..header_len + 8 + more] };
        let v4 = matches!(back, AnyIp::V4 { .. });
        let number = if v4 { protocol::ICMP } else { protocol::ICMPV6 };
        let (header, _, pseudo_header) = back.emit(number, message.message_len() as u32);
        let mut bytes = vec![0xee; message.message_len()];
        let written = match v4 {
            true => message.emit_v4(&mut bytes),
            false => message.emit_v6(&pseudo_header, &mut bytes),
        };
        prop_assert_eq!(written, Ok(bytes.len()));
        let bytes = frame(&[], back.ether_type(), &[&header, &bytes]);

        let found = undelivered(&read(&bytes, 0));
        // "Fragmentation needed" says nothing of the kind, and each family quotes itself.
        if v4 == matches!(ip, AnyIp::V4 { .. }) && !(v4 && code == 4) {
            let found = found.unwrap();
            prop_assert_eq!((found.src, found.dst), (about.src, about.dst));
            prop_assert_eq!((found.src_port, found.dst_port, found.seq), (ports.0, ports.1, seq));
        } else {
            prop_assert_eq!(found, None);
        }

        let sliced = SlicedPacket::from_ethernet(&bytes).unwrap();
        match sliced.transport {
            Some(TransportSlice::Icmpv4(theirs)) => {
                let header = theirs.header();
                let sum = header.icmp_type.calc_checksum(theirs.payload());
                prop_assert_eq!(header.checksum, sum);
                prop_assert_eq!((theirs.type_u8(), theirs.code_u8()), (3, code));
            }
            Some(TransportSlice::Icmpv6(theirs)) => {
                let Some(NetSlice::Ipv6(ip)) = sliced.net else {
                    panic!("ICMPv6 is in IPv6");
                };
                let (src, dst) = (ip.header().source(), ip.header().destination());
                prop_assert!(theirs.is_checksum_valid(src, dst));
                prop_assert_eq!((theirs.type_u8(), theirs.code_u8()), (1, code));
            }
            other => panic!("they find {other:?}"),
        }
    }

    #[test]
    fn fragments_are_read_back(
        id in any::<u32>(),
        octuples in 0..100_u16,
        more in any::<bool>(),
        payload in prop::collection::vec(any::<u8>(), 20..100),
    ) {
        let len = payload.len() as u32;
        let fragment = Fragment { id, offset: u32::from(octuples) * 8, more };
        // Neither is a fragment: a whole packet, and an atomic fragment (RFC 6946).
        let is_fragment = more || octuples > 0;

        let v6 = Ipv6Header {
            extensions: &[Ipv6Extension::Fragment(fragment)],
            ..Ipv6Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED, protocol::GRE, len)
        };
        let mut header = vec![0; v6.header_len()];
        v6.emit(&mut header).unwrap();
        let bytes = frame(&[], EthernetHeader::IPV6, &[&header, &payload]);
        let packet = read(&bytes, 0);
        prop_assert_eq!(packet.ip.fragment, is_fragment.then_some(fragment));
        prop_assert_eq!((packet.ip.protocol, packet.payload), (protocol::GRE, &payload[..]));
        let Some(NetSlice::Ipv6(theirs)) = SlicedPacket::from_ethernet(&bytes).unwrap().net else {
            panic!("they find no IPv6");
        };
        prop_assert_eq!(theirs.payload().fragmented, is_fragment);
        prop_assert_eq!(theirs.payload().ip_number, IpNumber::GRE);

        let v4 = Ipv4Header {
            id: id as u16,
            dont_fragment: false,
            more_fragments: more,
            fragment_offset: octuples * 8,
            ..Ipv4Header::new(Ipv4Addr::LOCALHOST, Ipv4Addr::BROADCAST, protocol::GRE, len)
        };
        let mut header = vec![0; v4.header_len()];
        v4.emit(&mut header).unwrap();
        let bytes = frame(&[], EthernetHeader::IPV4, &[&header, &payload]);
        let packet = read(&bytes, 0);
        let fragment = Fragment { id: id & 0xffff, ..fragment };
        prop_assert_eq!(packet.ip.fragment, is_fragment.then_some(fragment));
        let Some(NetSlice::Ipv4(theirs)) = SlicedPacket::from_ethernet(&bytes).unwrap().net else {
            panic!("they find no IPv4");
        };
        prop_assert_eq!(theirs.payload().fragmented, is_fragment);
        prop_assert_eq!(theirs.header().fragments_offset().byte_offset(), octuples * 8);
    }
}

const HERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const THERE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

fn segment(options: &[u8]) -> Tcp<'_> {
    Tcp {
        src_port: 1,
        dst_port: 2,
        seq: 3,
        ack: 4,
        flags: TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR,
        window: 5,
        payload_len: 4,
        options,
        payload: b"abc",
    }
}

#[test]
fn a_short_buffer_is_refused_with_what_is_needed() {
    let v4 = Ipv4Header::new(HERE, HERE, protocol::TCP, 0);
    let v6 = Ipv6Header::new(THERE, THERE, protocol::TCP, 0);
    let udp = Udp { src_port: 1, dst_port: 2, payload_len: 1, payload: b"a" };
    let ethernet = EthernetHeader {
        dst: [0; 6],
        src: [0; 6],
        tags: &[VlanTag { service: false, control: 7 }],
        ether_type: EthernetHeader::IPV4,
    };
    let message = Unreachable { code: 1, quoted: &[0; 28] };
    let pseudo_header = v4.pseudo_header();
    type Emit<'a> = &'a dyn Fn(&mut [u8]) -> Result<usize, EmitError>;
    let emitters: [(usize, Emit<'_>); 7] = [
        (20, &|out| v4.emit(out)),
        (40, &|out| v6.emit(out)),
        (27, &|out| segment(&[1; 4]).emit(&pseudo_header, out)),
        (9, &|out| udp.emit(Some(&pseudo_header), out)),
        (18, &|out| ethernet.emit(out)),
        (36, &|out| message.emit_v4(out)),
        (36, &|out| message.emit_v6(&pseudo_header, out)),
    ];
    for (needed, emit) in emitters {
        let mut out = [0; 64];
        for len in 0..needed {
            assert_eq!(emit(&mut out[..len]), Err(EmitError::NoRoom { needed }));
        }
        assert_eq!(emit(&mut out), Ok(needed));
    }
}

#[test]
fn what_no_header_can_say_is_refused() {
    let mut out = [0; LONGEST];
    let v4 = Ipv4Header::new(HERE, HERE, protocol::TCP, 65_515);
    assert_eq!(v4.emit(&mut out), Ok(20));
    let too_long = Ipv4Header { payload_len: 65_516, ..v4 };
    assert_eq!(too_long.emit(&mut out), Err(EmitError::TooLong));
    for options in [&[1; 1][..], &[1; 44]] {
        let header = Ipv4Header { options, ..v4 };
        assert_eq!(header.emit(&mut out), Err(EmitError::BadLength));
    }
    let header = Ipv4Header { fragment_offset: 4, ..v4 };
    assert_eq!(header.emit(&mut out), Err(EmitError::BadLength));

    let v6 = Ipv6Header::new(THERE, THERE, protocol::TCP, 65_535);
    assert_eq!(v6.emit(&mut out), Ok(40));
    let too_long = [
        Ipv6Header { payload_len: 65_536, ..v6 },
        Ipv6Header { flow_label: 1 << 20, ..v6 },
        Ipv6Header { payload_len: 65_535 - 7, extensions: &[Ipv6Extension::Routing(&[0; 6])], ..v6 },
    ];
    for header in too_long {
        assert_eq!(header.emit(&mut out), Err(EmitError::TooLong));
    }
    for content in [&[][..], &[0; 5], &[0; 8]] {
        let header = Ipv6Header { payload_len: 0, extensions: &[Ipv6Extension::HopByHop(content)], ..v6 };
        assert_eq!(header.emit(&mut out), Err(EmitError::BadLength));
    }

    let pseudo_header = v4.pseudo_header();
    for options in [&[1; 1][..], &[1; 44]] {
        let emitted = segment(options).emit(&pseudo_header, &mut out);
        assert_eq!(emitted, Err(EmitError::BadLength));
    }
    let short = Tcp { payload_len: 2, ..segment(&[]) };
    assert_eq!(short.emit(&pseudo_header, &mut out), Err(EmitError::BadLength));
    let udp = Udp { src_port: 1, dst_port: 2, payload_len: 65_528, payload: &[] };
    assert_eq!(udp.emit(None, &mut out), Err(EmitError::TooLong));

    let stamps = TcpOption::Timestamps(1, 2);
    let blocks = [(1, 2); 4];
    let full = TcpOptions::new(&[stamps, TcpOption::Sack(&blocks[..3])]).unwrap();
    assert_eq!(full.as_bytes().len(), 36);
    let too_long = TcpOptions::new(&[stamps, TcpOption::Sack(&blocks)]);
    assert_eq!(too_long, Err(EmitError::TooLong));
}
