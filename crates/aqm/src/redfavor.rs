//! `redfavor`: RED that protects SYNs (Anelli, Harivelo, Lorion, "TCP SYN Protection: An Evaluation", ICN 2012).
//!
//! SYNs are served first and never dropped while a standard packet is queued. In detail, where the paper leaves a
//! choice: the queue is limited in bytes, so several standard packets may have to go for one SYN; a SYN that would not
//! fit even then (longer than the limit less the protected bytes) is dropped without emptying the queue for nothing;
//! an ECN-capable SYN is marked rather than defended, as RED does with any packet.

use crate::packet::Packet;
use crate::qdisc::{DropReason, Drops, Qdisc};
use crate::red;
use crate::red_law::{Fate, Marking, RedLaw};
use crate::red_params::RedParams;
use crate::registry::Scheme;
use crate::spec::Spec;
use crate::store::Store;
use gentle_units::Nanos;

/// REDFavor.
pub static SCHEME: Scheme = Scheme {
    name: "redfavor",
    summary: "RED; a SYN goes to the front, and in its place the last standard packet is dropped",
    source: "Anelli, Harivelo and Lorion 2012, section III; Linux red.h",
    options: red::OPTIONS,
    child: None,
    check: red::check,
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let params = RedParams::in_bytes(options, options.flag("adaptive"))
        .expect("checked with the specification");
    Box::new(RedFavor {
        protected: Store::default(),
        standard: Store::default(),
        limit: options.size("limit"),
        law: RedLaw::new(&params, seed),
        marking: Marking::of_red(options),
        marked: 0,
    })
}

/// Two FIFOs under one RED: SYNs, and all else.
#[derive(Debug)]
pub struct RedFavor<P> {
    protected: Store<P>,
    standard: Store<P>,
    limit: u64,
    law: RedLaw,
    marking: Marking,
    marked: u64,
}

impl<P: Packet> RedFavor<P> {
    fn bytes(&self) -> u64 {
        self.protected.bytes() + self.standard.bytes()
    }

    fn fits(&self, packet: &P) -> bool {
        self.bytes() + u64::from(packet.bytes()) <= self.limit
    }

    /// Drops the last standard packet; returns whether there was one.
    fn push_out(&mut self, drops: &mut Drops<P>) -> bool {
        match self.standard.pop_back() {
            Some(packet) => {
                drops.push(packet, DropReason::PushOut);
                true
            }
            None => false,
        }
    }

    fn enqueue_syn(&mut self, syn: P, early: bool, drops: &mut Drops<P>) {
        if self.protected.bytes() + u64::from(syn.bytes()) > self.limit {
            drops.push(syn, DropReason::Tail);
            return;
        }
        if early && !self.push_out(drops) {
            drops.push(syn, DropReason::Early);
            return;
        }
        // Ends at the latest with no standard packet left, when the SYN fits.
        while !self.fits(&syn) && self.push_out(drops) {}
        self.protected.push_back(syn);
    }
}

impl<P: Packet + Send> Qdisc<P> for RedFavor<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, drops: &mut Drops<P>) {
        self.law.observe(now, self.bytes());
        let fate = self.marking.apply(self.law.decide(), &mut packet);
        if fate == Fate::Marked {
            self.marked += 1;
        }
        packet.set_arrived(now);
        if packet.handshake().syn {
            self.enqueue_syn(packet, fate == Fate::Drop, drops);
        } else if fate == Fate::Drop {
            drops.push(packet, DropReason::Early);
        } else if self.fits(&packet) {
            self.standard.push_back(packet);
        } else {
            drops.push(packet, DropReason::Tail);
        }
    }

    fn dequeue(&mut self, now: Nanos, _drops: &mut Drops<P>) -> Option<P> {
        let packet = self
            .protected
            .pop_front()
            .or_else(|| self.standard.pop_front());
        if packet.is_none() {
            self.law.idle(now);
        }
        packet
    }

    fn len(&self) -> usize {
        self.protected.len() + self.standard.len()
    }

    fn backlog(&self) -> u64 {
        self.bytes()
    }

    fn marked(&self) -> u64 {
        self.marked
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Packet, build};
    use crate::{DropReason, Drops, Qdisc};
    use gentle_units::Nanos;

    #[test]
    fn a_syn_overtakes_data_but_not_a_syn() {
        let mut queue = build("redfavor");
        let mut drops = Drops::new();
        for packet in [
            Packet::data(1, 1000),
            Packet::syn(2),
            Packet::data(3, 1000),
            Packet::syn(4),
        ] {
            queue.enqueue(Nanos::ZERO, packet, &mut drops);
        }
        let order: Vec<u64> =
            std::iter::from_fn(|| queue.dequeue(Nanos::ZERO, &mut drops).map(|p| p.flow)).collect();
        assert_eq!(order, [2, 4, 1, 3]);
    }

    #[test]
    fn in_a_full_queue_the_last_standard_packet_pays() {
        // The average never reaches min here: only the limit acts.
        let mut queue = build("redfavor limit=3000 min=2500 max=3000 burst=100");
        let mut drops = Drops::new();
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
    fn a_syn_that_red_would_drop_costs_the_last_standard_packet() {
        let mut queue = build("redfavor limit=100000 min=1000 max=2000 ewma=2");
        let mut drops = Drops::new();
        while drops.is_empty() {
            queue.enqueue(Nanos::ZERO, Packet::data(1, 1000), &mut drops);
        }
        drops = Drops::new();
        let before = queue.len();
        for _ in 0..before {
            queue.enqueue(Nanos::ZERO, Packet::syn(2), &mut drops);
        }
        // The average stays above max at first: each SYN replaces one packet.
        assert!(
            drops
                .iter()
                .all(|(p, why)| p.flow == 1 && *why == DropReason::PushOut)
        );
        assert!(!drops.is_empty());
    }
}
