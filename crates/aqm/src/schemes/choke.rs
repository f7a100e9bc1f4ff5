//! `choke`: RED that compares each arrival with a random packet of the queue (Linux: `net/sched/sch_choke.c`).
//!
//! Pan, Prabhakar and Psounis, "CHOKe, a stateless active queue management scheme for approximating fair bandwidth
//! allocation" (INFOCOM 2000). A flow that fills the queue meets itself often, and each time loses two packets.

use crate::laws::red::{Fate, Marking, RedLaw};
use crate::laws::red_params::{self as params, RedParams};
use crate::plumbing::options::{Kind, OptionSpec, Options};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{Field, KernelQdisc, Scheme, Statistics, TcSyntax};
use crate::plumbing::spec::Spec;
use gentle_units::Nanos;
use std::collections::VecDeque;

/// The largest table the kernel allows (Linux: `CHOKE_MAX_QUEUE`).
const MAX_LIMIT: u64 = 128 * 1024 - 1;

/// How often another packet is drawn when the draw falls on a hole.
const DRAWS: u32 = 3;

/// CHOKe.
pub static SCHEME: Scheme = Scheme {
    name: "choke",
    summary: "RED; an arrival of the same flow as a random queued packet is dropped together with it",
    source: "Pan, Prabhakar and Psounis 2000; Linux sch_choke.c; iproute2 q_choke.c",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Count(1, MAX_LIMIT),
            default: Some("50"),
            help: "packets the queue holds (tc has no default)",
        },
        OptionSpec {
            name: "min",
            kind: Kind::Count(1, MAX_LIMIT),
            default: None,
            help: "average queue in packets from which arrivals are compared and dropped; derived: max/3",
        },
        OptionSpec {
            name: "max",
            kind: Kind::Count(1, MAX_LIMIT),
            default: None,
            help: "average queue in packets above which every packet is dropped; derived: limit/4",
        },
        params::AVPKT,
        params::BURST,
        params::EWMA,
        params::PROBABILITY,
        params::BANDWIDTH,
        params::ECN,
        params::GENTLE,
    ],
    check,
    drops: &[DropReason::Early, DropReason::PushOut, DropReason::Tail],
    marks: &[MarkReason::Early],
    linux: Some(TcSyntax {
        always: params::TC_ALWAYS,
        refused: params::TC_REFUSED,
        ..TcSyntax::plain(&QDISC)
    }),
    samples: &[
        "limit=10 min=2 max=6 ewma=1",
        "limit=100 ecn",
        "min=1 ewma=1 gentle",
    ],
    ..Scheme::PLAIN
};

/// `struct tc_choke_xstats`.
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Struct(&[
        Field::U32("early"),
        Field::U32("pdrop"),
        Field::U32("other"),
        Field::U32("marked"),
        Field::U32("matched"),
    ]),
    drops: &[
        ("/early", DropReason::Early),
        ("/pdrop", DropReason::Tail),
        ("/matched", DropReason::PushOut),
    ],
    marks: &["/marked"],
    hidden: true,
    ..KernelQdisc::of_linux("choke")
};

fn check(options: &Options) -> Result<(), String> {
    RedParams::in_packets(options).map(|_| ())
}

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(Choke::new(spec.options(), seed))
}

/// A packet FIFO with RED and the comparison before it.
#[derive(Debug)]
pub struct Choke<P> {
    /// Matched packets leave a hole behind, as in the kernel's table; the first place never is one.
    places: VecDeque<Option<P>>,
    len: usize,
    bytes: u64,
    limit: usize,
    /// Places of the kernel's table, one less than a power of two.
    capacity: usize,
    law: RedLaw,
    marking: Marking,
}

impl<P: Packet> Choke<P> {
    pub(crate) fn new(options: &Options, seed: u64) -> Self {
        let params = RedParams::in_packets(options).expect("checked with the specification");
        let limit = options.count("limit") as usize;
        Choke {
            places: VecDeque::new(),
            len: 0,
            bytes: 0,
            limit,
            capacity: (limit + 1).next_power_of_two() - 1,
            law: RedLaw::new(&params, seed),
            marking: Marking::simple(options.flag("ecn")),
        }
    }

