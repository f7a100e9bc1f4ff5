//! A server that answers SYNs so late that the client has retransmitted them.

use crate::network::{Network, SERVER, after_change};
use gentle_packets::bpf::{Assembler, Transport, opcode, skip_headers};
use gentle_packets::{Device, Layer, PacketSocket};
use gentle_wire::{Ipv4Header, LinkType, Tcp, TcpFlags, Transport as Parsed, Tunnels, dissect, protocol};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Length of an Ethernet header.
const ETHERNET: usize = 14;

/// Answers SYNs at port 80 in place of the server's TCP, each after the delay, milliseconds.
fn answer_after(network: &Network, delay: &Arc<AtomicU64>) {
    network.server.sh("nft add rule inet loss arriving tcp dport 80 drop");
    let delay = Arc::clone(delay);
    let mut socket = network.server.run(|| {
        let tcp_only = |link| {
            let mut p = Assembler::default();
            let [tcp, reject] = p.labels();
            skip_headers(&mut p, link, &Transport { tcp, udp: None, icmp_error: reject, reject });
            p.at(tcp).op(opcode::RET | opcode::K, 0xffff);
            p.at(reject).op(opcode::RET | opcode::K, 0);
            p.finish()
        };
        PacketSocket::open(Device::Named("eth0"), Layer::Link, 1 << 20, tcp_only).expect("a socket")
    });
    drop(network.server.start(move || {
        let mut waiting: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
        loop {
            let mut sources = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
            poll(&mut sources, PollTimeout::from(5_u8)).expect("a poll");
            let due = Instant::now() + Duration::from_millis(delay.load(Ordering::Relaxed));
            let received = socket.receive(|received| {
                if !received.outgoing
                    && let Some(answer) = answer(received.bytes)
                {
                    waiting.push_back((due, answer));
                }
            });
            if received.is_err() || socket.is_removed() {
                return;
            }
            while let Some((_, answer)) = waiting.pop_front_if(|(due, _)| *due <= Instant::now()) {
                socket.send(&answer).expect("the device is up");
            }
        }
    }));
}

/// SYN/ACK that answers a SYN in an Ethernet frame; `None` for any other frame.
fn answer(frame: &[u8]) -> Option<Vec<u8>> {
    let packet = dissect(LinkType::ETHERNET, frame, frame.len() as u32, Tunnels::Outer).ok()?;
    let Parsed::Tcp(syn) = packet.transport else { return None };
    if !syn.flags.any(TcpFlags::SYN) || syn.dst_port != 80 {
        return None;
    }
    let (stamp, _) = syn.timestamps()?;
    let options = [&[1, 1, 8, 10, 0, 0, 0, 1][..], &stamp.to_be_bytes()].concat();
    let synack = Tcp {
        src_port: syn.dst_port,
        dst_port: syn.src_port,
        seq: 1,
        ack: syn.seq.wrapping_add(1),
        flags: TcpFlags::SYN | TcpFlags::ACK,
        window: 0xffff,
        payload_len: 0,
        options: &options,
        payload: &[],
    };
    let v4 = |address| match IpAddr::from(address) {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    };
    let (from, to): (Ipv4Addr, Ipv4Addr) = (v4(packet.ip.dst)?, v4(packet.ip.src)?);
    let header = Ipv4Header::new(from, to, protocol::TCP, synack.header_len() as u32);
    let mut answer = [&frame[6..12], &frame[..6], &frame[12..ETHERNET], &[0; 80]].concat();
    let ip = header.emit(&mut answer[ETHERNET..]).ok()?;
    let tcp = synack.emit(&header.pseudo_header(), &mut answer[ETHERNET + ip..]).ok()?;
    answer.truncate(ETHERNET + ip + tcp);
    Some(answer)
}

/// Round trips of 900 ms, and then of 1,150 ms: the SYN is retransmitted after a second, and its predecessor answered 150 ms
/// later.
#[test]
fn an_answer_later_than_the_rto_is_late_and_no_loss() {
    let Some(network) = Network::new() else { return };
    let delay = Arc::new(AtomicU64::new(900));
    answer_after(&network, &delay);
    let longer = move || delay.store(1_150, Ordering::Relaxed);
    let is_time = |connects: &[_]| connects.len() >= 3;
    let report = network.probe_with(&[SERVER.to_owned()], 4.0, 24, TIMEOUT, is_time, longer);
    assert!(report.connects.iter().all(|connect| !connect.has_loss()), "{:?}", report.connects);
    let late: Vec<_> = after_change(&report).into_iter().filter(|connect| connect.syns > 1).collect();
    assert!(!late.is_empty(), "{:?}", report.connects);
    for connect in &late {
        assert!(connect.late && connect.connect_s > 1.1, "{connect:?}");
    }
    let summed: u64 = report.summaries.iter().map(|summary| summary.late).sum();
    assert_eq!(summed, late.len() as u64);
}
