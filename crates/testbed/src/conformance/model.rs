//! Replay of a schedule through a queue of `gentle-aqm`.

use super::outcome::{Outcome, Sent};
use super::schedule::{Call, Ip, Offer, Schedule, Transport};
use gentle_aqm::{Ecn, Handshake, Hosts, Packet, Signals, Spec, TcpHeader, priority_of, registry};
use gentle_units::Instant;

/// Replays `schedule` through the queue that `spec` and `seed` build; `clock` gives the time of each step.
pub(super) fn replay(spec: &Spec, seed: u64, schedule: &Schedule, clock: impl Fn(usize) -> Instant) -> Vec<Outcome> {
    let mut queue = registry::build::<NumberedPacket>(spec, seed);
    let mut signals = Signals::new();
    let mut number = 0;
    schedule
        .steps
        .iter()
        .enumerate()
        .map(|(place, step)| {
            let at = clock(place);
            let mut sent = None;
            match step.call {
                Call::Enqueue(offer) => {
                    queue.enqueue(at, NumberedPacket::new(number, offer), &mut signals);
                    number += 1;
                }
                Call::Dequeue | Call::PeekDequeue => {
                    sent = queue.dequeue(at, &mut signals).packet();
                }
            }
            let mut dropped: Vec<u32> = signals.drain().map(|(packet, _)| packet.number).collect();
            // The mark is in the packet's ECN codepoint.
            signals.drain_marks().for_each(drop);
            dropped.sort_unstable();
            Outcome {
                sent: sent.map(|packet| Sent { number: packet.number, ecn: packet.offer.ecn, dscp: packet.offer.dscp }),
                dropped,
                len: queue.len(),
                backlog: queue.backlog(),
            }
        })
        .collect()
}

/// A packet of a schedule.
#[derive(Debug)]
pub(super) struct NumberedPacket {
    number: u32,
    offer: Offer,
    arrived: Instant,
}

impl NumberedPacket {
    pub(super) fn new(number: u32, offer: Offer) -> NumberedPacket {
        NumberedPacket { number, offer, arrived: Instant::ZERO }
    }
}

impl Packet for NumberedPacket {
    fn bytes(&self) -> u32 {
        self.offer.bytes
    }
    fn ip_bytes(&self) -> u32 {
        self.offer.bytes - self.offer.bytes_of_link()
    }
    fn flow(&self) -> u64 {
        u64::from(self.offer.flow)
    }
    fn hosts(&self) -> Hosts {
        let [source, destination] = self.offer.hosts.map(u64::from);
        Hosts { source, destination }
    }
    fn dscp(&self) -> u8 {
        self.offer.dscp
    }
    fn clear_dscp(&mut self) {
        self.offer.dscp = 0;
    }
    fn priority(&self) -> u8 {
        match self.offer.headers.ip {
            Ip::V4 => priority_of(self.offer.dscp),
            // Linux sets no priority when it forwards IPv6.
            Ip::V6 => 0,
        }
    }
    fn tcp(&self) -> Option<TcpHeader> {
        let Transport::Tcp(flags) = self.offer.headers.transport else {
            return None;
        };
        let acknowledgment = &self.offer.acknowledgment;
        let mut sack = TcpHeader::default().sack;
        sack[..acknowledgment.sack.len()].copy_from_slice(&acknowledgment.sack);
        Some(TcpHeader {
            flags: flags.into(),
            ack: acknowledgment.number,
            has_payload: self.offer.bytes > self.offer.shortest(),
            timestamps: acknowledgment.timestamps,
            sack,
            sack_count: acknowledgment.sack_count,
            has_other_options: acknowledgment.other_option,
        })
    }
    fn handshake(&self) -> Handshake {
        self.offer.handshake()
    }
    fn ecn(&self) -> Ecn {
        self.offer.ecn
    }
    fn set_ce(&mut self) {
        self.offer.ecn = Ecn::Ce;
    }
    fn arrived(&self) -> Instant {
        self.arrived
    }
    fn set_arrived(&mut self, now: Instant) {
        self.arrived = now;
    }
}
