//! `fq_codel`: a CoDel queue for each flow, served in turn, new flows first (RFC 8290; Linux: `net/sched/sch_fq_codel.c`).
//!
//! Left out: external classifiers, and `ce_threshold_selector`, which reads the whole DS field.

use crate::laws::codel::{self as codel_law, Config as CodelConfig};
use crate::laws::drr::Drr;
use crate::laws::flow_queues::{FLOWS, LIMIT, QUANTUM, Total};
use crate::plumbing::arena::{Arena, Chain};
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{
    Conformance, Field, Hashing, KernelQdisc, RoundedTimes, Scheme, Statistics, TcSyntax,
    TimeAttribute,
};
use crate::plumbing::spec::Spec;
use gentle_units::Nanos;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Flow-queue CoDel.
pub static SCHEME: Scheme = Scheme {
    name: "fq_codel",
    summary: "a CoDel queue for each flow, served in turn, new flows first",
    source: "RFC 8290, Linux sch_fq_codel.c",
    options: &[
        OptionSpec {
            help: "packets all queues hold together; beyond it the fattest queue is cut",
            ..LIMIT
        },
        FLOWS,
        QUANTUM,
        codel_law::TARGET,
        codel_law::INTERVAL,
        OptionSpec {
            name: "memory_limit",
            kind: Kind::Size(0, 1 << 31),
            default: Some("32mb"),
            help: "memory all packets occupy together, overhead included; beyond it the fattest queue is cut",
        },
        OptionSpec {
            name: "drop_batch",
            kind: Kind::Count(1, u32::MAX as u64),
            default: Some("64"),
            help: "packets dropped from the fattest queue at once, at most and no more than half of it",
        },
        OptionSpec {
            name: "ecn",
            kind: Kind::Flag,
            default: Some("on"),
            help: "mark ECN-capable packets instead of dropping them",
        },
        codel_law::CE_THRESHOLD,
    ],
    drops: &[DropReason::Aqm, DropReason::Overlimit],
    marks: &[MarkReason::Aqm, MarkReason::CeThreshold],
    linux: Some(TcSyntax {
        off: &[("ecn", "noecn")],
        ..TcSyntax::plain(&QDISC)
    }),
    conformance: Conformance {
        hash: Hashing::Scaled,
        ..Conformance::EXACT
    },
    samples: &[
        "limit=10 flows=4 target=1ms interval=10ms",
        "flows=1 noecn",
        "quantum=300 ce_threshold=1ms memory_limit=20kb drop_batch=4",
    ],
    ..Scheme::PLAIN
};

/// `struct tc_fq_codel_qd_stats`; times are `TCA_FQ_CODEL_TARGET`, `_INTERVAL` and `_CE_THRESHOLD`.
static QDISC: KernelQdisc = KernelQdisc {
    openwrt: Some("kmod-sched-core"),
    statistics: Statistics::Struct(&[
        // Which structure follows: that of a qdisc or that of a class.
        Field::Skip(4),
        Field::U32("maxpacket_bytes"),
        Field::U32("drop_overlimit"),
        Field::U32("ecn_mark"),
        Field::U32("new_flow_count"),
        Field::U32("new_flows_len"),
        Field::U32("old_flows_len"),
        Field::U32("ce_mark"),
        Field::U32("memory_usage_bytes"),
        Field::U32("drop_overmemory"),
    ]),
    drops: &[("/drop_overlimit", DropReason::Overlimit)],
    marks: &["/ecn_mark"],
    target: Some(TimeAttribute::Micros(1)),
    rounded: Some(RoundedTimes {
        attributes: &[1, 3, 7],
        tick_ns: codel_law::TICK_NS,
    }),
    ..KernelQdisc::of_linux("fq_codel")
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let config = Config {
        limit: options.count("limit") as usize,
        flows: options.count("flows") as u32,
        quantum: options.size("quantum") as u32,
        memory_limit: options.size("memory_limit"),
        drop_batch: options.count("drop_batch") as u32,
        codel: CodelConfig::from_options(options),
    };
    Box::new(FqCodel::new(config, seed))
}

/// How FQ-CoDel is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Packets that all queues hold together.
    pub limit: usize,
    /// Number of queues, at least one.
    pub flows: u32,
    /// Bytes a flow sends in its turn, at least one.
    pub quantum: u32,
    /// Bytes of memory that all packets occupy together.
    pub memory_limit: u64,
    /// Packets dropped from the fattest queue at once.
    pub drop_batch: u32,
    /// CoDel's own settings, the same for all queues.
    pub codel: CodelConfig,
}

/// The queue of one flow.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    chain: Chain,
    law: codel_law::Codel,
}

/// A CoDel queue for each flow.
#[derive(Debug)]
pub struct FqCodel<P> {
    config: Config,
    params: codel_law::Params,
    hash: FlowHash,
    arena: Arena<P>,
    flows: Box<[Flow]>,
    /// Bytes in each queue, apart from the rest so that the search for the fattest reads little memory.
    backlogs: Box<[u64]>,
    drr: Drr,
    total: Total,
}

