//! Datagrams at a constant rate.

use crate::direction::Direction;
use crate::scenario::Scenario;
use crate::workload::Traffic;
use gentle_units::{Nanos, Rate};

/// A constant-rate flow.
pub(crate) struct Udp {
    pub(crate) direction: Direction,
    /// Length on the link.
    pub(crate) bytes: u32,
    pub(crate) sent: u64,
    rate: Rate,
    /// Length of an IP packet, which the rate counts.
    ip_bytes: u32,
    start: Nanos,
    stop: Nanos,
}

impl Udp {
    /// The constant-rate flows of a scenario.
    pub(crate) fn all(scenario: &Scenario) -> Vec<Udp> {
        let flows = scenario.workloads.iter();
        flows
            .filter_map(|workload| match workload.traffic {
                Traffic::Udp {
                    rate,
                    bytes,
                    start,
                    stop,
                } => Some(Udp {
                    direction: workload.direction,
                    bytes: bytes + scenario.link(workload.direction).overhead,
                    sent: 0,
                    rate,
                    ip_bytes: bytes,
                    start,
                    stop: stop.unwrap_or(Nanos::MAX).min(scenario.duration),
                }),
                _ => None,
            })
            .collect()
    }

    /// When the next datagram is due. Reckoned from the start, so that rounding does not add up.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        let before = self.sent * u64::from(self.ip_bytes);
        let at = self.start + self.rate.time_to_send(before);
        (at < self.stop).then_some(at)
    }
}
