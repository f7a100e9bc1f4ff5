//! `redfavor`: RED that protects SYNs (Anelli, Harivelo, Lorion, "TCP SYN Protection: An Evaluation", ICN 2012).
//!
//! SYNs are served first and never dropped while a standard packet is queued. Choices where the paper is silent: the
//! limit is in bytes, so one SYN may push out several standard packets; a SYN that would not fit even then (longer than
//! the limit less the protected bytes) is dropped and pushes out nothing; an ECN-capable SYN is marked, like any packet
//! under RED.
//!
//! The paper can be read in two ways. Algorithm 1, line 5, asks whether RED would drop the arriving SYN: if so, a standard
//! packet is pushed out, and the SYN is dropped if the queue holds none, even if it is empty. Section III, paragraph 7,
//! says that RED's filter does not check SYNs, and paragraph 4 that a SYN is dropped only for lack of room. The second is
//! the option `exempt`, a part of `published`. It is off by default: with a share below 100 RED drops no SYN anyway, and an
//! ECN-capable SYN should be marked.
//!
//! Two limits that the paper does not have keep a flood of SYNs, or of data with that flag set, from taking the link:
//! `maxlen` and `share`, as in [`spa`](crate::schemes::spa): a SYN beyond the share is a standard packet for RED too. With a
//! share below 100, a SYN that RED would drop pushes out a packet only if the queue is full: a long data packet itself
//! raises the average above max, so under a flood the next SYN would always find it last in the queue. The kernel
//! module `kernel/sch_redfavor.c` makes the same decisions.

use crate::laws::handshake::{MAXLEN, maxlen};
use crate::laws::red::{EcnPolicy, Outcome, RedLaw};
use crate::laws::red_params::{self as params, RedParams};
use crate::laws::share::{Admission, PriorityShare, SHARE};
use crate::plumbing::options::{Kind, OptionSpec, Options, joined};
use crate::plumbing::packet::Packet;
use crate::plumbing::packet_queue::PacketQueue;
use crate::plumbing::qdisc::{Dequeue, DropReason, Head, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{KernelQdisc, Order, Preset, Priority, Scheme, Statistics, TcSyntax};
use crate::plumbing::spec::Spec;
use crate::schemes::red;
use gentle_units::Instant;

/// REDFavor, RED that protects SYNs.
pub static SCHEME: Scheme = Scheme {
    name: "redfavor",
    summary: "RED; SYNs are served first, and the last standard packet is dropped in place of a SYN",
    source: "Anelli, Harivelo and Lorion 2012, section III (exempt maxlen=0 share=100 as published); Linux red.h",
    options: OPTIONS,
    check: red::check,
    presets: &[PUBLISHED],
    drops: &[DropReason::Early, DropReason::Tail, DropReason::PushOut],
    marks: &[MarkReason::Early],
    order,
    linux: Some(TcSyntax { always: params::TC_ALWAYS, ..TcSyntax::plain(&QDISC) }),
    samples: &[
        "limit=10000 min=1000 max=3000 ewma=1",
        "limit=10000 min=1000 max=3000 ewma=1 maxlen=0 share=100",
        "limit=10000 min=1000 max=3000 ewma=1 share=10",
        "limit=10000 min=1000 max=3000 ewma=1 exempt maxlen=0 share=100",
        "ecn gentle",
    ],
    ..Scheme::PLAIN
};

/// The scheme as published: RED does not decide on SYNs, and neither their length nor their share is limited. Of the two
/// readings, this one gives the published numbers of dropped SYNs (`gentle reproduce redfavor-2012 queue`).
const PUBLISHED: Preset = Preset { name: "published", options: "exempt maxlen=0 share=100" };

fn order(options: &Options) -> Order {
    let maxlen = maxlen(options);
    let unlimited = maxlen == u32::MAX && options.count("share") == 100;
    Order {
        priority: Some(Priority {
            fins: false,
            maxlen,
            strict: false,
            protected_bytes: unlimited.then(|| options.size("limit")),
        }),
        ..Order::FIFO
    }
}

/// Statistics: `TCA_REDFAVOR_XSTATS_*` (`kernel/include/uapi/pkt_sch_redfavor.h`).
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Whole(&[
        (2, "prob_drop"),
        (3, "forced_drop"),
        (4, "tail_drop"),
        (5, "push_out"),
        (6, "syn_queued"),
        (7, "syn_saved"),
        (8, "syn_early_drop"),
        (9, "syn_tail_drop"),
        (10, "prob_mark"),
        (11, "forced_mark"),
        (12, "syn_toolong"),
        (13, "syn_overshare"),
        (14, "qavg_bytes"),
        (15, "max_p"),
        (16, "syn_qlen"),
        (17, "syn_backlog_bytes"),
    ]),
    drops: &[
        ("/tail_drop", DropReason::Tail),
        ("/prob_drop", DropReason::Early),
        ("/forced_drop", DropReason::Early),
        ("/push_out", DropReason::PushOut),
    ],
    marks: &["/prob_mark", "/forced_mark"],
    partial_dump: true,
    ..KernelQdisc::of_gentle("redfavor")
};

