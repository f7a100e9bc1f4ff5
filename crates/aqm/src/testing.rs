//! Test packets, for the unit tests of this crate and, included by path, for its integration tests.

use gentle_aqm::{Ecn, Handshake, Hosts, Packet, Qdisc, TcpHeader, registry};
use gentle_units::Instant;

/// A packet whose properties a test chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TestPacket {
    /// Number that identifies a packet.
    pub(crate) id: u32,
    pub(crate) flow: u64,
    pub(crate) bytes: u32,
    pub(crate) flags: Handshake,
    pub(crate) ecn: Ecn,
    pub(crate) dscp: u8,
    /// Source and destination; `None`: separate for each flow.
    pub(crate) hosts: Option<(u64, u64)>,
    pub(crate) tcp: Option<TcpHeader>,
    pub(crate) remaining: Option<u64>,
    pub(crate) arrived: Instant,
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
            hosts: None,
            tcp: None,
            remaining: None,
            arrived: Instant::ZERO,
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

    pub(crate) fn between(self, source: u64, destination: u64) -> TestPacket {
        let hosts = Some((source, destination));
        TestPacket { hosts, ..self }
    }

    pub(crate) fn with_remaining(self, bytes: u64) -> TestPacket {
        let remaining = Some(bytes);
        TestPacket { remaining, ..self }
    }

    pub(crate) fn with_dscp(self, dscp: u8) -> TestPacket {
        TestPacket { dscp, ..self }
    }

    /// A pure ACK with this acknowledgment number.
    pub(crate) fn ack(flow: u64, number: u32) -> TestPacket {
        let tcp = TcpHeader { flags: TcpHeader::ACK, ack: number, ..TcpHeader::default() };
        TestPacket { tcp: Some(tcp), ..TestPacket::data(flow, 66) }
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
    fn hosts(&self) -> Hosts {
        let (source, destination) = self.hosts.unwrap_or((self.flow << 1, self.flow << 1 | 1));
        Hosts { source, destination }
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn clear_dscp(&mut self) {
        self.dscp = 0;
    }
    fn tcp(&self) -> Option<TcpHeader> {
        self.tcp
    }
    fn remaining(&self) -> Option<u64> {
        self.remaining
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
    fn arrived(&self) -> Instant {
        self.arrived
    }
    fn set_arrived(&mut self, now: Instant) {
        self.arrived = now;
    }
}

/// Builds the queue that `spec` describes, with a fixed seed.
pub(crate) fn build(spec: &str) -> Box<dyn Qdisc<TestPacket>> {
    registry::build(&spec.parse().expect("a specification"), 1)
}
