//! `redfavor`: RED that protects SYNs (Anelli, Harivelo, Lorion, "TCP SYN Protection: An Evaluation", ICN 2012).
//!
//! SYNs are served first and never dropped while a standard packet is queued. In detail, where the paper leaves a
//! choice: the queue is limited in bytes, so several standard packets may have to go for one SYN; a SYN that would not
//! fit even then (longer than the limit less the protected bytes) is dropped without emptying the queue for nothing;
//! an ECN-capable SYN is marked rather than defended, as RED does with any packet.
//!
//! Two bounds that the paper does not have keep a flood of SYNs, or of data with that flag set, from taking the link:
//! `maxlen` and `share`, as in [`spa`](crate::schemes::spa). Both queues fill one buffer here, so the share is charged where a SYN
//! enters the queue and not where it leaves: one that is beyond its share is a standard packet to RED as well. For the same
//! reason a SYN under a bound that RED would drop pushes nothing out unless the queue is full: a long packet of data raises
//! the average above max itself, so that under a flood the next SYN would always find it last in the queue.
//! In Linux it is `kernel/sch_redfavor.c`, which decides the same.

use crate::laws::handshake::{FinRule, MAXLEN, maxlen};
use crate::laws::red::{Fate, Marking, RedLaw};
use crate::laws::red_params::{self as params, RedParams};
use crate::laws::share::{SHARE, Share};
use crate::plumbing::options::{OptionSpec, Options, joined};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{
    Field, KernelQdisc, Order, Preset, Priority, Scheme, Statistics, TcSyntax,
};
use crate::plumbing::spec::Spec;
use crate::plumbing::store::Store;
use crate::schemes::red;
use gentle_units::Nanos;

/// REDFavor.
pub static SCHEME: Scheme = Scheme {
    name: "redfavor",
    summary: "RED; a SYN goes to the front, and in its place the last standard packet is dropped",
    source: "Anelli, Harivelo and Lorion 2012, section III (maxlen=0 share=100 as published); Linux red.h",
    options: OPTIONS,
    check: red::check,
    presets: &[PUBLISHED],
    drops: &[DropReason::Early, DropReason::Tail, DropReason::PushOut],
    marks: &[MarkReason::Early],
    order,
    linux: Some(TcSyntax {
        always: params::TC_ALWAYS,
        ..TcSyntax::plain(&QDISC)
    }),
    samples: &[
        "limit=10000 min=1000 max=3000 ewma=1",
        "limit=10000 min=1000 max=3000 ewma=1 maxlen=0 share=100",
        "limit=10000 min=1000 max=3000 ewma=1 share=10",
        "ecn gentle",
    ],
    ..Scheme::PLAIN
};

/// No bound on what SYNs may take, in length or in share.
const PUBLISHED: Preset = Preset {
    name: "published",
    options: "maxlen=0 share=100",
};

fn order(options: &Options) -> Order {
    let maxlen = maxlen(options);
    let unbounded = maxlen == u32::MAX && options.count("share") == 100;
    Order {
        priority: Some(Priority {
            fin: FinRule::None,
            maxlen,
            share: None,
            spared: unbounded.then(|| options.size("limit")),
        }),
        ..Order::KEPT
    }
}

/// `struct tc_redfavor_xstats` (kernel/include/uapi/pkt_sch_redfavor.h).
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Struct(&[
        Field::U64("prob_drop"),
        Field::U64("forced_drop"),
        Field::U64("tail_drop"),
        Field::U64("push_out"),
        Field::U64("syn_queued"),
        Field::U64("syn_saved"),
        Field::U64("syn_early_drop"),
        Field::U64("syn_tail_drop"),
        Field::U64("prob_mark"),
        Field::U64("forced_mark"),
        Field::U32("qavg_bytes"),
        Field::U32("max_p"),
        Field::U32("syn_qlen"),
        Field::U32("syn_backlog_bytes"),
        Field::U64("syn_toolong"),
        Field::U64("syn_overshare"),
    ]),
    drops: &[
        ("/tail_drop", DropReason::Tail),
        ("/prob_drop", DropReason::Early),
        ("/forced_drop", DropReason::Early),
        ("/push_out", DropReason::PushOut),
    ],
    marks: &["/prob_mark", "/forced_mark"],
    hidden: true,
    ..KernelQdisc::of_gentle("redfavor")
};

