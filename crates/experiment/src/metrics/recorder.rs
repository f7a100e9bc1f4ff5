//! Counts what happens in a run.

use super::class::Class;
use super::record::{LinkRecord, RECORD_VERSION, RunRecord};
use super::tally::{Ending, Tally};
use super::timeline::Timeline;
use crate::backend::RunSpec;
use crate::direction::Direction;
use gentle_aqm::DropReason;
use gentle_tcp::Stats;
use gentle_units::Nanos;

/// A record while its run is under way. Every backend reports to it, so that all count by the same rules. Times count from
/// the start of the run.
#[derive(Debug, Clone)]
pub struct Recorder {
    record: RunRecord,
    /// Index of each workload's group.
    group_of: Vec<Option<usize>>,
}

impl Recorder {
    /// The recorder of `run` on `backend`, before anything has happened.
    pub fn new(run: &RunSpec<'_>, backend: &str) -> Recorder {
        let scenario = run.scenario;
        let groups = scenario.groups();
        let group_of = scenario.workloads.iter().map(|workload| {
            let group = workload.group.as_deref()?;
            groups.iter().position(|name| *name == group)
        });
        Recorder {
            group_of: group_of.collect(),
            record: RunRecord {
                version: RECORD_VERSION,
                gentle: env!("CARGO_PKG_VERSION").to_owned(),
                backend: backend.to_owned(),
                scheme: run.scheme.to_string(),
                seed: run.seed,
                from: scenario.warmup,
                to: scenario.duration,
                all: Tally::new(run.bins),
                groups: groups.iter().map(|_| Tally::new(run.bins)).collect(),
                long_goodput: Vec::new(),
                links: [LinkRecord::default(), LinkRecord::default()],
                timeline: Timeline::new(scenario.duration),
            },
        }
    }

    /// End of the warm-up.
    pub fn warmup(&self) -> Nanos {
        self.record.from
    }

    /// A packet reached the queue of `direction`. False: that was during the warm-up, and the packet's drop or departure
    /// ([`Recorder::dropped`], [`Recorder::sent`]) must not be reported.
    #[inline]
    pub fn offered(&mut self, at: Nanos, direction: Direction, class: Class) -> bool {
        let counts = at >= self.record.from;
        if counts {
            self.record.links[direction.index()].offered[class as usize] += 1;
        }
        counts
    }

    /// A packet left the queue of `direction` after `delay`, no earlier than the one reported before it; sending it lasts
    /// until `done`. To be reported of every packet, those of the warm-up too.
    #[inline]
    pub fn left(&mut self, at: Nanos, direction: Direction, delay: Nanos, done: Nanos) {
        let record = &mut self.record;
        if direction == Direction::Down {
            record.timeline.record(at, delay);
        }
        let (from, to) = (record.from, record.to);
        let link = &mut record.links[direction.index()];
        if at < from {
            link.busy += done.min(to).saturating_sub(from);
        } else if at < to {
            link.busy += done.min(to) - at;
            link.queue_delay.record(delay);
        }
    }

    /// A packet came out of the link of `direction`.
    #[inline]
    pub fn sent(&mut self, direction: Direction) {
        self.record.links[direction.index()].sent += 1;
    }

    /// A packet was dropped by the queue of `direction`, or, without a reason, lost on the link behind it.
    pub fn dropped(&mut self, direction: Direction, class: Class, reason: Option<DropReason>) {
        let link = &mut self.record.links[direction.index()];
        link.dropped[class as usize] += 1;
        link.reasons[reason.map_or(DropReason::ALL.len(), |reason| reason as usize)] += 1;
    }

    /// The queue of `direction` marked so many packets with ECN after the warm-up.
    pub fn marked(&mut self, direction: Direction, packets: u64) {
        self.record.links[direction.index()].marked = packets;
    }

    /// A connection of the workload with the index `workload`, of `segments` full segments, that started after the warm-up has
    /// ended, or the run has. `handshake`: time until its initiator was established; `ends`: the counters of its two end
    /// points.
    pub fn connection(
        &mut self,
        workload: usize,
        segments: u64,
        ending: Ending,
        handshake: Option<Nanos>,
        ends: &[&Stats],
    ) {
        for stats in ends {
            self.endpoint(workload, stats, &Stats::default());
        }
        for tally in self.tallies(workload) {
            tally.connection(segments, ending, handshake, ends);
        }
    }

    /// Counters of one end point of a long-lived connection, and their values at the end of the warm-up.
    pub fn endpoint(&mut self, workload: usize, stats: &Stats, before: &Stats) {
        for tally in self.tallies(workload) {
            tally.endpoint(stats, before);
        }
    }

    /// A long-lived connection that began at `started` was over at `until` and had received `bytes` of payload since the
    /// warm-up.
    pub fn goodput(&mut self, bytes: u64, started: Nanos, until: Nanos) {
        let span = until.saturating_sub(started.max(self.record.from));
        if span > Nanos::ZERO {
            let rate = bytes as f64 / span.as_secs_f64();
            self.record.long_goodput.push(rate);
        }
    }

    /// The record, when the run is over.
    pub fn finish(mut self) -> RunRecord {
        let record = &mut self.record;
        for tally in std::iter::once(&mut record.all).chain(&mut record.groups) {
            tally.settle();
        }
        for link in &mut record.links {
            link.queue_delay.settle();
        }
        record.timeline.settle();
        self.record
    }

    /// Tallies that count the connections of a workload.
    fn tallies(&mut self, workload: usize) -> impl Iterator<Item = &mut Tally> {
        let group = self.group_of.get(workload).copied().flatten();
        let group = group.and_then(|group| self.record.groups.get_mut(group));
        std::iter::once(&mut self.record.all).chain(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{put_together, summary};
    use crate::scenario::Scenario;

    #[test]
    fn what_is_observed_comes_out() {
        let mut scenario = Scenario::builtin("real").unwrap();
        scenario.set_duration(Nanos::from_secs(10));
        scenario.warmup = Nanos::from_secs(1);
        let codel = "codel".parse().unwrap();
        let run = RunSpec {
            scenario: &scenario,
            scheme: &codel,
            seed: 1,
            bins: &[3],
        };
        let mut run = Recorder::new(&run, "a test");
        assert!(!run.offered(Nanos::ZERO, Direction::Down, Class::Syn));
        let at = Nanos::from_secs(2);
        for class in [Class::Syn, Class::Data, Class::Data] {
            assert!(run.offered(at, Direction::Down, class));
        }
        run.dropped(Direction::Down, Class::Data, Some(DropReason::Aqm));
        let delay = Nanos::from_millis(5);
        let done = Nanos::from_millis(2_905);
        run.left(at + delay, Direction::Down, delay, done);
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
        let schemes = [codel, "pie".parse().unwrap()];
        let all = put_together(
            summary(&scenario, &[1]),
            &[],
            &schemes,
            vec![vec![Some(run.finish())], vec![None]],
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
