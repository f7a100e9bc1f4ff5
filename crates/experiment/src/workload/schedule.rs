//! Merging of the connections of all workloads in order of time.

use super::{Arrival, ArrivalContext, Arrivals, Workload};
use gentle_units::Nanos;

/// Iterator over the connections that a scenario starts with one seed, in order of time. All backends see the same
/// connections.
pub struct Schedule {
    workloads: Vec<Arrivals>,
    /// The next connection of each workload.
    upcoming: Vec<Option<Arrival>>,
    /// The earliest start in `upcoming`; [`Nanos::MAX`] if there is none.
    next_at: Nanos,
}

impl Schedule {
    pub(crate) fn new(workloads: &[Workload], context: &ArrivalContext, seed: u64) -> Schedule {
        let mut workloads: Vec<Arrivals> = (workloads.iter().enumerate())
            .map(|(index, workload)| Arrivals::new(workload, index, seed, context))
            .collect();
        let upcoming = workloads.iter_mut().map(Arrivals::next).collect();
        let mut schedule = Schedule {
            workloads,
            upcoming,
            next_at: Nanos::MAX,
        };
        schedule.find_next();
        schedule
    }

    /// Start of the next connection; [`Nanos::MAX`] after the last one.
    #[inline]
    pub fn next_at(&self) -> Nanos {
        self.next_at
    }

    fn find_next(&mut self) {
        let times = self.upcoming.iter().flatten().map(|arrival| arrival.at);
        self.next_at = times.min().unwrap_or(Nanos::MAX);
    }
}

impl Iterator for Schedule {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let due = |arrival: &Option<Arrival>| arrival.is_some_and(|a| a.at == self.next_at);
        let index = self.upcoming.iter().position(due)?;
        let arrival = self.upcoming[index].take();
        self.upcoming[index] = self.workloads[index].next();
        self.find_next();
        arrival
    }
}
