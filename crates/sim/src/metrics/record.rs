//! What one run counts.

use super::spread::Spread;
use super::tally::{Ending, Tally};
use super::timeline::Timeline;
use crate::direction::Direction;
use crate::engine::packet::{Class, Packet};
use crate::engine::tap::{LOSS, Reason};
use crate::scenario::Scenario;
use gentle_aqm::DropReason;
use gentle_tcp::Stats;
use gentle_units::Nanos;

/// The reasons for which a packet does not arrive: the queue's, then loss on the link.
pub(crate) const REASONS: [Reason; DropReason::ALL.len() + 1] = {
    let mut reasons = [LOSS; DropReason::ALL.len() + 1];
    let mut i = 0;
    while i < DropReason::ALL.len() {
        reasons[i] = DropReason::ALL[i].name();
        i += 1;
    }
    reasons
};

/// Where a reason stands in [`REASONS`]; `None`: random loss.
fn reason_index(reason: Option<DropReason>) -> usize {
    reason.map_or(DropReason::ALL.len(), |reason| reason as usize)
}

/// One direction of the bottleneck.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkRecord {
    pub(crate) offered: [u64; Class::COUNT],
    pub(crate) dropped: [u64; Class::COUNT],
    pub(crate) reasons: [u64; REASONS.len()],
    pub(crate) sent: u64,
    /// Time spent sending while measuring.
    pub(crate) busy: Nanos,
    pub(crate) queue_delay: Spread,
    /// Packets marked with ECN since the end of the warm-up.
    pub(crate) marked: u64,
}

/// Everything counted in one run. Connections count if they start after the warm-up, packets if they are offered after
/// it; queueing delay and utilisation stop at the last arrival, the rest goes on while the run drains.
#[derive(Debug, Clone)]
pub(crate) struct RunRecord {
    /// From the end of the warm-up to the last arrival.
    pub(crate) window: (Nanos, Nanos),
    /// All connections.
    pub(crate) all: Tally,
    /// Those of each of the scenario's groups.
    pub(crate) groups: Vec<Tally>,
    /// The group of each workload.
    group_of: Vec<Option<usize>>,
    /// Goodput of each long-lived flow while measuring, bytes per second.
    pub(crate) long_goodput: Vec<f64>,
    pub(crate) links: [LinkRecord; 2],
    pub(crate) timeline: Timeline,
}

impl RunRecord {
    pub(crate) fn new(scenario: &Scenario, bins: &[u64]) -> RunRecord {
        let groups = scenario.groups();
        let group_of = scenario.workloads.iter().map(|workload| {
            let group = workload.group.as_deref()?;
            groups.iter().position(|name| *name == group)
        });
        RunRecord {
            window: (scenario.warmup, scenario.duration),
            all: Tally::new(bins),
            groups: groups.iter().map(|_| Tally::new(bins)).collect(),
            group_of: group_of.collect(),
            long_goodput: Vec::new(),
            links: [LinkRecord::default(), LinkRecord::default()],
            timeline: Timeline::new(scenario.duration),
        }
    }

    /// Where a workload's connections are counted.
    fn tallies(&mut self, workload: usize) -> impl Iterator<Item = &mut Tally> {
        let group = self.group_of.get(workload).copied().flatten();
        let group = group.and_then(|group| self.groups.get_mut(group));
        std::iter::once(&mut self.all).chain(group)
    }

    /// A packet is offered to its queue. From here on it counts, or not: what entered before the end of the warm-up is
    /// left out wherever it ends.
    #[inline]
    pub(crate) fn offered(&mut self, now: Nanos, packet: &mut Packet) {
        packet.counts = self.offer(now, packet.direction, packet.class);
    }

    /// The same for a packet that is not the simulator's; says whether it counts.
    #[inline]
    pub(crate) fn offer(&mut self, now: Nanos, direction: Direction, class: Class) -> bool {
        let counts = now >= self.window.0;
        if counts {
            self.links[direction.index()].offered[class as usize] += 1;
        }
        counts
    }

    pub(crate) fn dropped(&mut self, packet: &Packet, reason: Option<DropReason>) {
        if packet.counts {
            self.count_drop(packet.direction, packet.class, reason);
        }
    }

    pub(crate) fn count_drop(
        &mut self,
        direction: Direction,
        class: Class,
        reason: Option<DropReason>,
    ) {
        let link = &mut self.links[direction.index()];
        link.dropped[class as usize] += 1;
        link.reasons[reason_index(reason)] += 1;
    }

    /// A packet left the queue of `direction` after `delay`; sending it lasts until `done`.
    #[inline]
    pub(crate) fn left_queue(
        &mut self,
        now: Nanos,
        direction: Direction,
        delay: Nanos,
        done: Nanos,
    ) {
        if direction == Direction::Down {
            self.timeline.record(now, delay);
        }
        let (from, to) = self.window;
        let link = &mut self.links[direction.index()];
        if now < from {
            link.busy += done.min(to).saturating_sub(from);
        } else if now < to {
            link.busy += done.min(to) - now;
            link.queue_delay.record(delay);
        }
    }

    #[inline]
    pub(crate) fn sent(&mut self, packet: &Packet) {
        if packet.counts {
            self.count_sent(packet.direction);
        }
    }

    #[inline]
    pub(crate) fn count_sent(&mut self, direction: Direction) {
        self.links[direction.index()].sent += 1;
    }

    /// TCP's counters of one end of a connection of a workload; `before`: what they were at the end of the warm-up.
    pub(crate) fn endpoint(&mut self, workload: usize, stats: &Stats, before: &Stats) {
        for tally in self.tallies(workload) {
            tally.endpoint(stats, before);
        }
    }

    /// A long-lived flow that began at `started` was over at `until` and has received so many bytes while measured.
    pub(crate) fn goodput(&mut self, bytes: u64, started: Nanos, until: Nanos) {
        let span = until.saturating_sub(started.max(self.window.0));
        if span > Nanos::ZERO {
            self.long_goodput.push(bytes as f64 / span.as_secs_f64());
        }
    }

    /// To be called when the run is over, before anything is read.
    pub(crate) fn settle(&mut self) {
        for tally in std::iter::once(&mut self.all).chain(&mut self.groups) {
            tally.settle();
        }
        for link in &mut self.links {
            link.queue_delay.settle();
        }
    }

    /// A connection of a workload, of a known size, has ended, or the run has.
    pub(crate) fn connection(
        &mut self,
        workload: usize,
        segments: u64,
        ending: Ending,
        handshake: Option<Nanos>,
        ends: &[&Stats],
    ) {
        for tally in self.tallies(workload) {
            tally.connection(segments, ending, handshake, ends);
        }
    }
}
