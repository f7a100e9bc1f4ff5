//! `sfq`: stochastic fairness queueing (McKenney, INFOCOM 1990; Linux: `net/sched/sch_sfq.c`).
//!
//! Flows are hashed to slots, which send in turn, a quantum each; when the whole is full, the longest slot loses a
//! packet. With `perturb` the hash gets another key every so often, and the packets stored are sorted anew.
//!
//! Left out: the RED that Linux can run in each slot (`min`, `max`, `avpkt`, `burst`, `probability`, `ecn`, `harddrop`),
//! and external classifiers.

mod depths;

use crate::plumbing::arena::{Arena, Chain};
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::options::{Kind, OptionSpec, Options};
use crate::plumbing::packet::Packet;
use crate::plumbing::periodic::Periodic;
use crate::plumbing::qdisc::{Dequeue, DropReason, Qdisc, Signals};
use crate::plumbing::scheme::{Conformance, Hashing, KernelQdisc, Scheme, TcSyntax};
use crate::plumbing::spec::Spec;
use depths::Depths;
use gentle_units::Nanos;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// `SFQ_MAX_DEPTH`.
const MAX_DEPTH: u64 = 127;
/// `SFQ_MAX_FLOWS`: slots and depths share 16-bit numbers in the kernel.
const MAX_FLOWS: u64 = 0x1_0000 - MAX_DEPTH - 1;

/// Stochastic fairness queueing.
pub static SCHEME: Scheme = Scheme {
    name: "sfq",
    summary: "flows hashed to slots that send in turn; a full queue drops from the longest",
    source: "McKenney, INFOCOM 1990; Linux sch_sfq.c",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Count(2, MAX_DEPTH * MAX_FLOWS),
            default: Some("127"),
            help: "packets all slots hold together, at most flows times depth",
        },
        OptionSpec {
            name: "quantum",
            kind: Kind::Size(256, 1 << 20),
            default: Some("1514"),
            help: "bytes a slot sends in its turn",
        },
        OptionSpec {
            name: "perturb",
            // The kernel counts it in jiffies, in 31 bits.
            kind: Kind::Count(0, i32::MAX as u64 / 1000),
            default: Some("0"),
            help: "seconds after which the hash gets another key; 0: never",
        },
        OptionSpec {
            name: "divisor",
            kind: Kind::Count(1, 65_536),
            default: Some("1024"),
            help: "size of the hash table, a power of two",
        },
        OptionSpec {
            name: "flows",
            kind: Kind::Count(1, MAX_FLOWS),
            default: Some("128"),
            help: "slots, each for the flows of one place in the hash table; at most divisor and limit, if those are given",
        },
        OptionSpec {
            name: "depth",
            kind: Kind::Count(1, MAX_DEPTH),
            default: Some("127"),
            help: "packets a slot holds",
        },
        OptionSpec {
            name: "headdrop",
            kind: Kind::Flag,
            default: Some("off"),
            help: "drop from the head of a slot instead of its tail",
        },
    ],
    check,
    drops: &[DropReason::Overlimit, DropReason::Tail, DropReason::PushOut],
    linux: Some(TcSyntax::plain(&KernelQdisc::of_linux("sfq"))),
    conformance: Conformance {
        hash: Hashing::Masked("divisor"),
        ..Conformance::EXACT
    },
    samples: &["limit=10", "perturb=1 divisor=16", "headdrop limit=5"],
    ..Scheme::PLAIN
};

fn check(options: &Options) -> Result<(), String> {
    let config = Config::from_options(options);
    if !config.divisor.is_power_of_two() {
        return Err(format!(
            "divisor={} is not a power of two; expected 1, 2, 4 … 65536",
            config.divisor
        ));
    }
    if config.limit < 2 {
        return Err(
            "flows and depth leave room for one packet only; expected a limit of 2 or more".into(),
        );
    }
    Ok(())
}

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(Sfq::new(Config::from_options(spec.options()), seed))
}

