//! Parameters of one run.

use crate::scenario::Scenario;
use gentle_aqm::Spec;

/// One run: a scenario under one scheme with one seed.
#[derive(Debug, Clone, Copy)]
pub struct RunSpec<'a> {
    /// Links, hosts and traffic.
    pub scenario: &'a Scenario,
    /// Queue under test, on the link of [`Direction::Down`](crate::Direction::Down).
    pub scheme: &'a Spec,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Upper ends, ascending, of the ranges of connection sizes in segments that results distinguish.
    pub bins: &'a [u64],
    /// Keep the connections one by one: [`RunRecord::connections`](crate::RunRecord::connections).
    pub keep_connections: bool,
}
