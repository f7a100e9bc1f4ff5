//! Flood of SYNs from random addresses.

use crate::network::{Network, PORT, SERVER, counter};
use crate::process::Process;
use gentle_packets::bpf::Assembler;
use gentle_packets::bpf::opcode::{K, RET};
use gentle_packets::{Device, Host, Layer, PacketSocket};
use gentle_trace::live::Attempt;
use gentle_wire::{Ipv4Header, Tcp, TcpFlags, protocol};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Number of SYNs, and the largest number that is not analysed yet: half of what the socket holds.
const SYNS: u32 = 200_000;
const AHEAD: u64 = 30_000;
const CONNECTS: usize = 40;

/// Largest memory of the process of a watch with a limit of 64 MB, bytes.
const MOST_MEMORY: u64 = 100 << 20;

/// Sends SYNs from random addresses and ports to port 7 of the server.
fn flood(client: &Host, destination: [u8; 6], analysed: &AtomicU64) {
    let socket = client.run(|| {
        let mut nothing = Assembler::default();
        nothing.op(RET | K, 0);
        PacketSocket::open(Device::Named("eth0"), Layer::Link, 1 << 16, |_| nothing.finish()).expect("a socket")
    });
    let mut frame = [0; 14 + 20 + 20];
    frame[..6].copy_from_slice(&destination);
    frame[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 8, 0]);
    for n in 0..SYNS {
        // Knuth's multiplier spreads the numbers over all addresses and ports.
        let random = n.wrapping_mul(0x9e37_79b1);
        let source = [10 + (random >> 28) as u8, (random >> 16) as u8, (random >> 8) as u8, random as u8];
        let header = Ipv4Header::new(source.into(), [192, 0, 2, 2].into(), protocol::TCP, 20);
        let tcp = Tcp {
            src_port: 1024 + (random >> 12) as u16 % 60_000,
            dst_port: 7,
            seq: random,
            ack: 0,
            flags: TcpFlags::SYN,
            window: 1000,
            payload_len: 0,
            options: &[],
            payload: &[],
        };
        let sum = header.pseudo_header();
        let at = 14 + header.emit(&mut frame[14..]).expect("a header");
        tcp.emit(&sum, &mut frame[at..]).expect("a segment");
        socket.send(&frame).expect("it is sent");
        while u64::from(n) > analysed.load(Ordering::Relaxed) + AHEAD {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn flood_does_not_change_the_statistics_of_connects() {
    let Some(network) = Network::new() else { return };
    network.serve(PORT);
    network.server.sh("ip link set eth0 address 02:00:00:00:00:02");
    network.client.sh("ip neighbour flush dev eth0");
    network.resolve();
    network
        .server
        .sh("nft 'add rule inet loss arriving tcp dport 80 tcp flags & (syn|ack) == syn numgen inc mod 3 0 drop'");
    let folder = tempfile::tempdir().expect("a folder");
    let process = Process::start(&network.server, Some(folder.path()), 64_000_000);
    let begun = counter(&network.client, "TCPSynRetrans");
    let (client, analysed) = (Arc::clone(&network.client), Arc::clone(&process.analysed));
    let flooding = std::thread::spawn(move || flood(&client, [2, 0, 0, 0, 0, 2], &analysed));
    let mut connected = 0;
    while !flooding.is_finished() {
        connected += network.connect(SERVER, CONNECTS);
    }
    flooding.join().expect("the flood ends");
    connected += network.connect(SERVER, CONNECTS);
    // The last packets are analysed, and the last attempts decided: for 5 s, no packet comes.
    let mut lines = Vec::new();
    let mut quiet = (0, 0);
    while quiet.1 < 5 {
        lines.push(process.next());
        if let Some(packets) = lines.last().and_then(|line| line["value"]["packets"].as_u64()) {
            quiet = (packets, if packets == quiet.0 { quiet.1 + 1 } else { 0 });
        }
    }
    let repeated = counter(&network.client, "TCPSynRetrans") - begun;
    lines.extend(process.end());
    let of =
        |kind: &str| lines.iter().filter(|line| line["type"] == kind).map(|line| &line["value"]).collect::<Vec<_>>();
    let attempts: Vec<Attempt> =
        of("attempt").into_iter().map(|it| serde_json::from_value(it.clone()).expect("an attempt")).collect();
    let last = (*of("summary").last().expect("a summary")).clone();
    let peak = of("peak")[0].as_u64().expect("a size");
    assert_eq!(last["missed"], 0);
    assert_eq!(last["sample"], 1.0);
    assert!(peak < MOST_MEMORY, "{peak}");
    assert_eq!(attempts.iter().filter(|it| !it.has_failed()).count(), connected, "{attempts:#?}");
    // The watch of the server does not see what was dropped before it; nft drops behind the packet socket.
    assert_eq!(attempts.iter().map(|it| u64::from(it.syns) - 1).sum::<u64>(), repeated, "{attempts:#?}");
    let failed = last["minute"]["failed"].as_u64().expect("a count");
    assert!(failed + last["forgotten"].as_u64().expect("a count") >= u64::from(SYNS), "{last:#}");
}
