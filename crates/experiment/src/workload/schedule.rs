//! Merging of the connections of all workloads in order of time.

use super::{Arrival, ArrivalContext, Arrivals, Workload};
use crate::direction::Direction;
use crate::draw::Streams;
use gentle_units::Instant;

/// Iterator over the connections that a scenario starts with one seed, in order of time. All backends see the same
/// connections.
pub struct Schedule {
    workloads: Vec<Arrivals>,
    /// The next connection of each workload.
    upcoming: Vec<Option<Arrival>>,
    /// The earliest start in `upcoming`; else [`Instant::NEVER`].
    next_at: Instant,
}

impl Schedule {
    pub(crate) fn new(workloads: &[Workload], context: &ArrivalContext, streams: &Streams) -> Schedule {
        let mut workloads: Vec<Arrivals> = (workloads.iter().enumerate())
            .map(|(index, workload)| Arrivals::new(workload, index, streams.workload(index), context))
            .collect();
        let upcoming = workloads.iter_mut().map(Arrivals::next).collect();
        let mut schedule = Schedule { workloads, upcoming, next_at: Instant::NEVER };
        schedule.find_next();
        schedule
    }

    /// Multiplies the rate at which connections start at random in `direction` by `factor` from `now` on. Lists of flows
    /// and long-lived connections stay as they are.
    pub fn scale(&mut self, now: Instant, direction: Direction, factor: f64) {
        let all = self.workloads.iter_mut().zip(&mut self.upcoming);
        for (workload, upcoming) in all {
            workload.scale(now, direction, factor, upcoming);
        }
        self.find_next();
    }

    /// Start of the next connection; [`Instant::NEVER`] after the last one.
    #[inline]
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    fn find_next(&mut self) {
        let times = self.upcoming.iter().flatten().map(|arrival| arrival.at);
        self.next_at = times.min().unwrap_or(Instant::NEVER);
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
    use crate::Scenario;
    use gentle_units::Nanos;

    /// Times in seconds at which connections of `short` start, with the rate multiplied by `factor` from 20 s on.
    fn starts(factor: f64) -> Vec<f64> {
        let mut scenario = Scenario::builtin("short").unwrap();
        scenario.set_duration(Nanos::from_secs(100));
        let mut schedule = scenario.schedule(1);
        let mut starts = Vec::new();
        let change = Instant::from_secs(20);
        while schedule.next_at() < change {
            starts.extend(schedule.next().map(|arrival| arrival.at.as_secs_f64()));
        }
        if factor != 1.0 {
            schedule.scale(change, Direction::Down, factor);
        }
        starts.extend(schedule.map(|arrival| arrival.at.as_secs_f64()));
        starts
    }

    #[test]
    fn a_load_that_changes_moves_the_same_connections() {
        let own = starts(1.0);
        for factor in [0.5, 1.7] {
            let moved = starts(factor);
            assert!(moved.is_sorted());
            assert!(moved.iter().all(|at| *at < 100.0));
            for (moved, own) in moved.iter().zip(&own) {
                let expected = match *own < 20.0 {
                    true => *own,
                    false => 20.0 + (own - 20.0) / factor,
                };
                assert!((moved - expected).abs() < 1e-6, "{moved} {expected}");
            }
            let before = own.iter().filter(|at| **at < 20.0).count();
            let ratio = (moved.len() - before) as f64 / (own.len() - before) as f64;
            assert!((ratio - factor).abs() < 0.1, "{ratio}");
        }
    }

    #[test]
    fn the_other_direction_stays_as_it_is() {
        let mut scenario = Scenario::builtin("short").unwrap();
        scenario.set_duration(Nanos::from_secs(30));
        let mut schedule = scenario.schedule(1);
        schedule.scale(Instant::ZERO, Direction::Up, 3.0);
        assert!(schedule.eq(scenario.schedule(1)));
    }
}