const OPTIONS: &[OptionSpec] = &joined::<{ red::OPTIONS.len() + 3 }>(&[
    red::OPTIONS,
    &[
        MAXLEN,
        OptionSpec {
            help: "percentage of the bytes that protected SYNs may take while packets wait, beyond a burst of 15140 bytes; 100: no limit, as published",
            ..SHARE
        },
        EXEMPT,
    ],
]);

const EXEMPT: OptionSpec = OptionSpec {
    name: "exempt",
    kind: Kind::Flag,
    default: Some("off"),
    help: "RED neither drops nor marks protected SYNs: they push out packets, and are dropped, only if the queue is full",
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let params = RedParams::in_bytes(options, options.flag("adaptive")).expect("the specification has been checked");
    Box::new(RedFavor {
        protected: PacketQueue::default(),
        standard: PacketQueue::default(),
        limit: options.size("limit"),
        maxlen: maxlen(options),
        share: PriorityShare::new(options.count("share") as u8),
        exempt: options.flag(EXEMPT.name),
        law: RedLaw::new(&params, seed),
        ecn: EcnPolicy::of_red(options),
    })
}

/// Two FIFOs, SYNs and standard packets, in one buffer under one RED.
#[derive(Debug)]
pub struct RedFavor<P> {
    protected: PacketQueue<P>,
    standard: PacketQueue<P>,
    limit: u64,
    /// Maximum length of a protected packet in bytes; `u32::MAX`: no check.
    maxlen: u32,
    share: PriorityShare,
    /// RED does not decide on protected packets.
    exempt: bool,
    law: RedLaw,
    ecn: EcnPolicy,
}

impl<P: Packet> RedFavor<P> {
    fn bytes(&self) -> u64 {
        self.protected.bytes() + self.standard.bytes()
    }

    fn fits(&self, packet: &P) -> bool {
        self.bytes() + u64::from(packet.bytes()) <= self.limit
    }

    fn is_protected(&mut self, packet: &P) -> bool {
        let waiting = self.bytes() > 0;
        packet.handshake().syn
            && packet.ip_bytes() <= self.maxlen
            && self.share.admit(packet.bytes(), waiting) == Admission::First
    }

    /// Drops the last standard packet; false without one.
    fn push_out(&mut self, signals: &mut Signals<P>) -> bool {
        match self.standard.pop_back() {
            Some(packet) => {
                signals.dropped(packet, DropReason::PushOut);
                true
            }
            None => false,
        }
    }

    fn enqueue_syn(&mut self, syn: P, early: bool, signals: &mut Signals<P>) {
        if self.protected.bytes() + u64::from(syn.bytes()) > self.limit {
            signals.dropped(syn, DropReason::Tail);
            return;
        }
        if early && !self.share.is_limited() && !self.push_out(signals) {
            signals.dropped(syn, DropReason::Early);
            return;
        }
        // Terminates: without standard packets the SYN fits.
        while !self.fits(&syn) && self.push_out(signals) {}
        self.protected.push_back(syn);
    }
}

