//! The packet of the integration tests.

use gentle_aqm::{Ecn, Handshake, Packet};
use gentle_units::Nanos;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TestPacket {
    /// Running number, which tells packets apart.
    pub(crate) id: u32,
    pub(crate) flow: u64,
    pub(crate) bytes: u32,
    pub(crate) flags: Handshake,
    pub(crate) ecn: Ecn,
    pub(crate) arrived: Nanos,
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
    fn handshake(&self) -> Handshake {
        self.flags
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        assert_ne!(self.ecn, Ecn::NotEct, "only capable packets are marked");
        self.ecn = Ecn::Ce;
    }
    fn arrived(&self) -> Nanos {
        self.arrived
    }
    fn set_arrived(&mut self, now: Nanos) {
        self.arrived = now;
    }
}