/// How SFQ is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Packets that all slots hold together.
    pub limit: usize,
    /// Bytes a slot sends in its turn, at least one.
    pub quantum: u32,
    /// Time after which the hash gets another key; `None`: never.
    pub perturb: Option<Nanos>,
    /// Size of the hash table, at least one.
    pub divisor: u32,
    /// Number of slots, at least one.
    pub flows: u32,
    /// Packets a slot holds, at least one.
    pub depth: u32,
    /// Drop from the head of a slot instead of its tail.
    pub headdrop: bool,
}

impl Config {
    /// Fits the options to each other as `sfq_change` does: each bounds the others only if it was given.
    fn from_options(options: &Options) -> Config {
        let given = |name| options.given().any(|(other, _)| other == name);
        let divisor = options.count("divisor");
        let depth = options.count("depth");
        let mut flows = options.count("flows");
        let mut limit = options.count("limit");
        if given("divisor") {
            flows = flows.min(divisor);
        }
        if given("limit") {
            limit = limit.min(depth * flows);
            flows = flows.min(limit);
        }
        let perturb = Nanos::from_secs(options.count("perturb"));
        Config {
            limit: limit as usize,
            quantum: options.size("quantum") as u32,
            perturb: (perturb > Nanos::ZERO).then_some(perturb),
            divisor: divisor as u32,
            flows: flows as u32,
            depth: depth as u32,
            headdrop: options.flag("headdrop"),
        }
    }
}

/// No slot.
const NONE: u32 = u32::MAX;

/// The queue of the flows of one place in the hash table.
#[derive(Debug, Clone, Copy)]
struct Slot {
    chain: Chain,
    /// Bytes that it may still send in this round.
    allot: i64,
    /// The next slot in the round.
    next: u32,
    /// Its place in the hash table.
    place: u32,
}

/// Slots that send in turn.
#[derive(Debug)]
pub struct Sfq<P> {
    config: Config,
    hash: FlowHash,
    rng: Xoshiro256PlusPlus,
    timer: Periodic,
    arena: Arena<P>,
    /// The slot of each place in the hash table, or [`NONE`].
    table: Box<[u32]>,
    slots: Box<[Slot]>,
    depths: Depths,
    /// The slot that was served last, whose `next` is first; [`NONE`] while nothing is stored.
    tail: u32,
    packets: usize,
    bytes: u64,
}

impl<P: Packet> Sfq<P> {
    /// Empty slots; `seed` gives the keys of the hash.
    pub fn new(config: Config, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let slot = Slot {
            chain: Chain::default(),
            allot: 0,
            next: NONE,
            place: 0,
        };
        Sfq {
            config,
            hash: FlowHash::draw(&mut rng),
            rng,
            timer: config
                .perturb
                .map_or_else(Periodic::never, |period| Periodic::new(period, period)),
            arena: Arena::default(),
            table: vec![NONE; config.divisor as usize].into_boxed_slice(),
            slots: vec![slot; config.flows as usize].into_boxed_slice(),
            depths: Depths::new(config.flows, config.depth),
            tail: NONE,
            packets: 0,
            bytes: 0,
        }
    }

    /// The slot of `place`, taking a free one if it has none; `None`: there is none free.
    #[inline]
    fn slot_at(&mut self, place: usize) -> Option<u32> {
        let slot = self.table[place];
        if slot != NONE {
            return Some(slot);
        }
        let slot = self.depths.latest(0)?;
        self.table[place] = slot;
        self.slots[slot as usize].place = place as u32;
        Some(slot)
    }

    /// Stores `packet` in `slot`, which joins the end of the round if it was empty.
    #[inline]
    fn store(&mut self, slot: u32, packet: P) {
        let quantum = self.config.quantum;
        self.arena
            .push_back(&mut self.slots[slot as usize].chain, packet);
        self.depths.deepen(slot);
        if self.depths.depth(slot) > 1 {
            return;
        }
        let next = if self.tail == NONE {
            slot
        } else {
            std::mem::replace(&mut self.slots[self.tail as usize].next, slot)
        };
        let entry = &mut self.slots[slot as usize];
        entry.next = next;
        entry.allot = i64::from(quantum);
        self.tail = slot;
    }

