//! Fuzz target for dissecting frames of every link type, and for all methods of packets.

#![no_main]

use gentle_wire::{
    Address, LinkType, Packet, QuicKind, Skip, Transport, Tunnels, dissect, is_handshake, plain_tcp_v4, plain_tcp_v6,
    reassembled, undelivered,
};
use libfuzzer_sys::{Corpus, fuzz_target};
use std::net::IpAddr;

/// Calls all methods of a packet; returns the number of bytes of the frame that the results refer to.
fn examine(packet: &Packet<'_>) -> usize {
    for address in [packet.ip.src, packet.ip.dst] {
        assert_eq!(Address::from(IpAddr::from(address)), address);
    }
    let tcp = matches!(packet.transport, Transport::Tcp(_));
    assert!(tcp || !is_handshake(packet));
    if undelivered(packet).is_some() {
        assert!(matches!(packet.transport, Transport::Other));
        // Eight bytes of ICMP, the shortest IP header, eight bytes of TCP.
        assert!(packet.payload.len() >= 8 + 20 + 8);
    }
    match packet.transport {
        Transport::Tcp(tcp) => {
            assert!(tcp.sack_blocks().count() * 8 <= tcp.options.len());
            assert!(tcp.timestamps().is_none() || tcp.options.len() >= 10);
            assert!(tcp.mss().is_none() || tcp.options.len() >= 4);
            assert!(tcp.window_scale().is_none() || tcp.options.len() >= 3);
            assert!(tcp.payload.len() <= tcp.payload_len as usize);
            assert!(tcp.flags.0 < 1 << 12);
            tcp.options.len() + tcp.payload.len()
        }
        Transport::Udp(udp) => {
            assert!(udp.payload.len() <= udp.payload_len as usize);
            for quic in udp.quic_packets() {
                assert!(quic.dcid.len() <= 20 && quic.scid.len() <= 20);
                if let QuicKind::Initial(initial) = quic.kind
                    && let Some(sealed) = initial.sealed
                {
                    assert!(sealed.number_at <= sealed.packet.len());
                    assert!(sealed.packet.len() <= sealed.wire_len);
                    assert!(sealed.wire_len <= udp.payload_len as usize);
                }
            }
            udp.payload.len()
        }
        Transport::Sctp(sctp) => {
            let lengths = sctp.chunks_iter().map(|chunk| {
                assert!(chunk.value.len() + 4 <= usize::from(chunk.length));
                chunk.value.len() + 4
            });
            assert!(lengths.sum::<usize>() <= sctp.chunks.len());
            sctp.chunks.len()
        }
        Transport::Dccp(dccp) => {
            assert!(dccp.packet_type < 16 && dccp.seq < 1 << 48);
            0
        }
        Transport::Fragment(bytes) => bytes.len(),
        Transport::Other => 0,
    }
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let [a, b, c, d, frame @ ..] = bytes else {
        return Corpus::Reject;
    };
    let link = LinkType(u16::from_be_bytes([*a, *b]));
    let original_len = u32::from(u16::from_be_bytes([*c, *d]));
    let [outer, inner] = [Tunnels::Outer, Tunnels::Inner].map(|tunnels| dissect(link, frame, original_len, tunnels));
    // A tunnel is followed only if the outer packet is valid.
    assert_eq!(outer.is_ok(), inner.is_ok());
    let known = LinkType::ALL.contains(&link);
    assert_eq!(link.name().is_some(), known);
    assert!(known || matches!(outer, Err(Skip::UnknownLink)));
    let v4 = plain_tcp_v4(link, frame).map(|plain| {
        let ends = (Address::v4(plain.src), Address::v4(plain.dst));
        (ends, plain.ttl, plain.id, plain.tcp)
    });
    let v6 = plain_tcp_v6(link, frame).map(|plain| {
        let ends = (Address(plain.src), Address(plain.dst));
        (ends, plain.ttl, plain.id, plain.tcp)
    });
    if let Some(((src, dst), ttl, id, tcp)) = v4.or(v6) {
        let plain = Some((src, dst, ttl, id, None, format!("{tcp:?}")));
        for packet in [outer, inner] {
            let found = packet.ok().and_then(|packet| match packet.transport {
                Transport::Tcp(tcp) => {
                    let Packet { ip, .. } = packet;
                    Some((ip.src, ip.dst, ip.ttl, ip.id, ip.fragment, format!("{tcp:?}")))
                }
                _ => None,
            });
            assert_eq!(found, plain);
        }
    }
    for packet in [outer, inner].into_iter().flatten() {
        assert!(packet.payload.len() < frame.len());
        assert!(examine(&packet) <= packet.payload.len());
        if let Ok(whole) = reassembled(&packet.ip, packet.payload, packet.ip.payload_len) {
            assert!(examine(&whole) <= packet.payload.len());
        }
    }
    // Inputs of unsupported link types are not worth mutating.
    if known { Corpus::Keep } else { Corpus::Reject }
});
