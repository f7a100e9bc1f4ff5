//! `fq_pie`: a PIE queue per flow in deficit round robin, new flows first (Linux: `net/sched/sch_fq_pie.c`).
//!
//! Linux's timer calculates the probability of every flow. Here a flow performs the calculations that it missed when it
//! is next used: their inputs do not change in between, so the result is equal, and idle flows cost nothing. With more
//! than 2048 flows Linux spreads the work over several jiffies; here all flows are calculated for the same time.
//!
//! In Linux, packets beyond `memory_limit` take the same path as others, so the limit drops nothing and only counts; it
//! does the same here. Not implemented: external classifiers.

use crate::laws::flow_queues::{FLOWS, FlowQueues, LIMIT, QUANTUM};
use crate::laws::pie::{self as pie_law, Config as PieConfig};
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::linux::truesize;
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{
    Conformance, Field, Hashing, KernelQdisc, RoundedTimes, Scheme, Statistics, TcSyntax, TimeAttribute,
};
use crate::plumbing::spec::Spec;
use crate::plumbing::timer::PeriodicTimer;
use gentle_units::Instant;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Flow-queue PIE.
pub static SCHEME: Scheme = Scheme {
    name: "fq_pie",
    summary: "a PIE queue per flow in deficit round robin, new flows first",
    source: "RFC 8033, Linux sch_fq_pie.c",
    options: &[
        LIMIT,
        FLOWS,
        pie_law::TARGET,
        pie_law::TUPDATE,
        pie_law::ALPHA,
        pie_law::BETA,
        QUANTUM,
        OptionSpec {
            name: "memory_limit",
            kind: Kind::Size(0, u32::MAX as u64),
            default: Some("32mb"),
            help: "memory beyond which arrivals are counted as over memory; as in Linux none is dropped",
        },
        OptionSpec {
            name: "ecn_prob",
            kind: Kind::Count(0, 100),
            default: Some("10"),
            help: "drop probability in percent above which even ECN-capable packets are dropped",
        },
        pie_law::ECN,
        pie_law::BYTEMODE,
        pie_law::DQ_RATE_ESTIMATOR,
    ],
    drops: &[DropReason::Early, DropReason::Tail],
    marks: &[MarkReason::Early],
    linux: Some(TcSyntax { negations: pie_law::TC_NEGATIONS, ..TcSyntax::plain(&QDISC) }),
    conformance: Conformance { hash: Hashing::Scaled, timer: Some(pie_law::TUPDATE.name), ..Conformance::EXACT },
    samples: &["limit=10 flows=4"],
    ..Scheme::PLAIN
};

/// Statistics: `struct tc_fq_pie_xstats`. Time: `TCA_FQ_PIE_TARGET`.
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Struct(&[
        Field::U32("packets_in"),
        Field::U32("dropped"),
        Field::U32("overlimit"),
        Field::U32("overmemory"),
        Field::U32("ecn_mark"),
        Field::U32("new_flow_count"),
        Field::U32("new_flows_len"),
        Field::U32("old_flows_len"),
        Field::U32("memory_usage_bytes"),
    ]),
    drops: &[("/overlimit", DropReason::Tail)],
    marks: &["/ecn_mark"],
    target: Some(TimeAttribute::Micros(3)),
    rounded_times: Some(RoundedTimes { attributes: &[3], tick_ns: pie_law::TICK_NS }),
    ..KernelQdisc::of_linux("fq_pie")
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let config = Config {
        limit: options.count("limit") as usize,
        flows: options.count("flows") as u32,
        quantum: options.size("quantum") as u32,
        memory_limit: options.size("memory_limit"),
        ecn_prob: options.count("ecn_prob") as u32,
        pie: PieConfig::from_options(options),
    };
    Box::new(FqPie::new(config, seed))
}

/// FQ-PIE's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Maximum number of packets in all queues.
    pub limit: usize,
    /// Number of queues, at least one.
    pub flows: u32,
    /// Bytes a flow sends per round, at least one.
    pub quantum: u32,
    /// Memory in bytes beyond which arrivals are counted by [`FqPie::over_memory`].
    pub memory_limit: u64,
    /// Drop probability in percent above which ECN-capable packets are dropped too.
    pub ecn_prob: u32,
    /// Parameters of PIE, the same for all queues.
    pub pie: PieConfig,
}

/// PIE's state of one flow.
#[derive(Debug, Clone, Copy, Default)]
struct FlowLaw {
    pie: pie_law::Pie,
    /// Number of calculations made.
    updates: u64,
}

impl FlowLaw {
    /// Performs the missed calculations of `due` in total since the start, with a constant `backlog` in bytes.
    #[inline]
    fn catch_up(&mut self, params: &pie_law::Params, backlog: u64, due: u64) {
        if self.updates < due {
            self.pie.update(params, backlog, due - self.updates);
            self.updates = due;
        }
    }
}

