//! A tin: its flows in deficit round robin with sparse flows first (DRR++), and the parameters of its control law
//! (Linux: `struct cake_tin_data`).

use super::QUEUES;
use super::isolation::{Hashes, Hosts, Isolation, ways};
use super::lists::{Rotation, Rotations};
use super::shaper::{Pace, TinSchedule};
use super::tins::Share;
use crate::laws::cobalt::{Cobalt, Params};
use crate::plumbing::arena::Chain;
use crate::plumbing::linux;
use gentle_units::Instant;

/// State of a flow (Linux: `CAKE_SET_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Set {
    /// The queue belongs to no flow.
    #[default]
    None,
    /// Among the new flows.
    Sparse,
    /// Still counted as sparse, but among the old flows, where it pays its deficit.
    SparseWait,
    /// Among the old flows, with more packets than it may send per round.
    Bulk,
    /// Without packets, until its control law is at rest.
    Decaying,
}

/// A queue with the flow that it belongs to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flow {
    pub(super) chain: Chain,
    pub(super) law: Cobalt,
    /// Bytes that the flow may still send before it moves to the end of the old flows.
    pub(super) deficit: i32,
    /// Hash of the flow, or of the last one that the queue belonged to.
    tag: u32,
    /// Entries of its hosts.
    source: u16,
    destination: u16,
    pub(super) set: Set,
}

/// A class of traffic with its flows.
#[derive(Debug)]
pub(super) struct Tin {
    pub(super) params: Params,
    pub(super) schedule: TinSchedule,
    /// Bytes that the tin sends per round while the queue has no rate, and those left of them.
    pub(super) quantum: i64,
    pub(super) deficit: i64,
    /// Bytes queued.
    pub(super) backlog: u64,
    pub(super) flows: Box<[Flow]>,
    pub(super) rotations: Rotations,
    isolation: Isolation,
    sources: Hosts,
    destinations: Hosts,
    /// Bytes that a flow sends per round if it shares its hosts with no other.
    flow_quantum: u32,
    sparse: u32,
    bulk: u32,
}

impl Tin {
    /// An empty tin. `target` and `interval` are for a fast link, in nanoseconds.
    pub(super) fn new(share: Share, isolation: Isolation, target: u64, interval: u64) -> Tin {
        let pace = Pace::of(share.rate);
        let mtu_time = pace.time(linux::MTU).cast_unsigned();
        let own_target = target.max(mtu_time * 3 / 2);
        Tin {
            params: Params {
                target: own_target,
                interval: (interval + own_target - target).max(own_target * 2),
                mtu_time,
            },
            schedule: TinSchedule::new(pace),
            quantum: share.quantum,
            deficit: 0,
            backlog: 0,
            flows: vec![Flow::default(); QUEUES].into_boxed_slice(),
            rotations: Rotations::new(),
            isolation,
            sources: Hosts::new(isolation.by_source()),
            destinations: Hosts::new(isolation.by_destination()),
            flow_quantum: match share.rate {
                0 => linux::MTU,
                rate => (rate >> 12).clamp(300, u64::from(linux::MTU)) as u32,
            },
            sparse: 0,
            bulk: 0,
        }
    }

    /// True if a flow of the tin may have packets.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// Number of bulk flows.
    #[inline]
    pub(super) fn bulk_flows(&self) -> u32 {
        self.bulk
    }

    /// The queue of a packet with these hashes. A flow without one gets a queue that belongs to none; if its set has no
    /// such queue, it shares the queue of its hash.
    #[inline]
    pub(super) fn queue_of(&mut self, hashes: Hashes) -> usize {
        let own = hashes.queue as usize % QUEUES;
        let flow = &self.flows[own];
        if flow.tag == hashes.queue && flow.set != Set::None {
            return own;
        }
        self.search(hashes)
    }

    fn search(&mut self, hashes: Hashes) -> usize {
        let hash = hashes.queue;
        let known = ways(hash).find(|place| self.flows[*place].tag == hash);
        let queue = match known {
            Some(queue) if self.flows[queue].set != Set::None => return queue,
            Some(queue) => queue,
            None => {
                let free = ways(hash).find(|place| self.flows[*place].set == Set::None);
                free.unwrap_or(hash as usize % QUEUES)
            }
        };
        self.flows[queue].tag = hash;
        // A bulk flow whose queue is shared from now on counts with the hosts of the other one.
        let is_bulk = self.flows[queue].set == Set::Bulk;
        if is_bulk {
            self.uncount_bulk(queue);
        }
        if self.isolation.by_source() {
            self.flows[queue].source = self.sources.entry(hashes.source);
        }
        if self.isolation.by_destination() {
            self.flows[queue].destination = self.destinations.entry(hashes.destination);
        }
        if is_bulk {
            self.count_bulk(queue);
        }
        queue
    }

