//! `red`: random early detection (Linux: `net/sched/sch_red.c`).

use crate::laws::red::{Fate, Marking, RedLaw};
use crate::laws::red_params::{self as params, RedParams};
use crate::plumbing::options::{OptionSpec, Options, joined};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{Conformance, Field, KernelQdisc, Scheme, Statistics, TcSyntax};
use crate::plumbing::spec::Spec;
use crate::plumbing::store::Store;
use gentle_units::Nanos;

/// RED. With `adaptive` it is [`ared`](crate::schemes::ared).
pub static SCHEME: Scheme = Scheme {
    name: "red",
    summary: "drops arrivals at random, the more the longer the average queue",
    source: "Floyd and Jacobson 1993; Linux sch_red.c, red.h; iproute2 tc_red.c",
    options: OPTIONS,
    check,
    drops: &[DropReason::Early, DropReason::Tail],
    marks: &[MarkReason::Early],
    linux: Some(TC),
    conformance: Conformance {
        set_up,
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

/// RED as `tc` writes it, which [`ared`](super::ared) is with one word more.
pub(super) const TC: TcSyntax = TcSyntax {
    always: params::TC_ALWAYS,
    refused: params::TC_REFUSED,
    ..TcSyntax::plain(&QDISC)
};

/// `struct tc_red_xstats`. The adapted `max_p` is `TCA_RED_MAX_P`.
static QDISC: KernelQdisc = KernelQdisc {
    openwrt: Some("kmod-sched-red"),
    statistics: Statistics::Struct(&[
        Field::U32("early"),
        Field::U32("pdrop"),
        Field::U32("other"),
        Field::U32("marked"),
    ]),
    drops: &[("/early", DropReason::Early), ("/pdrop", DropReason::Tail)],
    marks: &["/marked"],
    hidden: true,
    moving: &[3],
    ..KernelQdisc::of_linux("red")
};

/// RED without adaptation, whatever was asked for.
///
/// Since its flags have an attribute of their own (Linux 5.7), `tc` puts `adaptive` there only, and `red_change` of
/// `net/sched/sch_red.c` looks for it where it was before: the timer that would adapt is never started.
fn set_up(spec: &Spec) -> Spec {
    spec.without("adaptive")
}

/// Options of RED, adaptive or not, of which Linux has all but `ewma`.
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

/// Options of `red`, which `redfavor` has too.
pub(super) const OPTIONS: &[OptionSpec] =
    &joined::<{ COMMON.len() + 2 }>(&[COMMON, &[params::ADAPTIVE, params::GENTLE]]);

pub(crate) fn check(options: &Options) -> Result<(), String> {
    if options.flag("nodrop") && !options.flag("ecn") {
        return Err("nodrop only has a meaning with ecn; expected both or neither".to_owned());
    }
    RedParams::in_bytes(options, false).map(|_| ())
}

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    Box::new(Red::new(options, options.flag("adaptive"), seed))
}

/// A byte FIFO with random early detection before it.
#[derive(Debug)]
pub struct Red<P> {
    store: Store<P>,
    limit: u64,
    law: RedLaw,
    marking: Marking,
}

impl<P: Packet> Red<P> {
    pub(crate) fn new(options: &Options, adaptive: bool, seed: u64) -> Self {
        let params =
            RedParams::in_bytes(options, adaptive).expect("checked with the specification");
        Red {
            store: Store::default(),
            limit: options.size("limit"),
            law: RedLaw::new(&params, seed),
            marking: Marking::of_red(options),
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Red<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, signals: &mut Signals<P>) {
        self.law.observe(now, self.store.bytes());
        match self.marking.apply(self.law.decide(), &mut packet) {
            Fate::Queue => {}
            Fate::Marked => signals.marked(&packet, MarkReason::Early),
            Fate::Drop => {
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

    fn dequeue(&mut self, now: Nanos, _signals: &mut Signals<P>) -> Dequeue<P> {
        let packet = self.store.pop_front();
        if packet.is_none() {
            self.law.idle(now);
        }
        packet.into()
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn backlog(&self) -> u64 {
        self.store.bytes()
    }
}

#[cfg(test)]
mod tests {
    use crate::plumbing::testing::{Packet, build};
    use crate::{DropReason, Qdisc, Signals, Spec};
    use gentle_units::Nanos;

    /// Fills the queue at one instant and counts what became of the packets: queued, early drops, tail drops, marks.
    fn flood(spec: &str, packet: Packet) -> (usize, usize, usize, usize) {
        let mut queue = build(spec);
        let mut drops = Signals::new();
        for _ in 0..2000 {
            queue.enqueue(Nanos::ZERO, packet, &mut drops);
        }
        let early = drops
            .iter()
            .filter(|(_, r)| *r == DropReason::Early)
            .count();
        (queue.len(), early, drops.len() - early, drops.marks().len())
    }

    #[test]
    fn without_ecn_a_flood_ends_in_early_drops() {
        let (queued, early, tail, marked) = flood("red", Packet::data(1, 1000));
        assert!(queued < 75 && early > 1900, "{queued} {early}");
        assert_eq!((tail, marked), (0, 0));
    }

    #[test]
    fn ecn_marks_the_capable_and_drops_the_others() {
        let capable = Packet::data(1, 1000).ecn_capable();
        let (queued, early, tail, marked) = flood("red ecn", capable);
        assert_eq!((queued, early, tail), (75, 0, 1925));
        assert!(marked > 1900);
        assert!(flood("red ecn", Packet::data(1, 1000)).1 > 1900);
        assert!(flood("red ecn harddrop", capable).1 > 1800);
        assert_eq!(flood("red ecn nodrop", Packet::data(1, 1000)).1, 0);
    }

    #[test]
    fn nodrop_needs_ecn() {
        let error = "red nodrop".parse::<Spec>().unwrap_err().to_string();
        assert!(error.contains("ecn"), "{error}");
    }
}