impl<P: Packet + Send> Qdisc<P> for RedFavor<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        self.law.update_average(now, self.bytes());
        let protected = self.is_protected(&packet);
        let outcome = match protected && self.exempt {
            true => Outcome::Enqueue,
            false => self.ecn.apply(self.law.decide(), &mut packet),
        };
        if outcome == Outcome::EnqueueMarked {
            signals.marked(&packet, MarkReason::Early);
        }
        packet.set_arrived(now);
        if protected {
            self.enqueue_syn(packet, outcome == Outcome::Drop, signals);
        } else if outcome == Outcome::Drop {
            signals.dropped(packet, DropReason::Early);
        } else if self.fits(&packet) {
            self.standard.push_back(packet);
        } else {
            signals.dropped(packet, DropReason::Tail);
        }
    }

    fn dequeue(&mut self, now: Instant, _signals: &mut Signals<P>) -> Dequeue<P> {
        let syn = self.protected.pop_front();
        match syn.or_else(|| self.standard.pop_front()) {
            Some(packet) => {
                self.share.on_sent(packet.bytes());
                Dequeue::Packet(packet)
            }
            None => {
                self.law.start_idle(now);
                Dequeue::Empty
            }
        }
    }

    fn len(&self) -> usize {
        self.protected.len() + self.standard.len()
    }

    fn backlog(&self) -> u64 {
        self.bytes()
    }

    fn head(&self) -> Head {
        self.protected.front().or(self.standard.front()).into()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestPacket, build};
    use crate::{DropReason, Qdisc, Signals};
    use gentle_units::Instant;

    #[test]
    fn a_syn_overtakes_data_but_not_a_syn() {
        let mut queue = build("redfavor");
        let mut drops = Signals::new();
        for packet in [TestPacket::data(1, 1000), TestPacket::syn(2), TestPacket::data(3, 1000), TestPacket::syn(4)] {
            queue.enqueue(Instant::ZERO, packet, &mut drops);
        }
        let order: Vec<u64> =
            std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut drops).packet().map(|p| p.flow)).collect();
        assert_eq!(order, [2, 4, 1, 3]);
    }

    #[test]
    fn in_a_full_queue_the_last_standard_packet_is_dropped() {
        // The average stays below min: only the limit drops.
        let mut queue = build("redfavor limit=3000 min=2500 max=3000 burst=100 share=100");
        let mut drops = Signals::new();
        for number in 0..3 {
            let packet = TestPacket::data(1, 1000).numbered(number);
            queue.enqueue(Instant::ZERO, packet, &mut drops);
        }
        queue.enqueue(Instant::ZERO, TestPacket::syn(2), &mut drops);
        let dropped: Vec<_> = drops.drain().map(|(p, why)| (p.id, why)).collect();
        assert_eq!(dropped, [(2, DropReason::PushOut)]);
        // SYNs push out all standard packets, then are dropped themselves.
        for flow in 0..60 {
            queue.enqueue(Instant::ZERO, TestPacket::syn(flow), &mut drops);
        }
        assert_eq!(queue.len(), 3000 / 74);
        let syns = drops.iter().filter(|(p, _)| p.flow != 1).count();
        assert_eq!((syns, drops.len() - syns), (61 - 40, 2));
    }

    #[test]
    fn a_syn_that_red_would_drop_costs_the_last_standard_packet_unless_syns_are_bounded() {
        for (rest, costs) in [("share=100", true), ("", false)] {
            let spec = format!("redfavor limit=100000 min=1000 max=2000 ewma=2 {rest}");
            let mut queue = build(&spec);
            let mut drops = Signals::new();
            while drops.is_empty() {
                queue.enqueue(Instant::ZERO, TestPacket::data(1, 1000), &mut drops);
            }
            drops = Signals::new();
            let before = queue.len();
            for _ in 0..before {
                queue.enqueue(Instant::ZERO, TestPacket::syn(2), &mut drops);
            }
            // The average stays above max at first: each SYN pushes out a packet or is added to the queue.
            let pushed_out = |(packet, why): &(TestPacket, DropReason)| packet.flow == 1 && *why == DropReason::PushOut;
            assert!(drops.iter().all(pushed_out), "{spec}");
            assert_eq!(drops.is_empty(), !costs, "{spec}");
            assert_eq!(queue.len() + drops.len(), 2 * before, "{spec}");
        }
    }

    #[test]
    fn at_an_empty_queue_red_drops_a_syn_unless_syns_are_exempt() {
        for (rest, lost) in [("", 1), ("exempt", 0)] {
            let spec = format!("redfavor limit=100000 min=1000 max=2000 ewma=2 maxlen=0 share=100 {rest}");
            let mut queue = build(&spec);
            let mut drops = Signals::new();
            while drops.is_empty() {
                queue.enqueue(Instant::ZERO, TestPacket::data(1, 1000), &mut drops);
            }
            // The average is above max; the queue becomes empty at the same time.
            while queue.dequeue(Instant::ZERO, &mut drops).packet().is_some() {}
            drops = Signals::new();
            queue.enqueue(Instant::ZERO, TestPacket::syn(2), &mut drops);
            let reasons: Vec<DropReason> = drops.drain().map(|(_, why)| why).collect();
            assert_eq!(reasons, vec![DropReason::Early; lost], "{spec}");
            assert_eq!(queue.len(), 1 - lost, "{spec}");
        }
    }

    #[test]
    fn a_queue_full_of_syns_drops_an_exempt_one() {
        let mut queue = build("redfavor limit=1000 min=300 max=900 ewma=9 maxlen=0 share=100 exempt");
        let mut drops = Signals::new();
        for flow in 0..20 {
            queue.enqueue(Instant::ZERO, TestPacket::syn(flow), &mut drops);
        }
        assert_eq!(queue.len(), 1000 / 74);
        assert!(drops.iter().all(|(_, why)| *why == DropReason::Tail));
    }

    #[test]
    fn a_syn_flag_on_a_long_packet_protects_nothing() {
        for (spec, order) in [("redfavor", [1, 2, 3]), ("redfavor maxlen=0", [2, 1, 3])] {
            let mut queue = build(spec);
            let mut drops = Signals::new();
            for packet in [TestPacket::data(1, 1000), TestPacket::syn(2).of_bytes(1000), TestPacket::data(3, 1000)] {
                queue.enqueue(Instant::ZERO, packet, &mut drops);
            }
            let left = std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut drops).packet());
            assert_eq!(left.map(|p| p.flow).collect::<Vec<_>>(), order, "{spec}");
        }
    }

    /// Bytes of SYNs and of data that leave a link at a quarter of the arrival rate; half of the arriving bytes are
    /// SYNs.
    fn flood(spec: &str) -> (u64, u64) {
        let mut queue = build(spec);
        let mut drops = Signals::new();
        let (mut syns, mut data) = (0, 0);
        for step in 0..40_000u64 {
            let now = Instant::from_micros(600 * step);
            // The position of the data packet among the SYNs varies.
            for place in 0..21 {
                if place == step % 21 {
                    queue.enqueue(now, TestPacket::data(100, 1514), &mut drops);
                } else {
                    queue.enqueue(now, TestPacket::syn(place), &mut drops);
                }
            }
            // Bytes that a link of 10 Mb/s sends in 600 us.
            let mut budget = 750i64;
            while budget > 0
                && let Some(packet) = queue.dequeue(now, &mut drops).packet()
            {
                let bytes = u64::from(packet.bytes);
                budget -= bytes as i64;
                match packet.flow {
                    100 => data += bytes,
                    _ => syns += bytes,
                }
            }
        }
        (syns, data)
    }

    #[test]
    fn a_flood_of_syns_leaves_data_its_part() {
        let (syns, data) = flood("redfavor maxlen=0 share=100");
        assert_eq!(data, 0, "as published, SYNs take all: {syns}");
        // Beyond their share SYNs are standard packets for RED.
        let (syns, data) = flood("redfavor");
        assert!(data > syns / 4, "{syns} bytes of SYNs, {data} of data");
    }
}
