//! Bounds on the connections of a run, so that no scenario file exhausts the memory of the machine that runs it.

use super::Scenario;
use crate::direction::Direction;
use crate::traffic::Consists;
use gentle_units::text::count;

/// Maximum number of connections that a run is expected to start. The largest published scenario starts a few hundred thousand.
const MOST: f64 = 1e8;

/// Maximum number of connections that are expected to be open at a time, of about 2.3 kB each in the simulator.
const MOST_OPEN: f64 = 1e6;

impl Scenario {
    /// Number of connections and flows that a run is expected to start.
    pub fn expected_connections(&self) -> f64 {
        let started = self.workloads.iter();
        started.map(|workload| workload.traffic.kind().started(self.duration)).sum()
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
            let remaining = match workload.traffic.consists() {
                Consists::Connections => excess[workload.direction.index()],
                _ => 1.0,
            };
            workload.traffic.kind().started(self.duration) * remaining
        });
        open.sum()
    }
}