const OPTIONS: &[OptionSpec] = &joined::<{ red::OPTIONS.len() + 2 }>(&[
    red::OPTIONS,
    &[
        MAXLEN,
        OptionSpec {
            help: "percent of the bytes that protected SYNs may take while packets wait, beyond a burst of 15140 bytes; 100: no bound, as published",
            ..SHARE
        },
    ],
]);

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let params = RedParams::in_bytes(options, options.flag("adaptive"))
        .expect("checked with the specification");
    Box::new(RedFavor {
        protected: Store::default(),
        standard: Store::default(),
        limit: options.size("limit"),
        maxlen: maxlen(options),
        share: Share::new(options.count("share") as u8),
        law: RedLaw::new(&params, seed),
        marking: Marking::of_red(options),
    })
}

/// Two FIFOs under one RED: SYNs, and all else.
#[derive(Debug)]
pub struct RedFavor<P> {
    protected: Store<P>,
    standard: Store<P>,
    limit: u64,
    /// Longer packets are standard whatever their flags; `u32::MAX` without a check.
    maxlen: u32,
    share: Share,
    law: RedLaw,
    marking: Marking,
}

impl<P: Packet> RedFavor<P> {
    fn bytes(&self) -> u64 {
        self.protected.bytes() + self.standard.bytes()
    }

    fn fits(&self, packet: &P) -> bool {
        self.bytes() + u64::from(packet.bytes()) <= self.limit
    }

    fn is_protected(&self, packet: &P) -> bool {
        packet.handshake().syn && packet.ip_bytes() <= self.maxlen && !self.share.is_used_up()
    }

    /// Signals the last standard packet; returns whether there was one.
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
        if early && !self.share.is_bounded() && !self.push_out(signals) {
            signals.dropped(syn, DropReason::Early);
            return;
        }
        // Ends at the latest with no standard packet left, when the SYN fits.
        while !self.fits(&syn) && self.push_out(signals) {}
        if self.bytes() > 0 {
            self.share.priority_sends(syn.bytes());
        }
        self.protected.push_back(syn);
    }
}