    /// Takes the slot that is first in the round, just emptied, out of it and out of the hash table.
    #[inline]
    fn leave_round(&mut self, slot: u32) {
        let Slot { next, place, .. } = self.slots[slot as usize];
        self.table[place as usize] = NONE;
        if next == slot {
            self.tail = NONE;
        } else {
            self.slots[self.tail as usize].next = next;
        }
    }

    /// Signals a packet of the longest slot.
    #[cold]
    fn drop_from_longest(&mut self, signals: &mut Signals<P>) {
        let deepest = self.depths.deepest();
        let slot = if deepest > 1 {
            self.depths.latest(deepest)
        } else {
            // All are of length one: the one whose turn it is.
            (self.tail != NONE).then(|| self.slots[self.tail as usize].next)
        };
        let Some(slot) = slot else { return };
        if deepest == 1 {
            self.leave_round(slot);
        }
        let chain = &mut self.slots[slot as usize].chain;
        let packet = if self.config.headdrop {
            self.arena.pop_front(chain)
        } else {
            self.arena.pop_back(chain)
        };
        self.depths.lessen(slot);
        if let Some(packet) = packet {
            self.packets -= 1;
            self.bytes -= u64::from(packet.bytes());
            signals.dropped(packet, DropReason::Overlimit);
        }
    }

    #[inline]
    fn catch_up(&mut self, now: Nanos, signals: &mut Signals<P>) {
        let due = self.timer.fired(now);
        if due > 0 {
            self.perturb(due, signals);
        }
    }

    /// Changes the key of the hash `times` times and sorts the packets stored anew each time.
    #[cold]
    fn perturb(&mut self, times: u64, signals: &mut Signals<P>) {
        for _ in 0..times {
            self.hash = FlowHash::draw(&mut self.rng);
            if self.tail != NONE {
                self.rehash(signals);
            }
        }
    }

