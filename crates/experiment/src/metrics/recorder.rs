//! Counting of the events of a run.

use super::application::ApplicationRecord;
use super::class::Class;
use super::connection::ConnectionRecord;
use super::record::{GroupLink, LinkRecord, LongFlow, RECORD_VERSION, RunRecord};
use super::tally::{Ending, Tally, Waited};
use super::timeline::Timeline;
use crate::direction::Direction;
use crate::run::RunSpec;
use gentle_aqm::DropReason;
use gentle_tcp::Stats;
use gentle_units::{Instant, Nanos};

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
    /// An empty recorder for `run` on the backend with this [name](crate::Backend::name) and this
    /// [engine](crate::Backend::engine).
    pub fn new(run: &RunSpec<'_>, backend: &str, engine: &str) -> Recorder {
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
                engine: engine.to_owned(),
                backend: backend.to_owned(),
                scheme: run.scheme.to_string(),
                seed: run.seed,
                from: scenario.measures_from(),
                to: scenario.stops_at(),
                all: Tally::new(run.bins),
                groups: groups.iter().map(|_| Tally::new(run.bins)).collect(),
                applications: vec![ApplicationRecord::default(); applications.len()],
                group_links: Vec::new(),
                long_flows: Vec::new(),
                links: Direction::BOTH.map(|direction| LinkRecord {
                    capacity_bytes: (scenario.link(direction))
                        .capacity_bytes(scenario.measures_from(), scenario.stops_at()),
                    ..LinkRecord::default()
                }),
                timeline: Timeline::new(scenario.duration),
                connections: Vec::new(),
            },
        }
    }

    /// End of the warm-up.
    pub fn warmup(&self) -> Instant {
        self.record.from
    }

    /// Counts a packet offered to the queue of `direction`. False during the warm-up: the drop or delivery of that
    /// packet ([`Recorder::dropped`], [`Recorder::sent`]) must not be reported.
    #[inline]
    pub fn offered(&mut self, at: Instant, direction: Direction, class: Class) -> bool {
        let counts = at >= self.record.from;
        if counts {
            self.record.links[direction.index()].offered[class as usize] += 1;
        }
        counts
    }

    /// Counts a packet that left the queue of `direction` at `at` with the sojourn time `delay`. To be called for every
    /// packet in order of time, including the warm-up's.
    #[inline]
    pub fn left(&mut self, at: Instant, direction: Direction, delay: Nanos) {
        if direction == Direction::Down {
            self.record.timeline.record(at, delay);
        }
        if self.measures(at) {
            let link = &mut self.record.links[direction.index()];
            link.queue_delay.record(delay);
        }
    }

    /// Counts `bytes` that the link of `direction` transmits from `from` to `to`; returns how many of them fall into the
    /// measured window. To be called for every packet, or for each part of one that is sent in parts.
    #[inline]
    pub fn carried(&mut self, direction: Direction, from: Instant, to: Instant, bytes: u32) -> u64 {
        let within = match from >= self.record.from && to < self.record.to {
            true => u64::from(bytes),
            false => self.part_within(from, to, bytes),
        };
        self.record.links[direction.index()].carried_bytes += within;
        within
    }

    /// The part of `bytes`, transmitted from `from` to `to`, within the measured window.
    #[cold]
    fn part_within(&self, from: Instant, to: Instant, bytes: u32) -> u64 {
        if from == to {
            return if self.measures(from) { bytes.into() } else { 0 };
        }
        let within = (to.min(self.record.to)).saturating_since(from.max(self.record.from));
        u64::from(bytes) * within.0 / (to - from).0
    }

    /// Whether `at` is within the measured window.
    #[inline]
    fn measures(&self, at: Instant) -> bool {
        at >= self.record.from && at < self.record.to
    }

    /// Begins to count packets with payload by group. The backend must then pass the group of each packet.
    pub fn count_groups(&mut self) {
        self.record.group_links = vec![Default::default(); self.record.groups.len()];
    }

    /// Index of the group of a workload.
    pub fn group_of(&self, workload: usize) -> Option<usize> {
        self.group_of.get(workload).copied().flatten()
    }

    fn group_link(&mut self, group: usize, direction: Direction) -> Option<&mut GroupLink> {
        let links = self.record.group_links.get_mut(group)?;
        Some(&mut links[direction.index()])
    }

    /// Counts a packet with payload of a group that was offered to the queue of `direction` after the warm-up.
    pub fn group_offered(&mut self, group: usize, direction: Direction) {
        if let Some(link) = self.group_link(group, direction) {
            link.offered += 1;
        }
    }

    /// Counts a packet of a group that left the queue of `direction` at `at` with the sojourn time `delay`, and of which
    /// `carried` bytes count ([`Recorder::carried`]).
    pub fn group_left(&mut self, group: usize, direction: Direction, at: Instant, delay: Nanos, carried: u64) {
        let measures = self.measures(at);
        if let Some(link) = self.group_link(group, direction) {
            link.carried_bytes += carried;
            if measures {
                link.queue_delay.record(delay);
            }
        }
    }

    /// Counts a packet of a group that was offered after the warm-up and dropped, or lost on the link.
    pub fn group_dropped(&mut self, group: usize, direction: Direction) {
        if let Some(link) = self.group_link(group, direction) {
            link.dropped += 1;
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
        started: Instant,
        segments: u64,
        ending: Ending,
        handshake: Option<Nanos>,
        ends: &[&Stats],
    ) {
        for stats in ends {
            self.endpoint(workload, stats, &Stats::default());
        }
        let waited = Waited::of(started, ending, ends);
        for tally in self.tallies(workload) {
            tally.connection(segments, ending, handshake, waited, ends);
        }
        if self.keeps_connections {
            let connection = ConnectionRecord::new(workload, started, segments, ending, handshake, waited, ends);
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

    /// Counts a long-lived connection that had data to send from `started` to `until`. Its receiver got `bytes` of payload in
    /// order over the link of `direction` within the measured window: also those that crossed the link earlier, behind a
    /// lost one.
    pub fn goodput(&mut self, direction: Direction, bytes: u64, started: Instant, until: Instant) {
        let (from, to) = (self.record.from, self.record.to);
        let lived = until.min(to).saturating_since(started.max(from));
        if lived > Nanos::ZERO || bytes > 0 {
            self.record.long_flows.push(LongFlow { direction, bytes, lived });
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
        for link in record.group_links.iter_mut().flatten() {
            link.queue_delay.compact();
        }
        record.timeline.end_recording();
        record.connections.sort_by_key(|connection| connection.started);
        self.record
    }

    /// Tallies to which the connections of a workload count.
    fn tallies(&mut self, workload: usize) -> impl Iterator<Item = &mut Tally> {
        let group = self.group_of.get(workload).copied().flatten();
        let group = group.and_then(|group| self.record.groups.get_mut(group));
        std::iter::once(&mut self.record.all).chain(group)
    }
}