    /// Counts a flow as a bulk flow of its hosts.
    fn count_bulk(&mut self, queue: usize) {
        let flow = &self.flows[queue];
        if self.isolation.by_source() {
            self.sources.add(flow.source);
        }
        if self.isolation.by_destination() {
            self.destinations.add(flow.destination);
        }
    }

    /// No longer counts a flow as a bulk flow of its hosts.
    fn uncount_bulk(&mut self, queue: usize) {
        let flow = &self.flows[queue];
        if self.isolation.by_source() {
            self.sources.remove(flow.source);
        }
        if self.isolation.by_destination() {
            self.destinations.remove(flow.destination);
        }
    }

    /// Bytes that a flow may send per round: the quantum divided by the number of bulk flows of its busier host.
    /// `random`, 16 bits, dithers what the division leaves over.
    #[inline]
    fn quantum_of(&self, queue: usize, random: u16) -> i32 {
        let flow = &self.flows[queue];
        let mut load = 1;
        if self.isolation.by_source() {
            load = load.max(self.sources.bulk_flows(flow.source));
        }
        if self.isolation.by_destination() {
            load = load.max(self.destinations.bulk_flows(flow.destination));
        }
        let share = u32::from(u16::MAX / load);
        ((self.flow_quantum * share + u32::from(random)) >> 16) as i32
    }

    /// Notes that a packet was added to a queue.
    #[inline]
    pub(super) fn arrived(&mut self, queue: usize, random: impl FnOnce() -> u16) {
        match self.flows[queue].set {
            Set::None | Set::Decaying => {
                self.rotations.append(queue, Rotation::New);
                self.flows[queue].set = Set::Sparse;
                self.sparse += 1;
                self.flows[queue].deficit = self.quantum_of(queue, random());
            }
            Set::SparseWait => {
                self.sparse -= 1;
                self.become_bulk(queue);
            }
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn become_bulk(&mut self, queue: usize) {
        self.flows[queue].set = Set::Bulk;
        self.bulk += 1;
        self.count_bulk(queue);
    }

    /// The flow whose turn it is. Decaying flows are looked at only while no other flow was (`is_first`), or if there
    /// are no others.
    #[inline]
    pub(super) fn current(&self, is_first: bool) -> Option<usize> {
        let of = |rotation| self.rotations.first(rotation);
        let decaying = of(Rotation::Decaying);
        (if is_first { decaying } else { None })
            .or_else(|| of(Rotation::New))
            .or_else(|| of(Rotation::Old))
            .or(decaying)
    }

    /// Moves the current flow, which has used its deficit up, to the end of the old flows, with a new deficit.
    #[inline]
    pub(super) fn next_round(&mut self, queue: usize, has_packets: bool, random: u16) {
        if self.flows[queue].set == Set::Sparse {
            if has_packets {
                self.sparse -= 1;
                self.become_bulk(queue);
            } else {
                self.flows[queue].set = Set::SparseWait;
            }
        }
        self.flows[queue].deficit += self.quantum_of(queue, random);
        self.rotations.append(queue, Rotation::Old);
    }

    /// Takes the current flow, which has no packet, out of the round. Its control law decays before the queue is given
    /// to another flow.
    #[inline]
    pub(super) fn ran_empty(&mut self, queue: usize, now: Instant) {
        let flow = &mut self.flows[queue];
        flow.law.on_empty(now, &self.params);
        let is_at_rest = flow.law.is_at_rest(now);
        match flow.set {
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Bulk => {
                self.bulk -= 1;
                self.uncount_bulk(queue);
            }
            Set::None | Set::Decaying => {}
        }
        if is_at_rest {
            self.rotations.remove(queue);
            self.flows[queue].set = Set::None;
        } else {
            self.rotations.append(queue, Rotation::Decaying);
            self.flows[queue].set = Set::Decaying;
        }
    }
}
