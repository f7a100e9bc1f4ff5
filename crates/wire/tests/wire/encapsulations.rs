//! Every encapsulation yields the segment in it, however short the frame was cut.

use crate::samples::{self, Sample};
use gentle_wire::{Ip, Packet, Skip, Tcp, Transport, Tunnels, dissect};
use std::net::IpAddr;

fn inner<'a>(sample: &'a Sample, frame: &'a [u8]) -> Result<Packet<'a>, Skip> {
    dissect(sample.link, frame, sample.frame.len() as u32, Tunnels::Inner)
}

fn addresses(ip: &Ip) -> [String; 2] {
    [ip.src, ip.dst].map(|address| IpAddr::from(address).to_string())
}

fn expected_addresses(sample: &Sample) -> [&'static str; 2] {
    match sample.ipv6 {
        false => ["198.51.100.7", "203.0.113.9"],
        true => ["2001:db8::7", "2001:db8::9"],
    }
}

fn assert_is_the_segment(tcp: &Tcp<'_>, name: &str) {
    assert_eq!((tcp.src_port, tcp.dst_port), (40000, 50000), "{name}");
    assert_eq!((tcp.seq, tcp.ack), (0x0102_0304, 0x0a0b_0c0d), "{name}");
    assert_eq!((tcp.flags.0, tcp.window), (0x018, 0x1000), "{name}");
    assert_eq!(tcp.timestamps(), Some((12345, 999)), "{name}");
    assert_eq!((tcp.payload_len, tcp.payload), (4, &b"abcd"[..]), "{name}");
}

#[test]
fn the_segment_is_found() {
    for sample in samples::all() {
        let name = sample.name;
        let packet = inner(&sample, &sample.frame).unwrap_or_else(|skip| panic!("{name}: {skip:?}"));
        assert_eq!(addresses(&packet.ip), expected_addresses(&sample), "{name}");
        assert_eq!((packet.ip.ttl, packet.ip.tos, packet.ip.payload_len, packet.ip.protocol), (64, 0, 36, 6), "{name}");
        let Transport::Tcp(tcp) = packet.transport else {
            panic!("{name}: {packet:?}");
        };
        assert_is_the_segment(&tcp, name);
    }
}

#[test]
fn a_tunnel_is_not_looked_into_unasked() {
    for sample in samples::all() {
        let len = sample.frame.len() as u32;
        let packet = dissect(sample.link, &sample.frame, len, Tunnels::Outer).unwrap();
        let found = addresses(&packet.ip) == expected_addresses(&sample);
        assert_eq!(found, !sample.tunnelled, "{}", sample.name);
    }
}

/// Cut anywhere, a frame gives no other packet than the whole one does: the segment with fewer captured bytes, a tunnel
/// whose inside was cut off, or nothing.
#[test]
fn a_cut_frame_gives_the_same_or_nothing() {
    for sample in samples::all() {
        for len in 0..sample.frame.len() {
            let name = format!("{}, cut to {len}", sample.name);
            let packet = match inner(&sample, &sample.frame[..len]) {
                Ok(packet) => packet,
                Err(skip) => {
                    assert_eq!(skip, Skip::Truncated, "{name}");
                    continue;
                }
            };
            if sample.tunnelled && !matches!(packet.transport, Transport::Tcp(_)) {
                assert_eq!(addresses(&packet.ip), ["192.0.2.1", "192.0.2.2"], "{name}");
                continue;
            }
            assert_eq!(addresses(&packet.ip), expected_addresses(&sample), "{name}");
            let Transport::Tcp(tcp) = packet.transport else {
                panic!("{name}: {packet:?}");
            };
            assert_eq!((tcp.src_port, tcp.dst_port), (40000, 50000), "{name}");
            assert_eq!((tcp.seq, tcp.flags.0), (0x0102_0304, 0x018), "{name}");
            assert_eq!(tcp.payload_len, 4, "{name}");
            assert!(b"abcd".starts_with(tcp.payload), "{name}");
            assert!([0, 0x1000].contains(&tcp.window), "{name}");
        }
    }
}
