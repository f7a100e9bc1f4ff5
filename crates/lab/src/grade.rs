//! A grade of a scheme: what the others on the link cost a short connection.
//!
//! Each connection of up to [`SHORT_SEGMENTS`] segments is compared with itself on an idle link. Its time there is measured, by
//! the same scenario with the same seed on links [`SPEEDUP`] times as fast with queues that drop nothing, where nobody waits
//! for anybody; the transmission time of its data at the rate of the link is added. Random loss and delays of the link
//! itself act on both, so the grade is about the queue.

use gentle_aqm::Spec;
use gentle_experiment::{ConnectionRecord, Consists, Direction, Ending, IP_HEADER, Scenario, Traffic};
use gentle_units::{Instant, Nanos, Rate};
use std::collections::HashMap;

/// Largest connection that counts, segments: what current systems send without waiting for an acknowledgment (RFC 6928).
pub const SHORT_SEGMENTS: u64 = 10;
/// Rate of the idle links, as a multiple.
const SPEEDUP: u64 = 100;
/// TCP header without options, bytes.
const TCP_HEADER: u32 = 20;

/// Grades with the mean time in seconds below which they apply: the limits of DSLReports' test of bufferbloat for the
/// latency that load adds to a round trip (<https://www.dslreports.com/faq/17930>).
pub const GRADES: [(&str, f64); 6] =
    [("A+", 0.005), ("A", 0.030), ("B", 0.060), ("C", 0.200), ("D", 0.400), ("F", f64::INFINITY)];

/// The grade of a mean time added, in seconds.
pub fn grade(added_s: f64) -> &'static str {
    let found = GRADES.iter().find(|(_, below)| added_s < *below);
    found.unwrap_or(&GRADES[GRADES.len() - 1]).0
}

/// Time that the others on the link add to short connections, over all runs of one scheme.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Added {
    sum_s: f64,
    connections: u64,
}

impl Added {
    /// Mean per connection, seconds; `None` without short connections. Never negative: an initial window of few segments can
    /// send some data while it would wait for an acknowledgment anyway, and then the idle link's time is a little too long.
    pub(crate) fn mean_s(&self) -> Option<f64> {
        (self.connections > 0).then(|| (self.sum_s / self.connections as f64).max(0.0))
    }

    /// Counts the connections of a run. Those that did not finish count as if they had at the end of the run.
    pub(crate) fn count(&mut self, scenario: &Scenario, idle: &Idle, connections: &[ConnectionRecord]) {
        let end = scenario.ends_at();
        for connection in connections {
            let Some(alone) = idle.0.get(&key(connection)) else {
                continue;
            };
            let took = match connection.ending {
                Ending::Completed(took) => took,
                Ending::Failed | Ending::Unfinished => end.saturating_since(connection.started),
            };
            self.sum_s += took.as_secs_f64() - alone.as_secs_f64();
            self.connections += 1;
        }
    }
}

/// Response times of the short connections of a scenario with one seed, on an idle link.
pub(crate) struct Idle(HashMap<Key, Nanos>);

/// Workload, start and size identify a connection.
type Key = (usize, Instant, u64);

fn key(connection: &ConnectionRecord) -> Key {
    (connection.workload, connection.started, connection.segments)
}

impl Idle {
    /// From the `connections` of a run of [`scenario`](Idle::scenario).
    pub(crate) fn new(scenario: &Scenario, connections: &[ConnectionRecord]) -> Idle {
        let short = connections.iter().filter(|connection| connection.segments <= SHORT_SEGMENTS);
        let times = short.filter_map(|connection| {
            let Ending::Completed(took) = connection.ending else {
                return None;
            };
            let direction = scenario.workloads[connection.workload].direction;
            let link = scenario.link(direction);
            let packet = u32::from(scenario.profile.mss) + IP_HEADER + TCP_HEADER + link.overhead;
            let sending = link.rate.time_to_send(connection.segments * u64::from(packet));
            Some((key(connection), took + sending))
        });
        Idle(times.collect())
    }

    /// The scenario whose links are idle: fast, without limits of their queues, and with nothing on them but connections
    /// whose start does not depend on the link.
    pub(crate) fn scenario(scenario: &Scenario) -> Scenario {
        let mut idle = scenario.clone();
        for direction in Direction::BOTH {
            let rate = idle.link(direction).rate.bits_per_second();
            let fast = Rate::from_bits_per_second(rate.saturating_mul(SPEEDUP));
            idle.set_rate(direction, fast.expect("no rate is 0"));
            let link = &mut idle.links[direction.index()];
            link.qdisc = Idle::scheme();
            link.as_down = false;
        }
        for workload in &mut idle.workloads {
            // A workload draws its random numbers by its place among the others, so it stays, empty.
            if workload.traffic.consists() != Consists::Connections {
                workload.traffic = Traffic::nothing();
            }
        }
        idle
    }

    /// The queue of an idle link: it never drops.
    pub(crate) fn scheme() -> Spec {
        "pfifo limit=1000000".parse().expect("a scheme of the registry")
    }
}