impl<P: Packet + Send> Qdisc<P> for RedFavor<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, signals: &mut Signals<P>) {
        self.law.observe(now, self.bytes());
        let fate = self.marking.apply(self.law.decide(), &mut packet);
        if fate == Fate::Marked {
            signals.marked(&packet, MarkReason::Early);
        }
        packet.set_arrived(now);
        if self.is_protected(&packet) {
            self.enqueue_syn(packet, fate == Fate::Drop, signals);
        } else if fate == Fate::Drop {
            signals.dropped(packet, DropReason::Early);
        } else if self.fits(&packet) {
            self.standard.push_back(packet);
        } else {
            signals.dropped(packet, DropReason::Tail);
        }
    }

    fn dequeue(&mut self, now: Nanos, _signals: &mut Signals<P>) -> Dequeue<P> {
        if let Some(syn) = self.protected.pop_front() {
            return Dequeue::Packet(syn);
        }
        match self.standard.pop_front() {
            Some(packet) => {
                self.share.data_sends(packet.bytes());
                Dequeue::Packet(packet)
            }
            None => {
                self.law.idle(now);
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
}

#[cfg(test)]
mod tests {
    use crate::plumbing::testing::{Packet, build};
    use crate::{DropReason, Qdisc, Signals};
    use gentle_units::Nanos;

    #[test]
    fn a_syn_overtakes_data_but_not_a_syn() {
        let mut queue = build("redfavor");
        let mut drops = Signals::new();
        for packet in [
            Packet::data(1, 1000),
            Packet::syn(2),
            Packet::data(3, 1000),
            Packet::syn(4),
        ] {
            queue.enqueue(Nanos::ZERO, packet, &mut drops);
        }
        let order: Vec<u64> = std::iter::from_fn(|| {
            queue
                .dequeue(Nanos::ZERO, &mut drops)
                .packet()
                .map(|p| p.flow)
        })
        .collect();
        assert_eq!(order, [2, 4, 1, 3]);
    }

    #[test]
    fn in_a_full_queue_the_last_standard_packet_is_dropped() {
        // The average never reaches min here: only the limit acts.
        let mut queue = build("redfavor limit=3000 min=2500 max=3000 burst=100 share=100");
        let mut drops = Signals::new();
        for number in 0..3 {
            let packet = Packet::data(1, 1000).numbered(number);
            queue.enqueue(Nanos::ZERO, packet, &mut drops);
        }
        queue.enqueue(Nanos::ZERO, Packet::syn(2), &mut drops);
        let dropped: Vec<_> = drops.drain().map(|(p, why)| (p.number, why)).collect();
        assert_eq!(dropped, [(2, DropReason::PushOut)]);
        // SYNs drive out everything else, then each other.
        for flow in 0..60 {
            queue.enqueue(Nanos::ZERO, Packet::syn(flow), &mut drops);
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
                queue.enqueue(Nanos::ZERO, Packet::data(1, 1000), &mut drops);
            }
            drops = Signals::new();
            let before = queue.len();
            for _ in 0..before {
                queue.enqueue(Nanos::ZERO, Packet::syn(2), &mut drops);
            }
            // The average stays above max at first: each SYN replaces one packet, or joins the queue.
            let pushed_out = |(packet, why): &(Packet, DropReason)| {
                packet.flow == 1 && *why == DropReason::PushOut
            };
            assert!(drops.iter().all(pushed_out), "{spec}");
            assert_eq!(drops.is_empty(), !costs, "{spec}");
            assert_eq!(queue.len() + drops.len(), 2 * before, "{spec}");
        }
    }

    #[test]
    fn a_syn_flag_on_a_long_packet_protects_nothing() {
        for (spec, order) in [("redfavor", [1, 2, 3]), ("redfavor maxlen=0", [2, 1, 3])] {
            let mut queue = build(spec);
            let mut drops = Signals::new();
            for packet in [
                Packet::data(1, 1000),
                Packet::syn(2).of_bytes(1000),
                Packet::data(3, 1000),
            ] {
                queue.enqueue(Nanos::ZERO, packet, &mut drops);
            }
            let left = std::iter::from_fn(|| queue.dequeue(Nanos::ZERO, &mut drops).packet());
            assert_eq!(left.map(|p| p.flow).collect::<Vec<_>>(), order, "{spec}");
        }
    }

    /// Bytes of SYNs and of data that leave a link which takes a quarter of what arrives: as many bytes of SYNs as of data.
    fn flood(spec: &str) -> (u64, u64) {
        let mut queue = build(spec);
        let mut drops = Signals::new();
        let (mut syns, mut data) = (0, 0);
        for step in 0..40_000u64 {
            let now = Nanos::from_micros(600 * step);
            // The packet of data is now before, now behind some of the SYNs.
            for place in 0..21 {
                if place == step % 21 {
                    queue.enqueue(now, Packet::data(100, 1514), &mut drops);
                } else {
                    queue.enqueue(now, Packet::syn(place), &mut drops);
                }
            }
            // As many bytes as the link sends in 600 us at 10 Mb/s.
            let mut budget = 750i64;
            while budget > 0
                && let Some(packet) = queue.dequeue(now, &mut drops).packet()
            {
                let bytes = u64::from(crate::Packet::bytes(&packet));
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
        // Beyond their share SYNs are to RED what any packet is.
        let (syns, data) = flood("redfavor");
        assert!(data > syns / 4, "{syns} bytes of SYNs, {data} of data");
    }
}