impl<P: Packet> FqCodel<P> {
    /// Empty queues; `seed` gives the key of the hash.
    pub fn new(config: Config, seed: u64) -> Self {
        let flows = config.flows as usize;
        FqCodel {
            config,
            params: config.codel.into(),
            hash: FlowHash::draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed)),
            arena: Arena::default(),
            flows: vec![Flow::default(); flows].into_boxed_slice(),
            backlogs: vec![0; flows].into_boxed_slice(),
            drr: Drr::new(config.flows, config.quantum),
            total: Total::default(),
        }
    }

    /// Cuts the fattest queue from its head, by half or by a batch, and tells its CoDel.
    #[cold]
    fn drop_from_fattest(&mut self, signals: &mut Signals<P>) {
        // Two passes over plain numbers, which the compiler vectorises; of equals the first, as in Linux.
        let most = self.backlogs.iter().copied().max().unwrap_or(0);
        let Some(fattest) = self.backlogs.iter().position(|bytes| *bytes == most) else {
            return;
        };
        let flow = &mut self.flows[fattest];
        let mut dropped = 0;
        let mut bytes = 0;
        while let Some(packet) = self.arena.pop_front(&mut flow.chain) {
            dropped += 1;
            bytes += u64::from(packet.bytes());
            self.total.remove(packet.bytes());
            signals.dropped(packet, DropReason::Overlimit);
            if dropped >= self.config.drop_batch || bytes >= most / 2 {
                break;
            }
        }
        self.backlogs[fattest] -= bytes;
        flow.law.overlimit(dropped);
    }
}

/// The queue of one flow as CoDel sees it.
struct FlowQueue<'a, P> {
    arena: &'a mut Arena<P>,
    chain: &'a mut Chain,
    backlog: &'a mut u64,
    total: &'a mut Total,
}

impl<P: Packet> codel_law::Source<P> for FlowQueue<'_, P> {
    #[inline]
    fn pop(&mut self) -> Option<P> {
        let packet = self.arena.pop_front(self.chain)?;
        *self.backlog -= u64::from(packet.bytes());
        self.total.remove(packet.bytes());
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> u64 {
        self.total.bytes
    }
}

impl<P: Packet + Send> Qdisc<P> for FqCodel<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, signals: &mut Signals<P>) {
        let index = self.hash.queue(packet.flow(), self.config.flows);
        let bytes = packet.bytes();
        packet.set_arrived(now);
        self.arena.push_back(&mut self.flows[index].chain, packet);
        self.backlogs[index] += u64::from(bytes);
        self.total.add(bytes);
        self.drr.arrived(index);
        if self.total.packets > self.config.limit || self.total.memory > self.config.memory_limit {
            self.drop_from_fattest(signals);
        }
    }

    fn dequeue(&mut self, now: Nanos, signals: &mut Signals<P>) -> Dequeue<P> {
        while let Some(index) = self.drr.current() {
            let flow = &mut self.flows[index];
            let mut queue = FlowQueue {
                arena: &mut self.arena,
                chain: &mut flow.chain,
                backlog: &mut self.backlogs[index],
                total: &mut self.total,
            };
            let sent = flow.law.dequeue(now, &self.params, &mut queue, signals);
            match sent {
                Some(packet) => {
                    self.drr.sent(index, packet.bytes());
                    return Dequeue::Packet(packet);
                }
                None => self.drr.empty(),
            }
        }
        Dequeue::Empty
    }

    fn len(&self) -> usize {
        self.total.packets
    }

    fn backlog(&self) -> u64 {
        self.total.bytes
    }

    fn mark_departed(&mut self, packet: &mut P, signals: &mut Signals<P>) -> bool {
        let marked = self.params.marks() && packet.mark();
        if marked {
            signals.marked(packet, MarkReason::Aqm);
        }
        marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plumbing::testing::{Packet, build};

    #[test]
    fn a_sparse_flow_overtakes_the_bulk() {
        let mut queue = build("fq_codel");
        let mut drops = Signals::new();
        for number in 0..100 {
            queue.enqueue(
                Nanos::ZERO,
                Packet::data(1, 1514).numbered(number),
                &mut drops,
            );
        }
        let now = Nanos::from_millis(2);
        for _ in 0..2 {
            let sent = queue.dequeue(now, &mut drops).packet();
            assert_eq!(sent.map(|p| p.flow), Some(1));
        }
        queue.enqueue(now, Packet::data(2, 74), &mut drops);
        let order: Vec<u64> = (0..3)
            .filter_map(|_| queue.dequeue(now, &mut drops).packet())
            .map(|p| p.flow)
            .collect();
        assert_eq!(order, [2, 1, 1]);
    }

    #[test]
    fn the_fattest_loses_a_batch_or_half_of_it() {
        let mut queue = build("fq_codel limit=100");
        let mut drops = Signals::new();
        for number in 0..90 {
            queue.enqueue(
                Nanos::ZERO,
                Packet::data(1, 1000).numbered(number),
                &mut drops,
            );
        }
        for _ in 0..11 {
            queue.enqueue(Nanos::ZERO, Packet::data(2, 100), &mut drops);
        }
        let dropped: Vec<_> = drops.drain().map(|(p, why)| (p.number, why)).collect();
        let expected: Vec<_> = (0..45).map(|n| (n, DropReason::Overlimit)).collect();
        assert_eq!(dropped, expected);
        assert_eq!((queue.len(), queue.backlog()), (56, 46_100));
    }

    #[test]
    fn small_packets_fill_the_memory_before_the_limit() {
        let mut queue = build("fq_codel memory_limit=7680");
        let mut drops = Signals::new();
        for _ in 0..11 {
            queue.enqueue(Nanos::ZERO, Packet::data(1, 66), &mut drops);
        }
        // Ten of 768 bytes each fit; the eleventh costs half of the queue, which the sixth drop reaches.
        assert_eq!(drops.len(), 6);
    }
}
