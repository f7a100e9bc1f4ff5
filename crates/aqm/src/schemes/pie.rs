//! `pie`: proportional integral controller enhanced (RFC 8033; Linux: `net/sched/sch_pie.c`).
//!
//! A thin shell around the control law. Linux calculates the probability on a timer in jiffies; here the period is
//! exact, and the first calculation falls half a second after time zero, as it does half a second after `tc qdisc add`.

use crate::laws::pie::{self as pie_law, Config};
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::periodic::Periodic;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{
    Conformance, Field, KernelQdisc, RoundedTimes, Scheme, Statistics, TcSyntax, TimeAttribute,
};
use crate::plumbing::spec::Spec;
use crate::plumbing::store::Store;
use gentle_units::Nanos;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Proportional integral controller enhanced.
pub static SCHEME: Scheme = Scheme {
    name: "pie",
    summary: "drops on arrival with a probability that steers the queueing delay to a target",
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
    ],
    drops: &[DropReason::Early, DropReason::Tail],
    marks: &[MarkReason::Early],
    linux: Some(TcSyntax {
        off: pie_law::TC_OFF,
        ..TcSyntax::plain(&QDISC)
    }),
    conformance: Conformance {
        timer: Some(pie_law::TUPDATE.name),
        ..Conformance::EXACT
    },
    samples: &[
        "limit=10 target=1ms",
        "ecn",
        "tupdate=20ms alpha=2 beta=20 bytemode dq_rate_estimator",
    ],
    ..Scheme::PLAIN
};

/// `struct tc_pie_xstats`; the time is `TCA_PIE_TARGET`.
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Struct(&[
        // A fraction of 2^64.
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
    rounded: Some(RoundedTimes {
        attributes: &[1],
        tick_ns: pie_law::TICK_NS,
    }),
    ..KernelQdisc::of_linux("pie")
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    Box::new(Pie::new(
        options.count("limit") as usize,
        Config::from_options(options),
        seed,
    ))
}

/// A queue of at most `limit` packets under PIE.
#[derive(Debug)]
pub struct Pie<P> {
    store: Store<P>,
    limit: usize,
    ecn: bool,
    params: pie_law::Params,
    law: pie_law::Pie,
    timer: Periodic,
    rng: Xoshiro256PlusPlus,
}

impl<P: Packet> Pie<P> {
    /// An empty queue for `limit` packets.
    pub fn new(limit: usize, config: Config, seed: u64) -> Self {
        Pie {
            store: Store::default(),
            limit,
            ecn: config.ecn,
            params: config.into(),
            law: pie_law::Pie::default(),
            timer: Periodic::new(pie_law::FIRST_UPDATE, config.tupdate),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Makes up for the calculations due since the last call.
    #[inline]
    fn catch_up(&mut self, now: Nanos) {
        let due = self.timer.fired(now);
        if due > 0 {
            self.law.update(&self.params, self.store.bytes(), due);
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Pie<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, signals: &mut Signals<P>) {
        self.catch_up(now);
        if self.store.len() >= self.limit {
            self.law.dropped();
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        let backlog = self.store.bytes();
        if self
            .law
            .drop_early(&self.params, backlog, packet.bytes(), &mut self.rng)
        {
            let mark = self.ecn && self.law.probability() <= pie_law::TENTH && packet.mark();
            if !mark {
                self.law.dropped();
                signals.dropped(packet, DropReason::Early);
                return;
            }
            signals.marked(&packet, MarkReason::Early);
        }
        packet.set_arrived(now);
        self.store.push_back(packet);
    }

    fn dequeue(&mut self, now: Nanos, _signals: &mut Signals<P>) -> Dequeue<P> {
        self.catch_up(now);
        let Some(packet) = self.store.pop_front() else {
            return Dequeue::Empty;
        };
        self.law.departed(
            &self.params,
            now,
            packet.arrived(),
            packet.bytes(),
            self.store.bytes(),
        );
        Dequeue::Packet(packet)
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn backlog(&self) -> u64 {
        self.store.bytes()
    }
}
