//! The connections of all workloads of a scenario, in order of time.

use super::{Arrival, Arrivals, Setting};
use crate::scenario::Scenario;
use gentle_units::Nanos;

/// The connections that a scenario starts under one seed, in order of time: whoever runs the scenario, the simulator or
/// a real kernel, sees the same ones.
pub struct Schedule {
    workloads: Vec<Arrivals>,
    /// The next connection of each workload.
    upcoming: Vec<Option<Arrival>>,
    /// When the first of them is due; [`Nanos::MAX`]: there is none.
    next_at: Nanos,
}

impl Schedule {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Schedule {
        let setting = Setting {
            end: scenario.duration,
            mss: u64::from(scenario.profile.mss),
            link_rtt: scenario.link_rtt(),
        };
        let workloads = scenario.workloads.iter().enumerate();
        let mut workloads: Vec<Arrivals> = workloads
            .map(|(index, workload)| Arrivals::new(workload, index, seed, &setting))
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

    /// When the next connection starts; [`Nanos::MAX`]: none does.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Span;

    #[test]
    fn connections_of_all_workloads_come_in_order_and_depend_on_the_seed_alone() {
        let mut scenario = Scenario::builtin("real-reverse").unwrap();
        scenario.set_duration(Nanos::from_secs(30));
        let of = |seed| Schedule::new(&scenario, seed).collect::<Vec<_>>();
        let first = of(1);
        assert_eq!(first, of(1));
        assert_ne!(first, of(2));
        assert!(first.is_sorted_by_key(|arrival| arrival.at));
        let long = first.iter().filter(|a| matches!(a.span, Span::Until(_)));
        assert_eq!(long.count(), 1);
        assert!((150..400).contains(&first.len()), "{}", first.len());
    }
}
