//! `pie`: proportional integral controller enhanced (RFC 8033; Linux: `net/sched/sch_pie.c`).
//!
//! The control law is in [`laws::pie`](crate::laws::pie). Linux calculates the probability on a timer in jiffies; here
//! the period is exact. The first calculation is half a second after time zero, in Linux half a second after `tc qdisc
//! add`.

use crate::laws::pie::{self as pie_law, Config};
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::packet_queue::PacketQueue;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{
    Conformance, Field, KernelQdisc, RoundedTimes, Scheme, Statistics, TcSyntax, TimeAttribute,
};
use crate::plumbing::spec::Spec;
use crate::plumbing::timer::PeriodicTimer;
use gentle_units::Instant;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// PIE, proportional integral controller enhanced.
pub static SCHEME: Scheme = Scheme {
    name: "pie",
    summary: "drops arrivals with a probability that controls the queueing delay to a target",
    source: "RFC 8033, Linux sch_pie.c",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Count(1, u32::MAX as u64),
            default: Some("1000"),
            help: "packets the queue holds",
        },
        pie_law::TARGET,
        pie_law::TUPDATE,
        pie_law::ALPHA,
        pie_law::BETA,
        pie_law::ECN,
        pie_law::BYTEMODE,
        pie_law::DQ_RATE_ESTIMATOR,
        pie_law::BEFORE_5_1,
    ],
    drops: &[DropReason::Early, DropReason::Tail],
    marks: &[MarkReason::Early],
    linux: Some(TcSyntax { negations: pie_law::TC_NEGATIONS, refused: pie_law::TC_REFUSED, ..TcSyntax::plain(&QDISC) }),
    conformance: Conformance { timer: Some(pie_law::TUPDATE.name), ..Conformance::EXACT },
    samples: &[
        "limit=10 target=1ms",
        "ecn",
        "tupdate=20ms alpha=2 beta=20 bytemode dq_rate_estimator",
        "before_5_1 target=20ms tupdate=30ms",
    ],
    ..Scheme::PLAIN
};

/// Statistics: `struct tc_pie_xstats`. Time: `TCA_PIE_TARGET`.
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Struct(&[
        // Probability as a fraction of 2^64.
        Field::U64("prob"),
        Field::U32("delay_us"),
        Field::U32("avg_dq_rate"),
        Field::U32("dq_rate_estimating"),
        Field::U32("packets_in"),
        Field::U32("dropped"),
        Field::U32("overlimit"),
        Field::U32("maxq"),
        Field::U32("ecn_mark"),
    ]),
    drops: &[("/overlimit", DropReason::Tail)],
    marks: &["/ecn_mark"],
    target: Some(TimeAttribute::Micros(1)),
    rounded_times: Some(RoundedTimes { attributes: &[1], tick_ns: pie_law::TICK_NS }),
    ..KernelQdisc::of_linux("pie")
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    Box::new(Pie::new(
        options.count("limit") as usize,
        Config { before_5_1: options.flag(pie_law::BEFORE_5_1.name), ..Config::from_options(options) },
        seed,
    ))
}

/// A FIFO with a limit in packets under PIE.
#[derive(Debug)]
pub struct Pie<P> {
    store: PacketQueue<P>,
    limit: usize,
    ecn: bool,
    params: pie_law::Params,
    law: pie_law::Pie,
    timer: PeriodicTimer,
    rng: Xoshiro256PlusPlus,
    /// Length in bytes of a packet that a shaper above holds and that counts as queued.
    held: Option<u32>,
}

impl<P: Packet> Pie<P> {
    /// An empty queue for up to `limit` packets; `seed` determines the random drops.
    pub fn new(limit: usize, config: Config, seed: u64) -> Self {
        let params = config.into();
        Pie {
            store: PacketQueue::default(),
            limit,
            ecn: config.ecn,
            params,
            law: pie_law::Pie::new(&params),
            timer: PeriodicTimer::new(pie_law::FIRST_UPDATE, config.tupdate),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            held: None,
        }
    }

    /// Performs the calculations that were due since the last call.
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        let due = self.timer.expirations(now);
        if due > 0 {
            let backlog = self.store.bytes() + u64::from(self.held.unwrap_or(0));
            self.law.update(&self.params, backlog, due);
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Pie<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        self.catch_up(now);
        if self.store.len() + usize::from(self.held.is_some()) >= self.limit {
            self.law.on_drop();
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        let backlog = self.store.bytes() + u64::from(self.held.unwrap_or(0));
        if self.law.drop_early(&self.params, backlog, packet.bytes(), &mut self.rng) {
            let mark = self.ecn && self.law.probability() <= pie_law::MARK_ECNTH && packet.mark();
            if !mark {
                self.law.on_drop();
                signals.dropped(packet, DropReason::Early);
                return;
            }
            signals.marked(&packet, MarkReason::Early);
        }
        packet.set_arrived(now);
        self.store.push_back(packet);
    }

    fn dequeue(&mut self, now: Instant, _signals: &mut Signals<P>) -> Dequeue<P> {
        self.catch_up(now);
        let Some(packet) = self.store.pop_front() else {
            return Dequeue::Empty;
        };
        self.law.on_dequeue(&self.params, now, packet.arrived(), packet.bytes(), self.store.bytes());
        Dequeue::Packet(packet)
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn backlog(&self) -> u64 {
        self.store.bytes()
    }

    fn hold(&mut self, bytes: Option<u32>) {
        self.held = bytes;
    }
}
