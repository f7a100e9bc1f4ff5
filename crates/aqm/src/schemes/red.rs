//! `red`: random early detection (Linux: `net/sched/sch_red.c`).

use crate::laws::red::{EcnPolicy, Outcome, RedLaw};
use crate::laws::red_params::{self as params, RedParams};
use crate::plumbing::options::{OptionSpec, Options, joined};
use crate::plumbing::packet::Packet;
use crate::plumbing::packet_queue::PacketQueue;
use crate::plumbing::qdisc::{Dequeue, DropReason, Head, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{Conformance, Field, KernelQdisc, Scheme, Statistics, TcSyntax};
use crate::plumbing::spec::Spec;
use gentle_units::Instant;

/// RED. With `adaptive` it is [`ared`](crate::schemes::ared).
pub static SCHEME: Scheme = Scheme {
    name: "red",
    summary: "drops arrivals with a probability that grows with the average queue",
    source: "Floyd and Jacobson 1993; Linux sch_red.c, red.h; iproute2 tc_red.c",
    options: OPTIONS,
    check,
    drops: &[DropReason::Early, DropReason::Tail],
    marks: &[MarkReason::Early],
    linux: Some(TC),
    conformance: Conformance {
        // Since Linux 5.7 `tc` sends `adaptive` in the flags' own attribute only, but `red_change`
        // (`net/sched/sch_red.c`) looks for it in the older structure and never starts the timer of the adaptation.
        ignored: &[params::ADAPTIVE.name],
        ..Conformance::EXACT
    },
    samples: &[
        "limit=20000 avpkt=500 ewma=1",
        "limit=20000 avpkt=500",
        "ecn gentle probability=0.5",
        "ecn harddrop min=2000 max=6000 ewma=1",
        "ecn nodrop ewma=9",
        "adaptive",
        "min=5kb max=15kb probability=0.02 burst=20 adaptive ecn",
    ],
    ..Scheme::PLAIN
};

/// Syntax of RED in `tc`; [`ared`](super::ared) adds one word.
pub(super) const TC: TcSyntax = TcSyntax {
    always: params::TC_ALWAYS,
    refused: params::TC_REFUSED,
    altered: params::TC_ALTERED,
    ..TcSyntax::plain(&QDISC)
};

/// Statistics: `struct tc_red_xstats`. Adapted `max_p`: `TCA_RED_MAX_P`.
static QDISC: KernelQdisc = KernelQdisc {
    openwrt_package: Some("kmod-sched-red"),
    statistics: Statistics::Struct(&[
        Field::U32("early"),
        Field::U32("pdrop"),
        Field::U32("other"),
        Field::U32("marked"),
    ]),
    drops: &[("/early", DropReason::Early), ("/pdrop", DropReason::Tail)],
    marks: &["/marked"],
    partial_dump: true,
    volatile: &[3],
    ..KernelQdisc::of_linux("red")
};

/// Options of `red` and `ared`; Linux has all but `ewma`.
pub(super) const COMMON: &[OptionSpec] = &[
    params::LIMIT_BYTES,
    params::MIN_BYTES,
    params::MAX_BYTES,
    params::AVPKT,
    params::BURST,
    params::EWMA,
    params::PROBABILITY,
    params::BANDWIDTH,
    params::ECN,
    params::HARDDROP,
    params::NODROP,
];

/// Options of `red` and `redfavor`.
pub(super) const OPTIONS: &[OptionSpec] =
    &joined::<{ COMMON.len() + 2 }>(&[COMMON, &[params::ADAPTIVE, params::GENTLE]]);

pub(crate) fn check(options: &Options) -> Result<(), String> {
    if options.flag("nodrop") && !options.flag("ecn") {
        return Err("nodrop has no effect without ecn; expected both or neither".to_owned());
    }
    RedParams::in_bytes(options, false).map(|_| ())
}

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    Box::new(Red::new(options, options.flag("adaptive"), seed))
}

/// A FIFO with a limit in bytes under RED.
#[derive(Debug)]
pub struct Red<P> {
    store: PacketQueue<P>,
    limit: u64,
    law: RedLaw,
    ecn: EcnPolicy,
}

impl<P: Packet> Red<P> {
    pub(crate) fn new(options: &Options, adaptive: bool, seed: u64) -> Self {
        let params = RedParams::in_bytes(options, adaptive).expect("the specification has been checked");
        Red {
            store: PacketQueue::default(),
            limit: options.size("limit"),
            law: RedLaw::new(&params, seed),
            ecn: EcnPolicy::of_red(options),
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Red<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        self.law.update_average(now, self.store.bytes());
        match self.ecn.apply(self.law.decide(), &mut packet) {
            Outcome::Enqueue => {}
            Outcome::EnqueueMarked => signals.marked(&packet, MarkReason::Early),
            Outcome::Drop => {
                signals.dropped(packet, DropReason::Early);
                return;
            }
        }
        if self.store.bytes() + u64::from(packet.bytes()) > self.limit {
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        packet.set_arrived(now);
        self.store.push_back(packet);
    }

    fn dequeue(&mut self, now: Instant, _signals: &mut Signals<P>) -> Dequeue<P> {
        let packet = self.store.pop_front();
        if packet.is_none() {
            self.law.start_idle(now);
        }
        packet.into()
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn backlog(&self) -> u64 {
        self.store.bytes()
    }

    fn head(&self) -> Head {
        self.store.front().into()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestPacket, build};
    use crate::{DropReason, Qdisc, Signals, Spec};
    use gentle_units::Instant;

    /// Enqueues 2000 packets at once and counts queued packets, early drops, tail drops and marks.
    fn flood(spec: &str, packet: TestPacket) -> (usize, usize, usize, usize) {
        let mut queue = build(spec);
        let mut drops = Signals::new();
        for _ in 0..2000 {
            queue.enqueue(Instant::ZERO, packet, &mut drops);
        }
        let early = drops.iter().filter(|(_, r)| *r == DropReason::Early).count();
        (queue.len(), early, drops.len() - early, drops.marks().len())
    }

    #[test]
    fn without_ecn_a_flood_ends_in_early_drops() {
        let (queued, early, tail, marked) = flood("red", TestPacket::data(1, 1000));
        assert!(queued < 75 && early > 1900, "{queued} {early}");
        assert_eq!((tail, marked), (0, 0));
    }

    #[test]
    fn ecn_marks_the_capable_and_drops_the_others() {
        let capable = TestPacket::data(1, 1000).ecn_capable();
        let (queued, early, tail, marked) = flood("red ecn", capable);
        assert_eq!((queued, early, tail), (75, 0, 1925));
        assert!(marked > 1900);
        assert!(flood("red ecn", TestPacket::data(1, 1000)).1 > 1900);
        assert!(flood("red ecn harddrop", capable).1 > 1800);
        assert_eq!(flood("red ecn nodrop", TestPacket::data(1, 1000)).1, 0);
    }

    #[test]
    fn nodrop_needs_ecn() {
        let error = "red nodrop".parse::<Spec>().unwrap_err().to_string();
        assert!(error.contains("ecn"), "{error}");
    }
}