    /// Draws a random queued packet; takes it out if it is of `flow` (Linux: `choke_match_random`).
    fn take_match(&mut self, flow: u64) -> Option<P> {
        if self.places.is_empty() {
            return None;
        }
        let mut place = 0;
        for _ in 0..DRAWS {
            let drawn = self.law.random_below(self.places.len() as u32) as usize;
            if self.places[drawn].is_some() {
                place = drawn;
                break;
            }
        }
        let packet = self.places[place].take_if(|queued| queued.flow() == flow)?;
        self.forget(&packet);
        self.close_holes_at_head();
        Some(packet)
    }

    fn forget(&mut self, packet: &P) {
        self.len -= 1;
        self.bytes -= u64::from(packet.bytes());
    }

    fn close_holes_at_head(&mut self) {
        while let Some(None) = self.places.front() {
            self.places.pop_front();
        }
    }

    fn push(&mut self, packet: P) {
        // In the kernel a table that fills up with holes looks empty and loses its packets; here they close ranks.
        if self.places.len() == self.capacity {
            self.places.retain(Option::is_some);
        }
        self.len += 1;
        self.bytes += u64::from(packet.bytes());
        self.places.push_back(Some(packet));
    }
}

impl<P: Packet + Send> Qdisc<P> for Choke<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, signals: &mut Signals<P>) {
        self.law.observe(now, self.len as u64);
        if !self.law.exceeds_min() {
            self.law.forget();
        } else {
            if let Some(queued) = self.take_match(packet.flow()) {
                signals.dropped(queued, DropReason::PushOut);
                signals.dropped(packet, DropReason::Early);
                return;
            }
            match self.marking.apply(self.law.decide_above_min(), &mut packet) {
                Fate::Queue => {}
                Fate::Marked => signals.marked(&packet, MarkReason::Early),
                Fate::Drop => {
                    signals.dropped(packet, DropReason::Early);
                    return;
                }
            }
        }
        if self.len >= self.limit {
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        packet.set_arrived(now);
        self.push(packet);
    }

    fn dequeue(&mut self, now: Nanos, _signals: &mut Signals<P>) -> Dequeue<P> {
        let Some(packet) = self.places.pop_front().flatten() else {
            self.law.idle(now);
            return Dequeue::Empty;
        };
        self.forget(&packet);
        self.close_holes_at_head();
        Dequeue::Packet(packet)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use crate::plumbing::testing::{Packet, build};
    use crate::{DropReason, Qdisc, Signals};
    use gentle_units::Nanos;

    #[test]
    fn a_flow_that_meets_itself_loses_both_packets() {
        let mut queue = build("choke");
        let mut drops = Signals::new();
        for number in 0..1000 {
            queue.enqueue(Nanos(number), Packet::data(1, 1000), &mut drops);
        }
        // All one flow: above min every arrival matches, so the queue cannot grow beyond it for long.
        let pushed = drops
            .iter()
            .filter(|(_, r)| *r == DropReason::PushOut)
            .count();
        let early = drops
            .iter()
            .filter(|(_, r)| *r == DropReason::Early)
            .count();
        assert_eq!(pushed, early);
        assert!(pushed > 400 && queue.len() < 12, "{pushed} {}", queue.len());
    }

    #[test]
    fn flows_of_one_packet_never_match() {
        let mut queue = build("choke");
        let mut drops = Signals::new();
        for flow in 0..1000 {
            queue.enqueue(Nanos(flow), Packet::data(flow, 1000), &mut drops);
        }
        assert!(drops.iter().all(|(_, reason)| *reason == DropReason::Early));
        assert!(queue.len() > 12);
    }

    #[test]
    fn holes_are_skipped_and_their_places_found_again() {
        // No early drop but by match, so that the table fills with holes while nothing leaves.
        let mut queue = build("choke limit=15 min=1 max=15 ewma=1 probability=0.000001");
        let mut drops = Signals::new();
        for number in 0..5000 {
            let packet = Packet::data(u64::from(number % 7), 100).numbered(number);
            queue.enqueue(Nanos::ZERO, packet, &mut drops);
        }
        let mut last = None;
        let mut left = 0;
        while let Some(packet) = queue.dequeue(Nanos::ZERO, &mut drops).packet() {
            assert!(last < Some(packet.number));
            last = Some(packet.number);
            left += 1;
        }
        assert_eq!(left + drops.len(), 5000);
        assert_eq!((queue.len(), queue.backlog()), (0, 0));
    }
}
