//! `choke`: RED that compares each arrival with a random queued packet (Linux: `net/sched/sch_choke.c`).
//!
//! Pan, Prabhakar and Psounis, "CHOKe, a stateless active queue management scheme for approximating fair bandwidth
//! allocation" (INFOCOM 2000). The more packets of a flow are queued, the more often an arrival of that flow matches;
//! each match drops two packets.

use crate::laws::red::{EcnPolicy, Outcome, RedLaw};
use crate::laws::red_params::{self as params, RedParams};
use crate::plumbing::options::{Kind, OptionSpec, Options};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, Head, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{Field, KernelQdisc, Scheme, Statistics, TcSyntax};
use crate::plumbing::spec::Spec;
use gentle_units::Instant;
use std::collections::VecDeque;

/// Maximum size of the kernel's table (Linux: `CHOKE_MAX_QUEUE`).
const MAX_LIMIT: u64 = 128 * 1024 - 1;

/// Number of draws before the head is taken, if each falls on a hole (Linux: `choke_peek_random`).
const DRAWS: u32 = 3;

/// CHOKe, a stateless approximation of fair queueing.
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
        altered: params::TC_ALTERED,
        ..TcSyntax::plain(&QDISC)
    }),
    samples: &["limit=10 min=2 max=6 ewma=1", "limit=100 ecn", "min=1 ewma=1 gentle"],
    ..Scheme::PLAIN
};

/// Statistics: `struct tc_choke_xstats`.
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Struct(&[
        Field::U32("early"),
        Field::U32("pdrop"),
        Field::U32("other"),
        Field::U32("marked"),
        Field::U32("matched"),
    ]),
    drops: &[("/early", DropReason::Early), ("/pdrop", DropReason::Tail), ("/matched", DropReason::PushOut)],
    marks: &["/marked"],
    partial_dump: true,
    ..KernelQdisc::of_linux("choke")
};

fn check(options: &Options) -> Result<(), String> {
    RedParams::in_packets(options).map(|_| ())
}

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(Choke::new(spec.options(), seed))
}

/// A FIFO with a limit in packets under CHOKe.
#[derive(Debug)]
pub struct Choke<P> {
    /// Queued packets. Matched packets leave holes, as in the kernel's table; the first entry is never a hole.
    table: VecDeque<Option<P>>,
    len: usize,
    bytes: u64,
    limit: usize,
    /// Entries of the kernel's table, one less than a power of two.
    capacity: usize,
    law: RedLaw,
    ecn: EcnPolicy,
}

impl<P: Packet> Choke<P> {
    pub(crate) fn new(options: &Options, seed: u64) -> Self {
        let params = RedParams::in_packets(options).expect("the specification has been checked");
        let limit = options.count("limit") as usize;
        Choke {
            table: VecDeque::new(),
            len: 0,
            bytes: 0,
            limit,
            capacity: (limit + 1).next_power_of_two() - 1,
            law: RedLaw::new(&params, seed),
            ecn: EcnPolicy::simple(options.flag("ecn")),
        }
    }

    /// Draws a random queued packet and removes it if it belongs to `flow` (Linux: `choke_match_random`).
    fn take_match(&mut self, flow: u64) -> Option<P> {
        if self.table.is_empty() {
            return None;
        }
        let mut index = 0;
        for _ in 0..DRAWS {
            let drawn = self.law.random_below(self.table.len() as u32) as usize;
            if self.table[drawn].is_some() {
                index = drawn;
                break;
            }
        }
        let packet = self.table[index].take_if(|queued| queued.flow() == flow)?;
        self.uncount(&packet);
        self.remove_holes_at_head();
        Some(packet)
    }

    fn uncount(&mut self, packet: &P) {
        self.len -= 1;
        self.bytes -= u64::from(packet.bytes());
    }

    fn remove_holes_at_head(&mut self) {
        while let Some(None) = self.table.front() {
            self.table.pop_front();
        }
    }

    fn push(&mut self, packet: P) {
        // In the kernel a table full of holes looks empty and its packets are lost. Here the holes are removed.
        if self.table.len() == self.capacity {
            self.table.retain(Option::is_some);
        }
        self.len += 1;
        self.bytes += u64::from(packet.bytes());
        self.table.push_back(Some(packet));
    }
}

impl<P: Packet + Send> Qdisc<P> for Choke<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        self.law.update_average(now, self.len as u64);
        if !self.law.exceeds_min() {
            self.law.reset_count();
        } else {
            if let Some(queued) = self.take_match(packet.flow()) {
                signals.dropped(queued, DropReason::PushOut);
                signals.dropped(packet, DropReason::Early);
                return;
            }
            match self.ecn.apply(self.law.decide_above_min(), &mut packet) {
                Outcome::Enqueue => {}
                Outcome::EnqueueMarked => signals.marked(&packet, MarkReason::Early),
                Outcome::Drop => {
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

    fn dequeue(&mut self, now: Instant, _signals: &mut Signals<P>) -> Dequeue<P> {
        let Some(packet) = self.table.pop_front().flatten() else {
            self.law.start_idle(now);
            return Dequeue::Empty;
        };
        self.uncount(&packet);
        self.remove_holes_at_head();
        Dequeue::Packet(packet)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }

    fn head(&self) -> Head {
        self.table.front().and_then(Option::as_ref).into()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestPacket, build};
    use crate::{DropReason, Qdisc, Signals};
    use gentle_units::Instant;

    #[test]
    fn a_flow_that_meets_itself_loses_both_packets() {
        let mut queue = build("choke");
        let mut drops = Signals::new();
        for number in 0..1000 {
            queue.enqueue(Instant(number), TestPacket::data(1, 1000), &mut drops);
        }
        // With one flow every arrival above min matches, so the queue cannot stay above min for long.
        let pushed = drops.iter().filter(|(_, r)| *r == DropReason::PushOut).count();
        let early = drops.iter().filter(|(_, r)| *r == DropReason::Early).count();
        assert_eq!(pushed, early);
        assert!(pushed > 400 && queue.len() < 12, "{pushed} {}", queue.len());
    }

    #[test]
    fn flows_of_one_packet_never_match() {
        let mut queue = build("choke");
        let mut drops = Signals::new();
        for flow in 0..1000 {
            queue.enqueue(Instant(flow), TestPacket::data(flow, 1000), &mut drops);
        }
        assert!(drops.iter().all(|(_, reason)| *reason == DropReason::Early));
        assert!(queue.len() > 12);
    }

    #[test]
    fn holes_are_skipped_and_their_places_found_again() {
        // Only matches drop early here, so that the table fills with holes while no packet leaves.
        let mut queue = build("choke limit=15 min=1 max=15 ewma=1 probability=0.000001");
        let mut drops = Signals::new();
        for number in 0..5000 {
            let packet = TestPacket::data(u64::from(number % 7), 100).numbered(number);
            queue.enqueue(Instant::ZERO, packet, &mut drops);
        }
        let mut last = None;
        let mut left = 0;
        while let Some(packet) = queue.dequeue(Instant::ZERO, &mut drops).packet() {
            assert!(last < Some(packet.id));
            last = Some(packet.id);
            left += 1;
        }
        assert_eq!(left + drops.len(), 5000);
        assert_eq!((queue.len(), queue.backlog()), (0, 0));
    }
}
