//! Packets of a capture as arrivals at a queue.

use super::schedule::{Acknowledgment, Headers, Ip, Offer, Schedule, Tag, Transport};
use gentle_aqm::Ecn;
use gentle_units::{Instant, Nanos, Rate};
use gentle_wire::{Address, LinkType, Packet, Tcp, Tunnels, dissect};
use std::collections::HashMap;

/// A packet with its time of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Time since the start of the schedule; at least [`Schedule::FIRST`].
    pub at: Instant,
    /// Packet.
    pub offer: Offer,
}

/// Packets of both directions of a capture, as arrivals at one queue.
///
/// A packet keeps its time, its length as an Ethernet frame, its flow (one direction of a connection), its hosts, what it
/// acknowledges by TCP, its flags and its codepoints. Every protocol but TCP becomes UDP; VLAN tags and tunnel headers are dropped.
#[derive(Debug, Default)]
pub struct CaptureArrivals {
    arrivals: Vec<Arrival>,
    flows: HashMap<Flow, u32>,
    hosts: HashMap<Address, u32>,
    /// Time of the previous packet in the capture.
    last: Option<Instant>,
    skipped: usize,
}

/// Source, destination, protocol and ports.
type Flow = (Address, Address, u8, u16, u16);

/// Maximum time between two packets. After such a pause every queue is empty and every average has decayed.
const LONGEST_PAUSE: Nanos = Nanos::from_secs(10);
/// Maximum length of a frame of the module (`kernel/testing/replay/packet.c`), bytes.
const LONGEST: u32 = 65_535;
/// Maximum number of flows: flow numbers have 24 bits.
const MAX_FLOWS: usize = 1 << 24;

impl CaptureArrivals {
    /// Adds the next frame of the capture, with its time, link type, captured bytes and length on the wire.
    ///
    /// Skips and counts a frame without a usable IP packet. A pause of more than ten seconds becomes one of ten; a time
    /// before the previous packet's becomes that time.
    pub fn push(&mut self, time: Instant, link: LinkType, frame: &[u8], original_len: u32) {
        let offer = dissect(link, frame, original_len, Tunnels::Outer).ok().and_then(|packet| self.offer(&packet));
        let Some(offer) = offer else {
            self.skipped += 1;
            return;
        };
        let pause = match self.last {
            Some(last) => time.saturating_since(last).min(LONGEST_PAUSE),
            None => Nanos::ZERO,
        };
        let before = self.arrivals.last().map_or(Schedule::FIRST, |arrival| arrival.at);
        self.last = Some(time);
        self.arrivals.push(Arrival { at: before + pause, offer });
    }

