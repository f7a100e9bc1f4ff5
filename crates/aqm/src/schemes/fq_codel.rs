//! `fq_codel`: a CoDel queue per flow in deficit round robin, new flows first (RFC 8290; Linux:
//! `net/sched/sch_fq_codel.c`).
//!
//! Not implemented: external classifiers, and `ce_threshold_selector`, which reads the whole DS field.

use crate::laws::codel::{self as codel_law, Config as CodelConfig};
use crate::laws::flow_queues::{FLOWS, FlowQueue, FlowQueues, LIMIT, QUANTUM};
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{
    Conformance, Field, Hashing, KernelQdisc, RoundedTimes, Scheme, Statistics, TcSyntax, TimeAttribute,
};
use crate::plumbing::spec::Spec;
use gentle_units::Instant;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Flow-queue CoDel.
pub static SCHEME: Scheme = Scheme {
    name: "fq_codel",
    summary: "a CoDel queue per flow in deficit round robin, new flows first",
    source: "RFC 8290, Linux sch_fq_codel.c",
    options: &[
        OptionSpec {
            help: "packets in all queues together; beyond it packets of the fattest queue are dropped",
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
            help: "memory of all packets together, overhead included; beyond it packets of the fattest queue are dropped",
        },
        OptionSpec {
            name: "drop_batch",
            kind: Kind::Count(1, u32::MAX as u64),
            default: Some("64"),
            help: "maximum number of packets dropped from the fattest queue at once; fewer if they are half of its bytes",
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
    linux: Some(TcSyntax { negations: &[("ecn", "noecn")], ..TcSyntax::plain(&QDISC) }),
    conformance: Conformance { hash: Hashing::Scaled, ..Conformance::EXACT },
    samples: &[
        "limit=10 flows=4 target=1ms interval=10ms",
        "flows=1 noecn",
        "quantum=300 ce_threshold=1ms memory_limit=20kb drop_batch=4",
    ],
    ..Scheme::PLAIN
};

/// Statistics: `struct tc_fq_codel_qd_stats`. Times: `TCA_FQ_CODEL_TARGET`, `_INTERVAL`, `_CE_THRESHOLD`.
static QDISC: KernelQdisc = KernelQdisc {
    openwrt_package: Some("kmod-sched-core"),
    statistics: Statistics::Struct(&[
        // Type of the structure that follows: that of a qdisc or that of a class.
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
    rounded_times: Some(RoundedTimes { attributes: &[1, 3, 7], tick_ns: codel_law::TICK_NS }),
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

/// FQ-CoDel's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Maximum number of packets in all queues.
    pub limit: usize,
    /// Number of queues, at least one.
    pub flows: u32,
    /// Bytes a flow sends per round, at least one.
    pub quantum: u32,
    /// Maximum memory of the packets in all queues, bytes.
    pub memory_limit: u64,
    /// Maximum number of packets dropped from the fattest queue at once.
    pub drop_batch: u32,
    /// Parameters of CoDel, the same for all queues.
    pub codel: CodelConfig,
}

/// A CoDel queue per flow.
#[derive(Debug)]
pub struct FqCodel<P> {
    config: Config,
    params: codel_law::Params,
    queues: FlowQueues<P, codel_law::Codel>,
    /// Length in bytes of a packet that a shaper above holds and that counts as queued.
    held: Option<u32>,
}

impl<P: Packet> FqCodel<P> {
    /// Empty queues; `seed` determines the key of the hash.
    pub fn new(config: Config, seed: u64) -> Self {
        let hash = FlowHash::draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        FqCodel {
            config,
            params: config.codel.into(),
            queues: FlowQueues::new(config.flows, config.quantum, hash),
            held: None,
        }
    }

    /// Drops half of the fattest queue, or a batch, from its head, and counts the drops in its CoDel (Linux:
    /// `fq_codel_drop`).
    #[cold]
    fn drop_from_fattest(&mut self, signals: &mut Signals<P>) {
        let Some((fattest, backlog)) = self.queues.fattest() else {
            return;
        };
        let (mut queue, law) = self.queues.split(fattest);
        let mut dropped = 0;
        let mut bytes = 0;
        while let Some(packet) = queue.pop() {
            dropped += 1;
            bytes += u64::from(packet.bytes());
            signals.dropped(packet, DropReason::Overlimit);
            if dropped >= self.config.drop_batch || bytes >= backlog / 2 {
                break;
            }
        }
        law.count_overlimit_drops(dropped);
    }
}

impl<P: Packet> codel_law::Source<P> for FlowQueue<'_, P> {
    #[inline]
    fn pop(&mut self) -> Option<P> {
        FlowQueue::pop(self)
    }

    #[inline]
    fn backlog(&self) -> u64 {
        self.total_backlog()
    }
}

impl<P: Packet + Send> Qdisc<P> for FqCodel<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        let index = self.queues.index_of(&packet);
        packet.set_arrived(now);
        self.queues.push(index, packet);
        let total = self.queues.total();
        let packets = total.packets + usize::from(self.held.is_some());
        if packets > self.config.limit || total.memory > self.config.memory_limit {
            self.drop_from_fattest(signals);
        }
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        while let Some(index) = self.queues.drr.current() {
            let (mut queue, law) = self.queues.split(index);
            match law.dequeue(now, &self.params, &mut queue, signals) {
                Some(packet) => {
                    self.queues.drr.charge(index, packet.bytes());
                    return Dequeue::Packet(packet);
                }
                None => self.queues.drr.deactivate(),
            }
        }
        Dequeue::Empty
    }

    fn len(&self) -> usize {
        self.queues.total().packets
    }

    fn backlog(&self) -> u64 {
        self.queues.total().bytes
    }

    fn mark_departed(&mut self, packet: &mut P, signals: &mut Signals<P>) -> bool {
        self.params.mark_departed(packet, signals)
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
    fn a_sparse_flow_overtakes_the_bulk() {
        let mut queue = build("fq_codel");
        let mut drops = Signals::new();
        for number in 0..100 {
            queue.enqueue(Instant::ZERO, TestPacket::data(1, 1514).numbered(number), &mut drops);
        }
        let now = Instant::from_millis(2);
        for _ in 0..2 {
            let sent = queue.dequeue(now, &mut drops).packet();
            assert_eq!(sent.map(|p| p.flow), Some(1));
        }
        queue.enqueue(now, TestPacket::data(2, 74), &mut drops);
        let order: Vec<u64> = (0..3).filter_map(|_| queue.dequeue(now, &mut drops).packet()).map(|p| p.flow).collect();
        assert_eq!(order, [2, 1, 1]);
    }

    #[test]
    fn the_fattest_loses_a_batch_or_half_of_it() {
        let mut queue = build("fq_codel limit=100");
        let mut drops = Signals::new();
        for number in 0..90 {
            queue.enqueue(Instant::ZERO, TestPacket::data(1, 1000).numbered(number), &mut drops);
        }
        for _ in 0..11 {
            queue.enqueue(Instant::ZERO, TestPacket::data(2, 100), &mut drops);
        }
        let dropped: Vec<_> = drops.drain().map(|(p, why)| (p.id, why)).collect();
        let expected: Vec<_> = (0..45).map(|n| (n, DropReason::Overlimit)).collect();
        assert_eq!(dropped, expected);
        assert_eq!((queue.len(), queue.backlog()), (56, 46_100));
    }

    #[test]
    fn small_packets_fill_the_memory_before_the_limit() {
        let mut queue = build("fq_codel memory_limit=7680");
        let mut drops = Signals::new();
        for _ in 0..11 {
            queue.enqueue(Instant::ZERO, TestPacket::data(1, 66), &mut drops);
        }
        // Ten packets of 768 bytes fit; with the eleventh half of the queue is dropped, which takes six drops.
        assert_eq!(drops.len(), 6);
    }
}
