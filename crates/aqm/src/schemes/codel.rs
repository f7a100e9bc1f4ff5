//! `codel`: controlled delay on one queue (RFC 8289; Linux: `net/sched/sch_codel.c`).
//!
//! The control law is in [`laws::codel`](crate::laws::codel).

use crate::laws::codel::{self as codel_law, Config};
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::packet_queue::PacketQueue;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{Field, KernelQdisc, RoundedTimes, Scheme, Statistics, TcSyntax, TimeAttribute};
use crate::plumbing::spec::Spec;
use gentle_units::Instant;

/// CoDel, controlled delay.
pub static SCHEME: Scheme = Scheme {
    name: "codel",
    summary: "drops from the head, ever more often, once sojourn times have exceeded a target for an interval",
    source: "RFC 8289, Linux sch_codel.c",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Count(1, u32::MAX as u64),
            default: Some("1000"),
            help: "packets the queue holds",
        },
        codel_law::TARGET,
        codel_law::INTERVAL,
        OptionSpec {
            name: "ecn",
            kind: Kind::Flag,
            default: Some("off"),
            help: "mark ECN-capable packets instead of dropping them",
        },
        codel_law::CE_THRESHOLD,
    ],
    drops: &[DropReason::Aqm, DropReason::Tail],
    marks: &[MarkReason::Aqm, MarkReason::CeThreshold],
    linux: Some(TcSyntax { negations: &[("ecn", "noecn")], ..TcSyntax::plain(&QDISC) }),
    samples: &["target=1ms interval=10ms", "limit=5 target=1ms interval=10ms", "ecn ce_threshold=1ms"],
    ..Scheme::PLAIN
};

/// Statistics: `struct tc_codel_xstats`. Times: `TCA_CODEL_TARGET`, `TCA_CODEL_INTERVAL`, `TCA_CODEL_CE_THRESHOLD`.
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Struct(&[
        Field::U32("maxpacket_bytes"),
        Field::U32("count"),
        Field::U32("lastcount"),
        Field::U32("ldelay_us"),
        Field::Skip(4),
        Field::U32("drop_overlimit"),
        Field::U32("ecn_mark"),
        Field::U32("dropping"),
        Field::U32("ce_mark"),
    ]),
    drops: &[("/drop_overlimit", DropReason::Overlimit)],
    marks: &["/ecn_mark"],
    target: Some(TimeAttribute::Micros(1)),
    rounded_times: Some(RoundedTimes { attributes: &[1, 3, 5], tick_ns: codel_law::TICK_NS }),
    ..KernelQdisc::of_linux("codel")
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, _seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    Box::new(Codel::new(options.count("limit") as usize, Config::from_options(options)))
}

/// A FIFO with a limit in packets under CoDel.
#[derive(Debug)]
pub struct Codel<P> {
    store: PacketQueue<P>,
    limit: usize,
    params: codel_law::Params,
    law: codel_law::Codel,
    /// Length in bytes of a packet that a shaper above holds and that counts as queued.
    held: Option<u32>,
}

impl<P: Packet> Codel<P> {
    /// An empty queue for up to `limit` packets.
    pub fn new(limit: usize, config: Config) -> Self {
        Codel {
            store: PacketQueue::default(),
            limit,
            params: config.into(),
            law: codel_law::Codel::default(),
            held: None,
        }
    }
}

impl<P: Packet> codel_law::Source<P> for PacketQueue<P> {
    #[inline]
    fn pop(&mut self) -> Option<P> {
        self.pop_front()
    }

    #[inline]
    fn backlog(&self) -> u64 {
        self.bytes()
    }
}

impl<P: Packet + Send> Qdisc<P> for Codel<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        if self.store.len() + usize::from(self.held.is_some()) >= self.limit {
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        packet.set_arrived(now);
        self.store.push_back(packet);
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        self.law.dequeue(now, &self.params, &mut self.store, signals).into()
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn backlog(&self) -> u64 {
        self.store.bytes()
    }

    fn mark_departed(&mut self, packet: &mut P, signals: &mut Signals<P>) -> bool {
        self.params.mark_departed(packet, signals)
    }

    fn hold(&mut self, bytes: Option<u32>) {
        self.held = bytes;
    }
}
