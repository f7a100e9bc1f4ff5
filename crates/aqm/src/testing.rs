//! Test packets, for the unit tests of this crate and, included by path, for its integration tests.

use gentle_aqm::{Ecn, Handshake, Packet, Qdisc, registry};
use gentle_units::Nanos;

/// A packet whose properties a test chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TestPacket {
    /// Number that tells packets apart.
    pub(crate) id: u32,
    pub(crate) flow: u64,
    pub(crate) bytes: u32,
    pub(crate) flags: Handshake,
    pub(crate) ecn: Ecn,
    pub(crate) dscp: u8,
    pub(crate) arrived: Nanos,
}

impl TestPacket {
    /// A segment without SYN and FIN, not ECN-capable, with the number 0.
    pub(crate) fn data(flow: u64, bytes: u32) -> TestPacket {
        TestPacket {
            id: 0,
            flow,
            bytes,
            flags: Handshake::default(),
            ecn: Ecn::NotEct,
            dscp: 0,
            arrived: Nanos::ZERO,
        }
    }

    pub(crate) fn syn(flow: u64) -> TestPacket {
        let mut packet = TestPacket::data(flow, 74);
        packet.flags.syn = true;
        packet
    }

    pub(crate) fn fin(flow: u64) -> TestPacket {
        let mut packet = TestPacket::data(flow, 66);
        packet.flags.fin = true;
        packet
    }

    pub(crate) fn numbered(self, id: u32) -> TestPacket {
        TestPacket { id, ..self }
    }

    pub(crate) fn of_bytes(self, bytes: u32) -> TestPacket {
        TestPacket { bytes, ..self }
    }

    pub(crate) fn ecn_capable(self) -> TestPacket {
        let ecn = Ecn::Ect0;
        TestPacket { ecn, ..self }
    }
}

impl Packet for TestPacket {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ip_bytes(&self) -> u32 {
        self.bytes - 14
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn handshake(&self) -> Handshake {
        self.flags
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        assert_ne!(self.ecn, Ecn::NotEct, "only ECN-capable packets are marked");
        self.ecn = Ecn::Ce;
    }
    fn arrived(&self) -> Nanos {
        self.arrived
    }
    fn set_arrived(&mut self, now: Nanos) {
        self.arrived = now;
    }
}

/// Builds the queue that `spec` describes, with a fixed seed.
pub(crate) fn build(spec: &str) -> Box<dyn Qdisc<TestPacket>> {
    registry::build(&spec.parse().expect("a specification"), 1)
}
