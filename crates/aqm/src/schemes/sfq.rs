//! `sfq`: stochastic fairness queueing (McKenney, INFOCOM 1990; Linux: `net/sched/sch_sfq.c`).
//!
//! Flows are hashed to slots, which send a quantum each per round. When the queue is full, the longest slot loses a
//! packet. With `perturb` the hash gets a new key periodically, and queued packets are hashed again.
//!
//! Not implemented: RED within each slot (`min`, `max`, `avpkt`, `burst`, `probability`, `ecn`, `harddrop`) and
//! external classifiers.

mod depths;

use crate::plumbing::arena::{Arena, Chain};
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::options::{Kind, OptionSpec, Options};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, Qdisc, Signals};
use crate::plumbing::scheme::{Conformance, Hashing, KernelQdisc, Scheme, TcSyntax};
use crate::plumbing::spec::Spec;
use crate::plumbing::timer::PeriodicTimer;
use depths::Depths;
use gentle_units::{Instant, Nanos};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Maximum number of packets in a slot (Linux: `SFQ_MAX_DEPTH`).
const MAX_DEPTH: u64 = 127;
/// Maximum number of slots (Linux: `SFQ_MAX_FLOWS`): slots and depths share 16-bit indices in the kernel.
const MAX_FLOWS: u64 = 0x1_0000 - MAX_DEPTH - 1;

/// SFQ, stochastic fairness queueing.
pub static SCHEME: Scheme = Scheme {
    name: "sfq",
    summary: "flows hashed to slots in round robin; a full queue drops from the longest slot",
    source: "McKenney, INFOCOM 1990; Linux sch_sfq.c",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Count(2, MAX_DEPTH * MAX_FLOWS),
            default: Some("127"),
            help: "packets in all slots together; at most flows times depth",
        },
        OptionSpec {
            name: "quantum",
            kind: Kind::Size(256, 1 << 20),
            default: Some("1514"),
            help: "bytes a slot sends per round",
        },
        OptionSpec {
            name: "perturb",
            // In the kernel: jiffies in 31 bits.
            kind: Kind::Count(0, i32::MAX as u64 / 1000),
            default: Some("0"),
            help: "period in seconds after which the hash gets a new key; 0: never",
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
            help: "number of slots, each for the flows of one hash bucket; at most divisor and limit, if given",
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
    conformance: Conformance { hash: Hashing::Masked("divisor"), ..Conformance::EXACT },
    samples: &["limit=10", "perturb=1 divisor=16", "headdrop limit=5"],
    ..Scheme::PLAIN
};

fn check(options: &Options) -> Result<(), String> {
    let config = Config::from_options(options);
    if !config.divisor.is_power_of_two() {
        return Err(format!("divisor={} is not a power of two; expected 1, 2, 4 … 65536", config.divisor));
    }
    if config.limit < 2 {
        return Err("flows and depth leave room for one packet only; expected a limit of 2 or more".into());
    }
    Ok(())
}

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(Sfq::new(Config::from_options(spec.options()), seed))
}

/// SFQ's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Maximum number of packets in all slots.
    pub limit: usize,
    /// Bytes a slot sends per round, at least one.
    pub quantum: u32,
    /// Period after which the hash gets a new key; `None`: never.
    pub perturb: Option<Nanos>,
    /// Number of buckets of the hash table, at least one.
    pub divisor: u32,
    /// Number of slots, at least one.
    pub flows: u32,
    /// Maximum number of packets in a slot, at least one.
    pub depth: u32,
    /// Drop from the head of a slot instead of its tail.
    pub headdrop: bool,
}

