//! Loads of links by traffic.

use super::Span;
use crate::direction::Direction;
use gentle_units::Nanos;

/// Properties of a link, a workload and a scenario on which the load of the link by the workload depends.
pub(crate) struct Offering<'a> {
    /// Direction of the link.
    pub(crate) direction: Direction,
    /// Direction of the workload.
    pub(crate) workload_direction: Direction,
    /// Length of the arrival process.
    pub(crate) duration: Nanos,
    /// Bytes that the link layer adds to a packet.
    pub(crate) overhead: u32,
    /// Payload of a full segment, bytes.
    pub(crate) mss: u16,
    /// Packets of the connections' data.
    pub(crate) packets: Packets,
    /// Mean load of schedules that are drawn, for traffic without a formula, bits per second.
    pub(crate) drawn: &'a dyn Fn() -> f64,
}

/// Segmentation of payload into packets: payload and headers of a full packet, bytes.
#[derive(Clone, Copy)]
pub(crate) struct Packets {
    pub(crate) payload: u64,
    pub(crate) headers: u64,
}

impl Packets {
    /// Bytes on the link of a connection with `payload` bytes.
    pub(crate) fn bytes(&self, payload: u64) -> u64 {
        payload + payload.div_ceil(self.payload) * self.headers
    }

    /// Bytes on the link of a connection with this end of its data; none of a long-lived one.
    pub(crate) fn bytes_of(&self, span: Span) -> u64 {
        match span {
            Span::Bytes(payload) => self.bytes(payload),
            Span::Until(_) => 0,
        }
    }

    /// Mean bytes on the link of connections with a mean of `payload` bytes, all in full packets.
    pub(crate) fn bytes_of_mean(&self, payload: f64) -> f64 {
        payload * (1.0 + self.headers as f64 / self.payload as f64)
    }
}
