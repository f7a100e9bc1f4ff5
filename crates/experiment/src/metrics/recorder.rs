//! Counting of the events of a run.

use super::application::ApplicationRecord;
use super::class::Class;
use super::connection::ConnectionRecord;
use super::record::{LinkRecord, RECORD_VERSION, RunRecord};
use super::tally::{Ending, Tally};
use super::timeline::Timeline;
use crate::direction::Direction;
use crate::run::RunSpec;
use gentle_aqm::DropReason;
use gentle_tcp::Stats;
use gentle_units::Nanos;

/// A record during its run. All backends report to it and so count by the same rules. Times are relative to the start
/// of the run.
#[derive(Debug, Clone)]
pub struct Recorder {
    record: RunRecord,
    /// Index of the group of each workload.
    group_of: Vec<Option<usize>>,
    /// Index of the application of each workload.
    application_of: Vec<Option<usize>>,
    keeps_connections: bool,
}

impl Recorder {
    /// An empty recorder for `run` on `backend`.
    pub fn new(run: &RunSpec<'_>, backend: &str) -> Recorder {
        let scenario = run.scenario;
        let groups = scenario.groups();
        let group_of = scenario.workloads.iter().map(|workload| {
            let group = workload.group.as_deref()?;
            groups.iter().position(|name| *name == group)
        });
        let (applications, application_of) = scenario.numbered_applications();
        Recorder {
            group_of: group_of.collect(),
            application_of,
            keeps_connections: run.keep_connections,
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
                applications: vec![ApplicationRecord::default(); applications.len()],
                long_goodput: Vec::new(),
                links: [LinkRecord::default(), LinkRecord::default()],
                timeline: Timeline::new(scenario.duration),
                connections: Vec::new(),
            },
        }
    }

    /// End of the warm-up.
    pub fn warmup(&self) -> Nanos {
        self.record.from
    }

    /// Counts a packet offered to the queue of `direction`. False during the warm-up: the drop or delivery of that
    /// packet ([`Recorder::dropped`], [`Recorder::sent`]) must not be reported.
    #[inline]
    pub fn offered(&mut self, at: Nanos, direction: Direction, class: Class) -> bool {
        let counts = at >= self.record.from;
        if counts {
            self.record.links[direction.index()].offered[class as usize] += 1;
        }
        counts
    }

    /// Counts a packet that left the queue of `direction` at `at` with the sojourn time `delay`; its transmission ends
    /// at `done`. To be called for every packet in order of time, including those of the warm-up.
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

    /// Counts a packet delivered by the link of `direction`.
    #[inline]
    pub fn sent(&mut self, direction: Direction) {
        self.record.links[direction.index()].sent += 1;
    }

    /// Counts a packet dropped by the queue of `direction` or, with `reason` `None`, lost on the link.
    pub fn dropped(&mut self, direction: Direction, class: Class, reason: Option<DropReason>) {
        let link = &mut self.record.links[direction.index()];
        link.dropped[class as usize] += 1;
        link.reasons[reason.map_or(DropReason::ALL.len(), |reason| reason as usize)] += 1;
    }

    /// Sets the number of packets that the queue of `direction` has marked after the warm-up.
    pub fn marked(&mut self, direction: Direction, packets: u64) {
        self.record.links[direction.index()].marked = packets;
    }

    /// Counts a connection that started after the warm-up and has ended, or is open at the end of the run.
    ///
    /// * `workload`: index of its workload;
    /// * `started`: time of its first SYN;
    /// * `segments`: its size in full segments;
    /// * `handshake`: time from the first SYN to the state ESTABLISHED of the initiator, if reached;
    /// * `ends`: counters of its two end points.
    pub fn connection(
        &mut self,
        workload: usize,
        started: Nanos,
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
        if self.keeps_connections {
            let connection =
                ConnectionRecord::new(workload, started, segments, ending, handshake, ends);
            self.record.connections.push(connection);
        }
    }

    /// Adds the counters of one end point of a long-lived connection; `before` are their values at the end of the
    /// warm-up.
    pub fn endpoint(&mut self, workload: usize, stats: &Stats, before: &Stats) {
        for tally in self.tallies(workload) {
            tally.endpoint(stats, before);
        }
    }

    /// Counts a long-lived connection from `started` to `until` that received `bytes` of payload after the warm-up.
    pub fn goodput(&mut self, bytes: u64, started: Nanos, until: Nanos) {
        let span = until.saturating_sub(started.max(self.record.from));
        if span > Nanos::ZERO {
            let rate = bytes as f64 / span.as_secs_f64();
            self.record.long_goodput.push(rate);
        }
    }

    /// Measurements of the application to which a workload belongs; `None`: the workload is no application.
    #[inline]
    pub fn application(&mut self, workload: usize) -> Option<&mut ApplicationRecord> {
        let application = self.application_of.get(workload).copied().flatten()?;
        self.record.applications.get_mut(application)
    }

    /// Returns the record at the end of the run.
    pub fn finish(mut self) -> RunRecord {
        let record = &mut self.record;
        for tally in std::iter::once(&mut record.all).chain(&mut record.groups) {
            tally.compact();
        }
        for application in &mut record.applications {
            application.compact();
        }
        for link in &mut record.links {
            link.queue_delay.compact();
        }
        record.timeline.end_recording();
        record
            .connections
            .sort_by_key(|connection| connection.started);
        self.record
    }

    /// Tallies to which the connections of a workload count.
    fn tallies(&mut self, workload: usize) -> impl Iterator<Item = &mut Tally> {
        let group = self.group_of.get(workload).copied().flatten();
        let group = group.and_then(|group| self.record.groups.get_mut(group));
        std::iter::once(&mut self.record.all).chain(group)
    }
}
