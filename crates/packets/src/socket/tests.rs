//! Sockets on the devices of a network namespace. Without the permission to create one, each test reports it and is
//! skipped.

use super::*;
use crate::bpf::opcode::{H, IND};
use crate::bpf::{Transport, skip_headers};
use crate::{Clock, Host};
use gentle_units::Nanos;
use gentle_wire::{Ipv4Header, PseudoHeader, Tunnels, Udp, dissect, protocol};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

const BUFFER: usize = 1 << 20;
/// Time after which an expected packet is missing.
const PATIENCE: Duration = Duration::from_secs(10);

/// Packet as a test compares it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    bytes: Vec<u8>,
    original_len: u32,
    outgoing: bool,
    interface: u32,
    time: Option<Instant>,
}

/// Accepts `length` bytes of each UDP datagram to a port.
fn to_port(link: LinkType, port: u16, length: u32) -> Vec<Instruction> {
    let mut p = Assembler::default();
    let [udp, accept, reject] = p.labels();
    skip_headers(&mut p, link, &Transport { tcp: reject, udp: Some(udp), icmp_error: reject, reject });
    p.at(udp).op(LD | H | IND, 2).is(port.into(), accept, reject);
    p.at(accept).op(RET | K, length);
    p.at(reject).op(RET | K, 0);
    p.finish()
}

fn open(device: Device<'_>, layer: Layer, port: u16, length: u32) -> PacketSocket {
    PacketSocket::open(device, layer, BUFFER, |link| to_port(link, port, length)).expect("a socket")
}

/// Sends datagrams with these payloads.
fn send(from: &str, to: (&str, u16), payloads: &[&[u8]]) {
    let socket = UdpSocket::bind((from, 0)).expect("a port");
    for payload in payloads {
        socket.send_to(payload, to).expect("a route");
    }
}

/// Packets up to the datagram `last`, then all others that have arrived.
fn receive(socket: &mut PacketSocket, last: &[u8]) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    let deadline = std::time::Instant::now() + PATIENCE;
    let mut ended = false;
    loop {
        let count = socket.receive(|packet| {
            ended |= packet.bytes.ends_with(last);
            let Received { bytes, original_len, outgoing, interface, time, .. } = packet;
            seen.push(Seen { bytes: bytes.to_vec(), original_len, outgoing, interface, time });
        });
        if count.expect("packets") == 0 {
            if ended {
                return seen;
            }
            assert!(std::time::Instant::now() < deadline, "the last packet has not arrived: {seen:?}");
            let timeout = PollTimeout::from(100_u8);
            poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], timeout).expect("poll");
        }
    }
}

fn payload(link: LinkType, seen: &Seen) -> Vec<u8> {
    let packet = dissect(link, &seen.bytes, seen.original_len, Tunnels::Outer).expect("a packet");
    match packet.transport {
        gentle_wire::Transport::Udp(udp) => udp.payload.to_vec(),
        other => panic!("{other:?}"),
    }
}

fn payloads(link: LinkType, seen: &[Seen]) -> Vec<Vec<u8>> {
    seen.iter().map(|seen| payload(link, seen)).collect()
}

/// Host whose loopback device is up.
fn loopback() -> Option<Host> {
    let host = Host::new()?;
    host.sh("ip link set lo up");
    Some(host)
}

/// Joins two hosts by devices `eth0` with the addresses 192.0.2.1 and 192.0.2.2 and known hardware addresses.
fn join(a: &Host, b: &Host) {
    a.sh(&format!(
        "ip link add eth0 address 02:00:00:00:00:01 type veth \
         peer name eth0 address 02:00:00:00:00:02 netns {}",
        b.thread()
    ));
    for (host, own, peer) in [(a, 1, 2), (b, 2, 1)] {
        host.sh(&format!(
            "ip address add 192.0.2.{own}/24 dev eth0; ip link set eth0 up; \
             ip neighbour replace 192.0.2.{peer} lladdr 02:00:00:00:00:0{peer} dev eth0"
        ));
    }
}

/// Two joined hosts.
fn pair() -> Option<(Host, Host)> {
    let (a, b) = (loopback()?, loopback()?);
    join(&a, &b);
    Some((a, b))
}

