//! Runs that were measured rather than simulated: what a testbed observed goes in, the results of a comparison come out.
//!
//! The rules of what counts are the simulator's own (`metrics/record.rs`), so the two can be laid side by side.

pub use crate::engine::packet::Class;
pub use crate::metrics::tally::Ending;

use crate::compare::{self, Settings};
use crate::direction::Direction;
use crate::metrics::record::RunRecord;
use crate::results::Comparison;
use crate::scenario::Scenario;
use gentle_aqm::{DropReason, Spec};
use gentle_tcp::Stats;
use gentle_units::Nanos;

/// Everything observed in one run. Times count from the start of the run.
#[derive(Debug, Clone)]
pub struct Measurement(RunRecord);

impl Measurement {
    /// Of a run of `scenario`, before anything has been observed; `bins`: see [`Settings`].
    pub fn new(scenario: &Scenario, bins: &[u64]) -> Measurement {
        Measurement(RunRecord::new(scenario, bins))
    }

    /// A packet reached the queue of `direction`. False: that was during the warm-up, and what becomes of the packet must
    /// not be reported.
    pub fn offered(&mut self, at: Nanos, direction: Direction, class: Class) -> bool {
        self.0.offer(at, direction, class)
    }

    /// A packet left the queue of `direction` after `delay`, no earlier than the one reported before it; sending it lasts
    /// until `done`. To be reported of every packet, those of the warm-up too.
    pub fn left(&mut self, at: Nanos, direction: Direction, delay: Nanos, done: Nanos) {
        self.0.left_queue(at, direction, delay, done);
    }

    /// A packet came out of the link of `direction`.
    pub fn sent(&mut self, direction: Direction) {
        self.0.count_sent(direction);
    }

    /// A packet was dropped by the queue of `direction`, or, without a reason, lost on the link behind it.
    pub fn dropped(&mut self, direction: Direction, class: Class, reason: Option<DropReason>) {
        self.0.count_drop(direction, class, reason);
    }

    /// The queue of `direction` marked so many packets with ECN after the warm-up.
    pub fn marked(&mut self, direction: Direction, packets: u64) {
        self.0.links[direction.index()].marked = packets;
    }

    /// A connection of a workload, by its place in the scenario, and of `segments` full segments, that started after the
    /// warm-up has ended, or the run has. `handshake`: time until its initiator was established; `ends`: what the two end
    /// points counted.
    pub fn connection(
        &mut self,
        workload: usize,
        segments: u64,
        ending: Ending,
        handshake: Option<Nanos>,
        ends: &[&Stats],
    ) {
        for stats in ends {
            self.0.endpoint(workload, stats, &Stats::default());
        }
        self.0
            .connection(workload, segments, ending, handshake, ends);
    }

    /// A long-lived connection of a workload that began at `started` was over at `until` and had received `bytes` of
    /// payload since the warm-up; `ends`: what its two end points had counted at the end, and at the end of the warm-up.
    pub fn long_lived(
        &mut self,
        workload: usize,
        bytes: u64,
        started: Nanos,
        until: Nanos,
        ends: &[(&Stats, &Stats)],
    ) {
        for (stats, before) in ends {
            self.0.endpoint(workload, stats, before);
        }
        self.0.goodput(bytes, started, until);
    }
}

/// Puts runs together: `runs` has a list for each of `schemes` with a place for each of `settings.seeds`, empty where a run was
/// stopped. What is compared then is as with [`crate::compare`].
pub fn comparison(
    scenario: &Scenario,
    schemes: &[Spec],
    settings: &Settings,
    runs: Vec<Vec<Option<Measurement>>>,
) -> Comparison {
    let records = runs.into_iter().map(|runs| {
        let settled = runs.into_iter().enumerate().map(|(index, run)| {
            let mut run = run?;
            run.0.settle();
            Some(compare::thin_out(index, run.0))
        });
        settled.collect()
    });
    compare::put_together(scenario, schemes, settings, records.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_observed_comes_out() {
        let mut scenario = Scenario::builtin("real").unwrap();
        scenario.set_duration(Nanos::from_secs(10));
        scenario.warmup = Nanos::from_secs(1);
        let mut run = Measurement::new(&scenario, &[3]);
        assert!(!run.offered(Nanos::ZERO, Direction::Down, Class::Syn));
        let at = Nanos::from_secs(2);
        for class in [Class::Syn, Class::Data, Class::Data] {
            assert!(run.offered(at, Direction::Down, class));
        }
        run.dropped(Direction::Down, Class::Data, Some(DropReason::Aqm));
        let delay = Nanos::from_millis(5);
        run.left(
            at + delay,
            Direction::Down,
            delay,
            Nanos::from_millis(2_905),
        );
        run.sent(Direction::Down);
        let stats = Stats {
            segments_sent: 4,
            segments_retransmitted: 1,
            rtt_samples: 1,
            rtt_sum: Nanos::from_millis(94),
            retransmission_delay: Nanos::from_millis(200),
            ..Stats::default()
        };
        let response = Ending::Completed(Nanos::from_millis(300));
        run.connection(0, 2, response, Some(Nanos::from_millis(94)), &[&stats]);
        let schemes = ["codel".parse().unwrap(), "pie".parse().unwrap()];
        let settings = Settings {
            seeds: vec![1],
            bins: vec![3],
        };
        let all = comparison(
            &scenario,
            &schemes,
            &settings,
            vec![vec![Some(run)], vec![None]],
        );
        assert!(all.interrupted);
        assert_eq!(all.results.len(), 1);
        let codel = &all.results[0];
        assert_eq!(codel.response_time_s.mean, Some(0.3));
        assert_eq!(codel.loss.data, Some(0.5));
        assert_eq!(codel.loss.syn, Some(0.0));
        assert_eq!(codel.drops["aqm"], 1);
        assert_eq!(codel.rtt_s.mean, Some(0.094));
        assert_eq!(codel.retransmission.packet_probability, Some(0.25));
        assert_eq!(codel.queue_delay_s.mean, Some(0.005));
        assert_eq!(codel.utilization, Some(0.1));
    }
}