/// A PIE queue per flow.
#[derive(Debug)]
pub struct FqPie<P> {
    config: Config,
    params: pie_law::Params,
    rng: Xoshiro256PlusPlus,
    queues: FlowQueues<P, FlowLaw>,
    timer: PeriodicTimer,
    /// Calculations due for every flow since the start.
    updates: u64,
    over_memory: u64,
    /// Length in bytes of a packet that a shaper above holds and that counts as queued.
    held: Option<u32>,
}

impl<P: Packet> FqPie<P> {
    /// Empty queues; `seed` determines the key of the hash and the random drops.
    pub fn new(config: Config, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let hash = FlowHash::draw(&mut rng);
        FqPie {
            config,
            params: config.pie.into(),
            rng,
            queues: FlowQueues::new(config.flows, config.quantum, hash),
            timer: PeriodicTimer::new(pie_law::FIRST_UPDATE, config.pie.tupdate),
            updates: 0,
            over_memory: 0,
            held: None,
        }
    }

    /// The number of packets that arrived while the memory limit was exceeded (Linux: `overmemory`).
    pub fn over_memory(&self) -> u64 {
        self.over_memory
    }
}

impl<P: Packet + Send> Qdisc<P> for FqPie<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        self.updates += self.timer.expirations(now);
        let index = self.queues.index_of(&packet);
        let bytes = packet.bytes();
        let total = self.queues.total();
        let (backlog, law) = self.queues.law(index);
        law.catch_up(&self.params, backlog, self.updates);
        if total.packets + usize::from(self.held.is_some()) >= self.config.limit {
            law.pie.on_drop();
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        if total.memory > self.config.memory_limit + truesize(bytes) {
            self.over_memory += 1;
        }
        if law.pie.drop_early(&self.params, backlog, bytes, &mut self.rng) {
            let mark =
                self.config.pie.ecn && law.pie.probability() <= pie_law::percent(self.config.ecn_prob) && packet.mark();
            if !mark {
                law.pie.on_drop();
                signals.dropped(packet, DropReason::Early);
                return;
            }
            signals.marked(&packet, MarkReason::Early);
        }
        packet.set_arrived(now);
        self.queues.push(index, packet);
    }

    fn dequeue(&mut self, now: Instant, _signals: &mut Signals<P>) -> Dequeue<P> {
        self.updates += self.timer.expirations(now);
        while let Some(index) = self.queues.drr.current() {
            let (mut queue, law) = self.queues.split(index);
            let before = queue.backlog();
            let Some(packet) = queue.pop() else {
                self.queues.drr.deactivate();
                continue;
            };
            law.catch_up(&self.params, before, self.updates);
            let (arrived, bytes) = (packet.arrived(), packet.bytes());
            law.pie.on_dequeue(&self.params, now, arrived, bytes, queue.backlog());
            self.queues.drr.charge(index, bytes);
            return Dequeue::Packet(packet);
        }
        Dequeue::Empty
    }

    fn len(&self) -> usize {
        self.queues.total().packets
    }

    fn backlog(&self) -> u64 {
        self.queues.total().bytes
    }

    fn hold(&mut self, bytes: Option<u32>) {
        self.held = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestPacket, build};

    #[test]
    fn only_the_flow_that_builds_a_queue_is_dropped_from() {
        let mut queue = build("fq_pie");
        let mut drops = Signals::new();
        // A link of 1000 packets a second, for ten seconds; flow 1 offers 1200 and flow 2 offers 100.
        for ms in 0..10_000u64 {
            let now = Instant::from_millis(ms);
            let bursts = [(1, 1 + u64::from(ms % 5 == 0)), (2, u64::from(ms % 10 == 0))];
            for (flow, packets) in bursts {
                for _ in 0..packets {
                    queue.enqueue(now, TestPacket::data(flow, 1514), &mut drops);
                }
            }
            queue.dequeue(now, &mut drops);
        }
        let reasons: Vec<_> = drops.drain().map(|(p, why)| (p.flow, why)).collect();
        assert!(reasons.len() > 1000, "{}", reasons.len());
        assert!(reasons.iter().all(|drop| *drop == (1, DropReason::Early)));
    }

    #[test]
    fn packets_over_the_memory_limit_are_counted_and_kept() {
        let spec: Spec = "fq_pie".parse().unwrap();
        let config = Config {
            limit: 100,
            flows: 4,
            quantum: 1514,
            memory_limit: 5000,
            ecn_prob: 10,
            pie: PieConfig::from_options(spec.options()),
        };
        let mut queue = FqPie::new(config, 1);
        let mut drops = Signals::new();
        for _ in 0..6 {
            queue.enqueue(Instant::ZERO, TestPacket::data(1, 1514), &mut drops);
        }
        // The fifth and the sixth packet find more than 5000 + 2304 bytes of memory in use.
        assert_eq!((queue.len(), queue.over_memory()), (6, 2));
        assert!(drops.is_empty());
    }
}
