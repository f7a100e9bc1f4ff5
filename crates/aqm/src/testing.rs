//! What the unit tests of the schemes share: a packet, and a queue from its specification.

use crate::plumbing::packet::{Ecn, Handshake};
use crate::plumbing::qdisc::Qdisc;
use crate::plumbing::registry;
use gentle_units::Nanos;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) flow: u64,
    pub(crate) number: u32,
    bytes: u32,
    handshake: Handshake,
    ecn: Ecn,
    arrived: Nanos,
}

impl Packet {
    pub(crate) fn data(flow: u64, bytes: u32) -> Packet {
        Packet {
            flow,
            number: 0,
            bytes,
            handshake: Handshake::default(),
            ecn: Ecn::NotEct,
            arrived: Nanos::ZERO,
        }
    }

    pub(crate) fn syn(flow: u64) -> Packet {
        let mut packet = Packet::data(flow, 74);
        packet.handshake.syn = true;
        packet
    }

    pub(crate) fn fin(flow: u64) -> Packet {
        let mut packet = Packet::data(flow, 66);
        packet.handshake.fin = true;
        packet
    }

    pub(crate) fn numbered(self, number: u32) -> Packet {
        Packet { number, ..self }
    }

    pub(crate) fn of_bytes(self, bytes: u32) -> Packet {
        Packet { bytes, ..self }
    }

    pub(crate) fn ecn_capable(self) -> Packet {
        Packet {
            ecn: Ecn::Ect0,
            ..self
        }
    }
}

impl crate::plumbing::packet::Packet for Packet {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ip_bytes(&self) -> u32 {
        self.bytes - 14
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn handshake(&self) -> Handshake {
        self.handshake
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn arrived(&self) -> Nanos {
        self.arrived
    }
    fn set_arrived(&mut self, now: Nanos) {
        self.arrived = now;
    }
}

/// The queue that `spec` describes, with a fixed seed.
pub(crate) fn build(spec: &str) -> Box<dyn Qdisc<Packet>> {
    registry::build(&spec.parse().expect("a specification"), 1)
}