    /// Sorts the packets stored by the new key; what finds no room is dropped.
    fn rehash(&mut self, signals: &mut Signals<P>) {
        let mut all = Chain::default();
        for slot in 0..self.config.flows {
            let entry = &mut self.slots[slot as usize];
            if self.depths.depth(slot) > 0 {
                self.table[entry.place as usize] = NONE;
            }
            while let Some(packet) = self.arena.pop_front(&mut entry.chain) {
                self.depths.lessen(slot);
                self.arena.push_back(&mut all, packet);
            }
        }
        self.tail = NONE;
        while let Some(packet) = self.arena.pop_front(&mut all) {
            let place = self.hash.queue(packet.flow(), self.config.divisor);
            match self.slot_at(place) {
                Some(slot) if self.depths.depth(slot) < self.config.depth => {
                    self.store(slot, packet);
                }
                _ => {
                    self.packets -= 1;
                    self.bytes -= u64::from(packet.bytes());
                    signals.dropped(packet, DropReason::Overlimit);
                }
            }
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Sfq<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, signals: &mut Signals<P>) {
        self.catch_up(now, signals);
        let place = self.hash.queue(packet.flow(), self.config.divisor);
        let Some(slot) = self.slot_at(place) else {
            signals.dropped(packet, DropReason::Tail);
            return;
        };
        packet.set_arrived(now);
        let bytes = u64::from(packet.bytes());
        if self.depths.depth(slot) >= self.config.depth {
            if !self.config.headdrop {
                signals.dropped(packet, DropReason::Tail);
                return;
            }
            let chain = &mut self.slots[slot as usize].chain;
            if let Some(head) = self.arena.pop_front(chain) {
                self.bytes -= u64::from(head.bytes());
                signals.dropped(head, DropReason::PushOut);
            }
            self.arena.push_back(chain, packet);
            self.bytes += bytes;
            return;
        }
        self.store(slot, packet);
        self.packets += 1;
        self.bytes += bytes;
        if self.packets > self.config.limit {
            self.drop_from_longest(signals);
        }
    }

    fn dequeue(&mut self, now: Nanos, signals: &mut Signals<P>) -> Dequeue<P> {
        self.catch_up(now, signals);
        if self.tail == NONE {
            return Dequeue::Empty;
        }
        let slot = loop {
            let slot = self.slots[self.tail as usize].next;
            let entry = &mut self.slots[slot as usize];
            if entry.allot > 0 {
                break slot;
            }
            entry.allot += i64::from(self.config.quantum);
            self.tail = slot;
        };
        let entry = &mut self.slots[slot as usize];
        let Some(packet) = self.arena.pop_front(&mut entry.chain) else {
            return Dequeue::Empty;
        };
        entry.allot -= i64::from(packet.bytes());
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes());
        self.depths.lessen(slot);
        if self.depths.depth(slot) == 0 {
            self.leave_round(slot);
        }
        Dequeue::Packet(packet)
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plumbing::packet::Packet as _;
    use crate::plumbing::testing::{Packet, build};
    use std::collections::BTreeMap;

    #[test]
    fn flows_get_equal_bytes_whatever_they_offer() {
        let mut queue = build("sfq limit=1000");
        let mut drops = Signals::new();
        let mut sent = BTreeMap::<u64, u32>::new();
        for round in 0..6000u32 {
            // Flow 1 offers ten times what flow 2 does, in larger packets; 2 still offers more than its half.
            for _ in 0..10 {
                queue.enqueue(Nanos::ZERO, Packet::data(1, 1500), &mut drops);
            }
            for _ in 0..3 {
                queue.enqueue(Nanos::ZERO, Packet::data(2, 500), &mut drops);
            }
            for _ in 0..1 + round % 2 {
                if let Some(packet) = queue.dequeue(Nanos::ZERO, &mut drops).packet() {
                    *sent.entry(packet.flow).or_default() += packet.bytes();
                }
            }
            drops.drain().for_each(drop);
        }
        let (one, two) = (f64::from(sent[&1]), f64::from(sent[&2]));
        assert!((one / two - 1.0).abs() < 0.01, "{one} and {two} bytes");
    }

    #[test]
    fn a_full_queue_drops_from_the_longest_slot() {
        for (spec, dropped) in [("sfq limit=10", 9), ("sfq limit=10 headdrop", 0)] {
            let mut queue = build(spec);
            let mut drops = Signals::new();
            for number in 0..10 {
                queue.enqueue(
                    Nanos::ZERO,
                    Packet::data(1, 100).numbered(number),
                    &mut drops,
                );
            }
            queue.enqueue(Nanos::ZERO, Packet::data(2, 100).numbered(10), &mut drops);
            let got: Vec<_> = drops.drain().map(|(p, why)| (p.number, why)).collect();
            assert_eq!(got, [(dropped, DropReason::Overlimit)], "{spec}");
        }
    }

    #[test]
    fn perturbation_separates_flows_that_shared_a_slot() {
        let mut drops = Signals::new();
        // Whether the packet of flow 2 waits for all of flow 1 tells whether they share a slot.
        let mut behind = |now: Nanos| {
            let mut queue = build("sfq perturb=1 divisor=2");
            for _ in 0..10 {
                queue.enqueue(Nanos::ZERO, Packet::data(1, 1514), &mut drops);
            }
            queue.enqueue(Nanos::ZERO, Packet::data(2, 1514), &mut drops);
            std::iter::from_fn(|| queue.dequeue(now, &mut drops).packet())
                .position(|packet| packet.flow == 2)
        };
        let shared = (0..40).filter(|second| behind(Nanos::from_secs(*second)) == Some(10));
        // One key in two puts both flows into the same of two places.
        let count = shared.count();
        assert!((8..32).contains(&count), "{count} of 40 keys");
        assert!(drops.is_empty());
    }

    #[test]
    fn options_bound_each_other_as_in_the_kernel() {
        let of = |text: &str| Config::from_options(text.parse::<Spec>().unwrap().options());
        assert_eq!((of("sfq").flows, of("sfq").limit), (128, 127));
        assert_eq!(of("sfq limit=127").flows, 127);
        assert_eq!(of("sfq divisor=16").flows, 16);
        assert_eq!(of("sfq limit=1000 flows=4 depth=10").limit, 40);
        for text in ["sfq divisor=3", "sfq limit=5 flows=1 depth=1"] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains("expected"), "{error}");
        }
    }
}