impl Config {
    /// Derives the parameters from the options. Options limit each other only if given explicitly (Linux:
    /// `sfq_change`).
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

/// Index that stands for no slot.
const NONE: u32 = u32::MAX;

/// Queue of the flows of one bucket of the hash table.
#[derive(Debug, Clone, Copy)]
struct Slot {
    chain: Chain,
    /// Bytes that the slot may still send in this round.
    allot: i64,
    /// The next slot in the round.
    next: u32,
    /// Bucket of the hash table.
    bucket: u32,
}

/// Stochastic fairness queueing.
#[derive(Debug)]
pub struct Sfq<P> {
    config: Config,
    hash: FlowHash,
    rng: Xoshiro256PlusPlus,
    timer: PeriodicTimer,
    arena: Arena<P>,
    /// The slot of each bucket, or [`NONE`].
    table: Box<[u32]>,
    slots: Box<[Slot]>,
    depths: Depths,
    /// The slot served last, whose `next` is served first; [`NONE`] while the queue is empty.
    tail: u32,
    packets: usize,
    bytes: u64,
    /// Length in bytes of a packet that a shaper above holds and that counts as queued.
    held: Option<u32>,
}

impl<P: Packet> Sfq<P> {
    /// Empty slots; `seed` determines the keys of the hash.
    pub fn new(config: Config, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let slot = Slot { chain: Chain::default(), allot: 0, next: NONE, bucket: 0 };
        Sfq {
            config,
            hash: FlowHash::draw(&mut rng),
            rng,
            timer: config
                .perturb
                .map_or_else(PeriodicTimer::never, |period| PeriodicTimer::new(Instant::ZERO + period, period)),
            arena: Arena::default(),
            table: vec![NONE; config.divisor as usize].into_boxed_slice(),
            slots: vec![slot; config.flows as usize].into_boxed_slice(),
            depths: Depths::new(config.flows, config.depth),
            tail: NONE,
            packets: 0,
            bytes: 0,
            held: None,
        }
    }

    /// The slot of `bucket`, which gets a free one if it has none; `None` if no slot is free.
    #[inline]
    fn slot_of(&mut self, bucket: usize) -> Option<u32> {
        let slot = self.table[bucket];
        if slot != NONE {
            return Some(slot);
        }
        let slot = self.depths.first_at(0)?;
        self.table[bucket] = slot;
        self.slots[slot as usize].bucket = bucket as u32;
        Some(slot)
    }

    /// Appends `packet` to `slot`. A slot that was empty joins the end of the round.
    #[inline]
    fn push(&mut self, slot: u32, packet: P) {
        let quantum = self.config.quantum;
        self.arena.push_back(&mut self.slots[slot as usize].chain, packet);
        self.depths.increment(slot);
        if self.depths.depth(slot) > 1 {
            return;
        }
        let next =
            if self.tail == NONE { slot } else { std::mem::replace(&mut self.slots[self.tail as usize].next, slot) };
        let entry = &mut self.slots[slot as usize];
        entry.next = next;
        entry.allot = i64::from(quantum);
        self.tail = slot;
    }

    /// Removes the first slot of the round, which has become empty, from the round and from the hash table.
    #[inline]
    fn leave_round(&mut self, slot: u32) {
        let Slot { next, bucket, .. } = self.slots[slot as usize];
        self.table[bucket as usize] = NONE;
        if next == slot {
            self.tail = NONE;
        } else {
            self.slots[self.tail as usize].next = next;
        }
    }

    /// Drops a packet of the longest slot.
    #[cold]
    fn drop_from_longest(&mut self, signals: &mut Signals<P>) {
        let deepest = self.depths.deepest();
        let slot = if deepest > 1 {
            self.depths.first_at(deepest)
        } else {
            // All slots have one packet: take the one to be served next.
            (self.tail != NONE).then(|| self.slots[self.tail as usize].next)
        };
        let Some(slot) = slot else { return };
        if deepest == 1 {
            self.leave_round(slot);
        }
        let chain = &mut self.slots[slot as usize].chain;
        let packet = if self.config.headdrop { self.arena.pop_front(chain) } else { self.arena.pop_back(chain) };
        self.depths.decrement(slot);
        if let Some(packet) = packet {
            self.packets -= 1;
            self.bytes -= u64::from(packet.bytes());
            signals.dropped(packet, DropReason::Overlimit);
        }
    }

