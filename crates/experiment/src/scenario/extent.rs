//! Bounds on the connections of a run, so that no scenario file exhausts the memory of the machine that runs it.

use super::Scenario;
use crate::direction::Direction;
use crate::workload::{Traffic, Workload};
use gentle_units::Nanos;
use gentle_units::text::count;

/// Maximum number of connections that a run is expected to start. The largest published scenario starts a few hundred thousand.
const MOST: f64 = 1e8;

/// Maximum number of connections that are expected to be open at a time, of about 2.3 kB each in the simulator.
const MOST_OPEN: f64 = 1e6;

impl Scenario {
    /// Number of connections and flows that a run is expected to start.
    pub fn expected_connections(&self) -> f64 {
        let started = self.workloads.iter();
        started.map(|workload| self.started_by(workload)).sum()
    }

    /// Checks that the expected number of connections is at most 100 million, and at most one million at a time: those that last as
    /// long as the run, and those that the links cannot carry.
    ///
    /// # Errors
    /// The number that is too large, and what to change.
    pub fn check_extent(&self) -> Result<(), String> {
        let started = self.expected_connections();
        if started > MOST {
            return Err(format!(
                "a run would start about {} connections; expected at most {}: longer gaps, fewer flows or a shorter duration",
                count(started as u64),
                count(MOST as u64)
            ));
        }
        // The load takes a moment to compute.
        let open = if started > MOST_OPEN { self.open() } else { 0.0 };
        if open > MOST_OPEN {
            return Err(format!(
                "about {} connections would be open at a time, because the links cannot carry them; expected at most {}: a lower load, fewer flows or a shorter duration",
                count(open as u64),
                count(MOST_OPEN as u64)
            ));
        }
        Ok(())
    }

    /// Number of connections and flows that are expected to be open at the end of arrivals.
    fn open(&self) -> f64 {
        // Connections whose data the link cannot carry remain.
        let excess = Direction::BOTH.map(|direction| (1.0 - 1.0 / self.load(direction)).max(0.0));
        let open = self.workloads.iter().map(|workload| {
            let remaining = match workload.traffic {
                Traffic::Poisson { .. } | Traffic::Web { .. } | Traffic::Replay { .. } => {
                    excess[workload.direction.index()]
                }
                _ => 1.0,
            };
            self.started_by(workload) * remaining
        });
        open.sum()
    }

    fn started_by(&self, workload: &Workload) -> f64 {
        // Events with this mean distance until the end of arrivals; the first one is at once.
        let until_end = |gap: Nanos| 1.0 + self.duration.as_secs_f64() / gap.as_secs_f64();
        match &workload.traffic {
            Traffic::Poisson { gap, .. } => until_end(*gap),
            Traffic::Web { sessions, session_gap, pages, page_gap, objects, object_gap, .. } => {
                // Counts are rounded up, by half on average.
                f64::from(*sessions).min(until_end(*session_gap))
                    * (pages + 0.5).min(until_end(*page_gap))
                    * (objects + 0.5).min(until_end(*object_gap))
            }
            Traffic::Long { flows, .. } => f64::from(*flows),
            Traffic::Datagrams(traffic) => f64::from(traffic.flows),
            Traffic::Dialogue(dialogue) => f64::from(dialogue.users),
            Traffic::Replay { flows } => flows.len() as f64,
            Traffic::Udp(_) | Traffic::SynFlood(_) => 0.0,
        }
    }
}