#[test]
fn loopback_shows_frames_twice_and_packets_once() {
    let Some(host) = loopback() else {
        return;
    };
    host.run(|| {
        let lo = if_nametoindex("lo").expect("lo");
        let named = Device::Named("lo");
        for (device, layer, directions) in [
            (named, Layer::Link, vec![true, false]),
            (named, Layer::Network, vec![false]),
            (Device::Any, Layer::Network, vec![false]),
        ] {
            let mut socket = open(device, layer, 9, 0xffff);
            for (from, address, header) in [("127.0.0.1", "127.0.0.1", 20), ("::1", "::1", 40)] {
                send(from, (address, 9), &[b"first", b"end"]);
                let seen = receive(&mut socket, b"end");
                let case = format!("{device:?} {layer:?} {address}: {seen:?}");
                let expected: Vec<bool> = [&directions[..], &directions[..]].concat();
                assert_eq!(seen.iter().map(|seen| seen.outgoing).collect::<Vec<_>>(), expected, "{case}");
                assert!(seen.iter().all(|seen| seen.interface == lo), "{case}");
                let link = if layer == Layer::Link { 14 } else { 0 };
                assert_eq!(seen[0].original_len, link + header + 8 + 5, "{case}");
                assert_eq!(payload(socket.link(), &seen[0]), b"first", "{case}");
            }
            assert_eq!(socket.missed(), 0);
        }
    });
}

#[test]
fn any_device_includes_later_ones_in_both_directions() {
    let (Some(a), Some(b)) = (loopback(), loopback()) else {
        return;
    };
    let (mut socket, lo) = a.run(|| (open(Device::Any, Layer::Network, 9, 0xffff), if_nametoindex("lo").expect("lo")));
    join(&a, &b);
    a.run(move || {
        send("192.0.2.1", ("192.0.2.2", 9), &[b"out"]);
        let seen = receive(&mut socket, b"out");
        let eth0 = if_nametoindex("eth0").expect("eth0");
        assert_ne!(eth0, lo);
        assert_eq!((seen.len(), seen[0].outgoing, seen[0].interface), (1, true, eth0), "{seen:?}");
        b.run(|| send("192.0.2.2", ("192.0.2.1", 9), &[b"in"]));
        let seen = receive(&mut socket, b"in");
        assert_eq!((seen.len(), seen[0].outgoing, seen[0].interface), (1, false, eth0), "{seen:?}");
        send("127.0.0.1", ("127.0.0.1", 9), &[b"local"]);
        let seen = receive(&mut socket, b"local");
        assert_eq!((seen.len(), seen[0].outgoing, seen[0].interface), (1, false, lo), "{seen:?}");
    });
}

#[test]
fn a_filter_is_replaced_while_packets_arrive() {
    let Some(host) = loopback() else {
        return;
    };
    host.run(|| {
        for layer in [Layer::Link, Layer::Network] {
            let mut socket = open(Device::Named("lo"), layer, 9, 0xffff);
            let link = socket.link();
            let both = || {
                send("127.0.0.1", ("127.0.0.1", 9), &[b"to 9"]);
                send("127.0.0.1", ("127.0.0.1", 10), &[b"to 10"]);
            };
            both();
            let seen = receive(&mut socket, b"to 9");
            assert!(payloads(link, &seen).iter().all(|payload| payload == b"to 9"), "{seen:?}");
            socket.set_filter(&to_port(link, 10, 0xffff)).expect("a filter");
            both();
            let seen = receive(&mut socket, b"to 10");
            assert!(payloads(link, &seen).iter().all(|payload| payload == b"to 10"), "{seen:?}");
            // A program without an end is rejected, and the filter stays.
            let endless = [Instruction { code: LD | W | ABS, jt: 0, jf: 0, k: 0 }];
            let error = socket.set_filter(&endless).expect_err("it has no end");
            assert!(matches!(error, PacketError::Call { call: "SO_ATTACH_FILTER", .. }), "{error}");
            both();
            let seen = receive(&mut socket, b"to 10");
            assert!(payloads(link, &seen).iter().all(|payload| payload == b"to 10"), "{seen:?}");
        }
    });
}

#[test]
fn times_are_those_of_the_kernel() {
    let Some(host) = loopback() else {
        return;
    };
    host.run(|| {
        let mut clock = Clock::start();
        // The first comparison only learns the difference of the clocks.
        clock.compare();
        let mut socket = open(Device::Any, Layer::Network, 9, 0xffff);
        let deadline = std::time::Instant::now() + PATIENCE;
        // The first packets have the time at which they are read if no other socket has requested timestamps.
        loop {
            let before = clock.now();
            send("127.0.0.1", ("127.0.0.1", 9), &[b"early"]);
            let after = clock.now();
            std::thread::sleep(Duration::from_millis(50));
            let seen = receive(&mut socket, b"early");
            let (passed, exact) = clock.compare().passed(seen[0].time);
            let tolerance = Nanos::from_millis(5);
            if exact && passed + tolerance >= before && passed <= after + tolerance {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "{before} {passed} {after} {exact}");
        }
    });
}