    #[inline]
    fn catch_up(&mut self, now: Instant, signals: &mut Signals<P>) {
        let due = self.timer.expirations(now);
        if due > 0 {
            self.perturb(due, signals);
        }
    }

    /// Changes the key of the hash `times` times and hashes the queued packets again each time.
    #[cold]
    fn perturb(&mut self, times: u64, signals: &mut Signals<P>) {
        for _ in 0..times {
            self.hash = FlowHash::draw(&mut self.rng);
            if self.tail != NONE {
                self.rehash(signals);
            }
        }
    }

    /// Hashes the queued packets with the new key. Packets for which there is no room are dropped.
    fn rehash(&mut self, signals: &mut Signals<P>) {
        let mut all = Chain::default();
        for slot in 0..self.config.flows {
            let entry = &mut self.slots[slot as usize];
            if self.depths.depth(slot) > 0 {
                self.table[entry.bucket as usize] = NONE;
            }
            while let Some(packet) = self.arena.pop_front(&mut entry.chain) {
                self.depths.decrement(slot);
                self.arena.push_back(&mut all, packet);
            }
        }
        self.tail = NONE;
        while let Some(packet) = self.arena.pop_front(&mut all) {
            let bucket = self.hash.queue(packet.flow(), self.config.divisor);
            match self.slot_of(bucket) {
                Some(slot) if self.depths.depth(slot) < self.config.depth => {
                    self.push(slot, packet);
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
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        self.catch_up(now, signals);
        let bucket = self.hash.queue(packet.flow(), self.config.divisor);
        let Some(slot) = self.slot_of(bucket) else {
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
        self.push(slot, packet);
        self.packets += 1;
        self.bytes += bytes;
        if self.packets + usize::from(self.held.is_some()) > self.config.limit {
            self.drop_from_longest(signals);
        }
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
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
        self.depths.decrement(slot);
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

    fn hold(&mut self, bytes: Option<u32>) {
        self.held = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestPacket, build};
    use std::collections::BTreeMap;

    #[test]
    fn flows_get_equal_bytes_whatever_they_offer() {
        let mut queue = build("sfq limit=1000");
        let mut drops = Signals::new();
        let mut sent = BTreeMap::<u64, u32>::new();
        for round in 0..6000u32 {
            // Flow 1 offers ten times the load of flow 2, in larger packets; flow 2 also offers more than half the
            // rate.
            for _ in 0..10 {
                queue.enqueue(Instant::ZERO, TestPacket::data(1, 1500), &mut drops);
            }
            for _ in 0..3 {
                queue.enqueue(Instant::ZERO, TestPacket::data(2, 500), &mut drops);
            }
            for _ in 0..1 + round % 2 {
                if let Some(packet) = queue.dequeue(Instant::ZERO, &mut drops).packet() {
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
                queue.enqueue(Instant::ZERO, TestPacket::data(1, 100).numbered(number), &mut drops);
            }
            queue.enqueue(Instant::ZERO, TestPacket::data(2, 100).numbered(10), &mut drops);
            let got: Vec<_> = drops.drain().map(|(p, why)| (p.id, why)).collect();
            assert_eq!(got, [(dropped, DropReason::Overlimit)], "{spec}");
        }
    }

    #[test]
    fn perturbation_separates_flows_that_shared_a_slot() {
        let mut drops = Signals::new();
        // The packet of flow 2 waits for all packets of flow 1 if both flows share a slot.
        let mut behind = |now: Instant| {
            let mut queue = build("sfq perturb=1 divisor=2");
            for _ in 0..10 {
                queue.enqueue(Instant::ZERO, TestPacket::data(1, 1514), &mut drops);
            }
            queue.enqueue(Instant::ZERO, TestPacket::data(2, 1514), &mut drops);
            std::iter::from_fn(|| queue.dequeue(now, &mut drops).packet()).position(|packet| packet.flow == 2)
        };
        let shared = (0..40).filter(|second| behind(Instant::from_secs(*second)) == Some(10));
        // With two buckets, every other key maps both flows to the same one.
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