    /// Packets in order of time.
    pub fn packets(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Number of frames without a usable IP packet.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Mean rate of all packets, with shortened pauses; `None` if all arrive at the same time.
    pub fn mean_rate(&self) -> Option<Rate> {
        let (first, last) = (self.arrivals.first()?, self.arrivals.last()?);
        let span = last.at.saturating_since(first.at).as_secs_f64();
        let bytes: u64 = self.arrivals.iter().map(|arrival| u64::from(arrival.offer.bytes)).sum();
        let rate = bytes as f64 * 8.0 / span;
        rate.is_finite().then(|| Rate::from_bits_per_second(rate as u64)).flatten()
    }

    /// Packet as the queue sees it; `None`: too long, or one flow too many.
    fn offer(&mut self, packet: &Packet<'_>) -> Option<Offer> {
        let (transport, ports) = match packet.transport {
            gentle_wire::Transport::Tcp(tcp) => (Transport::Tcp(tcp.flags.0 as u8), (tcp.src_port, tcp.dst_port)),
            gentle_wire::Transport::Udp(udp) => (Transport::Udp, (udp.src_port, udp.dst_port)),
            _ => (Transport::Udp, (0, 0)),
        };
        let ip = packet.ip;
        let headers = Headers { ip: if ip.src.is_v4() { Ip::V4 } else { Ip::V6 }, tag: Tag::None, transport };
        let mut offer = Offer {
            flow: 0,
            bytes: 0,
            headers,
            ecn: match ip.tos & 3 {
                0 => Ecn::NotEct,
                1 => Ecn::Ect1,
                2 => Ecn::Ect0,
                _ => Ecn::Ce,
            },
            dscp: ip.tos >> 2,
            hosts: [0; 2],
            acknowledgment: match &packet.transport {
                gentle_wire::Transport::Tcp(tcp) => acknowledgment(tcp),
                _ => Acknowledgment::default(),
            },
        };
        let before_payload = offer.bytes_before_transport();
        offer.bytes = ip.payload_len.checked_add(before_payload)?.max(offer.shortest());
        if offer.bytes > LONGEST || self.flows.len() == MAX_FLOWS {
            return None;
        }
        let number = self.flows.len() as u32;
        let flow = (ip.src, ip.dst, ip.protocol, ports.0, ports.1);
        offer.flow = *self.flows.entry(flow).or_insert(number);
        offer.hosts = [ip.src, ip.dst].map(|address| {
            let number = self.hosts.len() as u32;
            *self.hosts.entry(address).or_insert(number)
        });
        Some(offer)
    }
}

fn acknowledgment(tcp: &Tcp<'_>) -> Acknowledgment {
    // Other options stand for a SYN's.
    let other_option = tcp.mss().is_some() || tcp.window_scale().is_some();
    let mut found =
        Acknowledgment { number: tcp.ack, timestamps: tcp.timestamps(), other_option, ..Acknowledgment::default() };
    let room = Acknowledgment::MAX_SACK - usize::from(other_option);
    for (place, block) in found.sack[..room].iter_mut().zip(tcp.sack_blocks()) {
        *place = block;
        found.sack_count += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_wire::{EthernetHeader, Ipv4Header, TcpFlags, protocol};
    use std::net::Ipv4Addr;

    fn push(capture: &mut CaptureArrivals, ms: u64, port: u16, syn: bool, payload: usize) {
        let ethernet = EthernetHeader { dst: [2; 6], src: [1; 6], tags: &[], ether_type: EthernetHeader::IPV4 };
        let [src, dst] = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
        let tcp = Tcp {
            src_port: port,
            dst_port: 80,
            seq: 1,
            ack: 0,
            flags: if syn { TcpFlags::SYN } else { TcpFlags::ACK },
            window: 1_000,
            payload_len: payload as u32,
            options: &[],
            payload: &[],
        };
        let ip_payload = tcp.header_len() + payload;
        let ip = Ipv4Header::new(src, dst, protocol::TCP, ip_payload as u32);
        let mut frame = vec![0; 14 + 20 + ip_payload];
        let mut at = ethernet.emit(&mut frame).unwrap();
        at += ip.emit(&mut frame[at..]).unwrap();
        tcp.emit(&ip.pseudo_header(), &mut frame[at..]).unwrap();
        let len = frame.len() as u32;
        capture.push(Instant::from_millis(ms), LinkType::ETHERNET, &frame, len);
    }

    #[test]
    fn packets_keep_flow_flags_length_and_time() {
        let mut capture = CaptureArrivals::default();
        push(&mut capture, 5_000, 1000, true, 0);
        push(&mut capture, 5_020, 1001, false, 1000);
        push(&mut capture, 5_010, 1000, false, 100);
        push(&mut capture, 100_000, 1001, false, 0);
        let found: Vec<_> = capture
            .packets()
            .iter()
            .map(|arrival| {
                let Arrival { at, offer } = arrival;
                let ms = (at.0 - Schedule::FIRST.0) / 1_000_000;
                (ms, offer.flow, offer.bytes, offer.handshake().syn)
            })
            .collect();
        let expected = [(0, 0, 54, true), (20, 1, 1054, false), (20, 0, 154, false), (10_020, 1, 54, false)];
        assert_eq!(found, expected);
        assert_eq!(capture.flows(), 2);
        // 1316 bytes in 10.02 seconds.
        assert_eq!(capture.mean_rate(), Rate::from_bits_per_second(1050));
    }

    #[test]
    fn frames_without_ip_are_counted() {
        let mut capture = CaptureArrivals::default();
        capture.push(Instant::ZERO, LinkType::ETHERNET, &[0; 60], 60);
        assert_eq!((capture.packets().len(), capture.skipped()), (0, 1));
        assert_eq!(capture.mean_rate(), None);
    }
}