#[test]
fn a_packet_has_the_length_that_the_filter_accepts() {
    let Some(host) = loopback() else {
        return;
    };
    host.run(|| {
        let mut socket = open(Device::Any, Layer::Network, 9, 64);
        // The last byte of the accepted part.
        send("127.0.0.1", ("127.0.0.1", 9), &[&[7; 5000]]);
        let seen = receive(&mut socket, &[7; 36]);
        assert_eq!((seen[0].bytes.len(), seen[0].original_len), (64, 5028));
    });
}

#[test]
fn packets_beyond_the_buffer_are_counted() {
    let Some(host) = loopback() else {
        return;
    };
    host.run(|| {
        const PACKETS: usize = 1000;
        let mut socket = PacketSocket::open(Device::Any, Layer::Network, 1, |link| to_port(link, 9, 0xffff));
        let socket = socket.as_mut().expect("a socket");
        let size = socket.receive_buffer().expect("a size");
        assert!(size < 4096, "{size}");
        send("127.0.0.1", ("127.0.0.1", 9), &[&[0; 100][..]; PACKETS]);
        let before = receive(socket, &[0]).len();
        assert_eq!(socket.missed(), 0);
        send("127.0.0.1", ("127.0.0.1", 9), &[b"end"]);
        let (mut after_loss, mut after) = (0, 0);
        socket
            .receive(|packet| {
                after += 1;
                after_loss += usize::from(packet.after_loss);
            })
            .expect("packets");
        assert_eq!((after, after_loss), (1, 1));
        assert_eq!(before as u64 + socket.missed(), PACKETS as u64);
    });
}

#[test]
fn a_sent_frame_arrives_at_the_other_end() {
    let Some((a, b)) = pair() else {
        return;
    };
    let mut received = b.run(|| open(Device::Named("eth0"), Layer::Link, 9, 0xffff));
    let frame = {
        let udp = Udp { src_port: 1, dst_port: 9, payload_len: 3, payload: b"end" };
        let header = Ipv4Header::new(Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2), protocol::UDP, 11);
        let mut frame = vec![0; 14 + 20 + 11];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        let sum: PseudoHeader = header.pseudo_header();
        let at = 14 + header.emit(&mut frame[14..]).expect("a header");
        udp.emit(Some(&sum), &mut frame[at..]).expect("a datagram");
        frame
    };
    let sent = frame.clone();
    a.run(move || {
        let device = Device::Named("eth0");
        open(device, Layer::Link, 9, 0).send(&sent).expect("it is sent");
        let error = open(device, Layer::Network, 9, 0).send(&sent).expect_err("it only receives");
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    });
    let seen = receive(&mut received, b"end");
    assert_eq!((seen.len(), &seen[0].bytes, seen[0].outgoing), (1, &frame, false));
}

#[test]
fn a_removed_device_is_noticed() {
    let Some((a, _b)) = pair() else {
        return;
    };
    let mut socket = a.run(|| open(Device::Named("eth0"), Layer::Network, 9, 0xffff));
    let mut removed = || {
        socket.receive(|_| ()).expect("no error");
        socket.is_removed()
    };
    assert!(!removed());
    a.sh("ip link set eth0 down");
    assert!(!removed());
    a.sh("ip link delete eth0; ip link add eth0 type veth peer name other");
    assert!(removed());
}

/// The kernel reports the removal before packets that wait.
#[test]
fn a_device_removed_while_packets_wait_is_noticed() {
    let Some((a, b)) = pair() else {
        return;
    };
    let mut socket = a.run(|| open(Device::Named("eth0"), Layer::Network, 9, 0xffff));
    b.run(|| send("192.0.2.2", ("192.0.2.1", 9), &[b"waits"]));
    let wait = PollFd::new(socket.as_fd(), PollFlags::POLLIN);
    assert_eq!(poll(&mut [wait], 10_000_u16), Ok(1));
    a.sh("ip link delete eth0; ip link add eth0 type veth peer name other");
    let counts = [(); 3].map(|()| socket.receive(|_| ()).expect("no error"));
    assert_eq!(counts, [0, 1, 0]);
    assert!(socket.is_removed());
}

#[test]
fn impossible_sockets_are_refused() {
    let Some(host) = loopback() else {
        return;
    };
    host.run(|| {
        let open = |device, layer| PacketSocket::open(device, layer, BUFFER, |link| to_port(link, 9, 64)).err();
        for layer in [Layer::Link, Layer::Network] {
            let error = open(Device::Named("nothing0"), layer);
            assert!(matches!(error, Some(PacketError::NoInterface(_))), "{error:?}");
        }
        let error = open(Device::Any, Layer::Link);
        assert!(matches!(error, Some(PacketError::NoCommonLink)), "{error:?}");
    });
}
