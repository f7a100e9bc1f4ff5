//! `cake`: a shaper, classes by codepoint, and a COBALT queue per flow with fairness between hosts (Høiland-Jørgensen,
//! Täht and Morton, LANMAN 2018; Linux: `net/sched/sch_cake.c`).
//!
//! A packet goes to the tin of its codepoint and there, by a set-associative hash, to the queue of its flow. Tins share
//! the rate by priority up to a threshold; flows of a tin share by deficit round robin, in which a flow counts the less
//! the more bulk flows its host has. Without `bandwidth` no packet waits for the shaper, and the queue builds up at the
//! link.
//!
//! Not implemented: external classifiers, `fwmark`, and `autorate-ingress`.

mod ack_filter;
mod heap;
mod isolation;
mod lists;
mod shaper;
mod tin;
mod tins;

use crate::plumbing::arena::{Arena, Place};
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::linux::{self, truesize};
use crate::plumbing::options::{Kind, OptionSpec, Options, Value};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{Conformance, Hashing, KernelQdisc, Preset, Scheme, Statistics, TcSyntax, TimeAttribute};
use crate::plumbing::spec::Spec;
use gentle_units::{Instant, Nanos, Rate};
use heap::OverflowHeap;
use isolation::Hashes;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use shaper::{CELLS, Pace, Schedule};
use tin::Tin;

pub use ack_filter::AckFilter;
pub use isolation::Isolation;
pub use shaper::{Cells, Framing};
pub use tins::Diffserv;

/// Number of queues per tin (Linux: `CAKE_QUEUES`).
const QUEUES: usize = 1024;
/// Least memory in bytes that is allowed at a low rate, unless `memlimit` is given.
const LEAST_MEMORY: u32 = 4 << 20;
/// Full frames that bound the memory unless `memlimit` is given (Linux: `sch->limit`).
const MOST_FRAMES: u64 = 10_240;

/// CAKE, common applications kept enhanced.
pub static SCHEME: Scheme = Scheme {
    name: "cake",
    summary: "shaper, classes by codepoint, and a COBALT queue per flow with fairness between hosts",
    source: "Høiland-Jørgensen, Täht and Morton, LANMAN 2018; Linux sch_cake.c",
    options: &[
        OptionSpec {
            name: "bandwidth",
            kind: Kind::Rate(BYTE_PER_SECOND, TERABIT),
            default: None,
            help: "rate to shape to; unlimited unless given: the queue is then at the link",
        },
        OptionSpec {
            name: "rtt",
            kind: Kind::Time(Nanos::from_micros(1), Nanos::from_micros(u32::MAX as u64)),
            default: Some("100ms"),
            help: "round-trip time that COBALT's interval is for; the target is a twentieth of it",
        },
        OptionSpec {
            name: "diffserv",
            kind: Kind::Keyword(tins::WORDS),
            default: Some("diffserv3"),
            help: "division of the traffic into tins by codepoint",
        },
        OptionSpec {
            name: "flowmode",
            kind: Kind::Keyword(isolation::WORDS),
            default: Some("triple-isolate"),
            help: "flows that share a queue, and hosts between which bulk flows are fair",
        },
        OptionSpec {
            name: "nat",
            kind: Kind::Flag,
            default: Some("off"),
            help: "distinguish hosts by their addresses before translation; only for gentle qdisc, because simulations \
                   have no NAT",
        },
        OptionSpec {
            name: "wash",
            kind: Kind::Flag,
            default: Some("off"),
            help: "clear the codepoint of each packet once its tin is chosen",
        },
        OptionSpec {
            name: "split_gso",
            kind: Kind::Keyword(&["split-gso", "no-split-gso"]),
            default: Some("split-gso"),
            help: "queue the packets of an offloaded burst one by one (no effect in simulations, whose packets come one by one)",
        },
        OptionSpec {
            name: "ack_filter",
            kind: Kind::Keyword(ack_filter::WORDS),
            default: Some("no-ack-filter"),
            help: "drop queued TCP ACKs that a later one of their flow makes redundant",
        },
        OptionSpec {
            name: "memlimit",
            kind: Kind::Size(1, u32::MAX as u64),
            default: None,
            help: "memory of all packets, overhead included, beyond which packets of a long queue are dropped; derived: four times bandwidth times rtt, 4mb to 15503360b",
        },
        // To `tc`, `raw` also means `noatm` and `overhead 0`, unless these follow it.
        OptionSpec {
            name: "raw",
            kind: Kind::Flag,
            default: Some("off"),
            help: "add the overhead to the packet as queued, not to the IP packet",
        },
        OptionSpec {
            name: "atm",
            kind: Kind::Keyword(CELLS),
            default: Some("noatm"),
            help: "cells of the link, which determine the length of a packet on it",
        },
        OptionSpec {
            name: "overhead",
            kind: Kind::Integer(-64, 256),
            default: None,
            help: "bytes that the link adds to an IP packet; unless given, the packet counts as queued",
        },
        OptionSpec {
            name: "vlan",
            kind: Kind::Keyword(&["ether-vlan"]),
            default: None,
            help: "add 4 bytes of overhead for a VLAN tag",
        },
        OptionSpec {
            name: "mpu",
            kind: Kind::Count(0, 256),
            default: Some("0"),
            help: "minimum length of a packet on the link in bytes, overhead included",
        },
        OptionSpec {
            name: "direction",
            kind: Kind::Keyword(&["egress", "ingress"]),
            default: Some("egress"),
            help: "ingress: dropped packets count as sent, as behind a bottleneck that they have passed",
        },
    ],
    unsimulated: &[("nat", "there is no NAT in front of the queue to look up translations in")],
    presets: PRESETS,
    drops: &[DropReason::Aqm, DropReason::Overlimit, DropReason::AckFilter],
    marks: &[MarkReason::Aqm],
    linux: Some(TcSyntax {
        negations: &[("nat", "nonat"), ("wash", "nowash")],
        shapes: true,
        ..TcSyntax::plain(&QDISC)
    }),
    conformance: Conformance { hash: Hashing::Whole, ..Conformance::EXACT },
    samples: &[
        "besteffort flowblind rtt=10ms memlimit=20kb",
        "diffserv4 dual-srchost bandwidth=3mbit ack-filter ethernet",
        "precedence hosts wash ack-filter-aggressive",
        "diffserv8 bandwidth=500kbit ingress conservative memlimit=30kb rtt=5ms",
    ],
    ..Scheme::PLAIN
};

/// Least rate that `tc` takes.
const BYTE_PER_SECOND: Rate = rate(8);
const TERABIT: Rate = rate(1_000_000_000_000);

const fn rate(bits_per_second: u64) -> Rate {
    match Rate::from_bits_per_second(bits_per_second) {
        Some(rate) => rate,
        None => panic!("a rate above zero"),
    }
}

/// Words of tc-cake(8) for round-trip times and links.
const PRESETS: &[Preset] = &[
    preset("datacentre", "rtt=100us"),
    preset("lan", "rtt=1ms"),
    preset("metro", "rtt=10ms"),
    preset("regional", "rtt=30ms"),
    preset("internet", "rtt=100ms"),
    preset("oceanic", "rtt=300ms"),
    preset("satellite", "rtt=1s"),
    preset("interplanetary", "rtt=1000s"),
    preset("conservative", "overhead=48 atm=atm"),
    preset("ethernet", "overhead=38 mpu=84 atm=noatm"),
    preset("docsis", "overhead=18 mpu=64 atm=noatm"),
    preset("pppoe_ptm", "overhead=30 atm=ptm"),
    preset("bridged_ptm", "overhead=22 atm=ptm"),
    preset("pppoa_vcmux", "overhead=10 atm=atm"),
    preset("pppoa_llc", "overhead=14 atm=atm"),
    preset("pppoe_vcmux", "overhead=32 atm=atm"),
    preset("pppoe_llcsnap", "overhead=40 atm=atm"),
    preset("bridged_vcmux", "overhead=24 atm=atm"),
    preset("bridged_llcsnap", "overhead=32 atm=atm"),
    preset("ipoa_vcmux", "overhead=8 atm=atm"),
    preset("ipoa_llcsnap", "overhead=16 atm=atm"),
];

const fn preset(name: &'static str, options: &'static str) -> Preset {
    Preset { name, options }
}

/// Names of a counter for each tin.
macro_rules! of_tins {
    ($name:literal) => {
        [
            concat!("tin1_", $name),
            concat!("tin2_", $name),
            concat!("tin3_", $name),
            concat!("tin4_", $name),
            concat!("tin5_", $name),
            concat!("tin6_", $name),
            concat!("tin7_", $name),
            concat!("tin8_", $name),
        ]
    };
}

/// Statistics: `TCA_CAKE_STATS_*` and `TCA_CAKE_TIN_STATS_*`; for `tc`, each tin's ACKs that were filtered, and marks. Rate and target:
/// `TCA_CAKE_BASE_RATE64`, `TCA_CAKE_TARGET`.
static QDISC: KernelQdisc = KernelQdisc {
    openwrt_package: Some("kmod-sched-cake"),
    statistics: Statistics::Tins {
        whole: &[(2, "capacity_estimate_bytes_per_second"), (3, "memory_limit_bytes"), (4, "memory_used_bytes")],
        list: 10,
        each: &[
            (2, of_tins!("packets")),
            (3, of_tins!("bytes")),
            (4, of_tins!("drops")),
            (6, of_tins!("ack_drops")),
            (8, of_tins!("ecn_mark")),
            (11, of_tins!("backlog_bytes")),
            (18, of_tins!("peak_delay_us")),
            (19, of_tins!("avg_delay_us")),
            (21, of_tins!("sparse_flows")),
            (22, of_tins!("bulk_flows")),
            (23, of_tins!("unresponsive_flows")),
        ],
    },
    drops: &[
        ("/tins/0/ack_drops", DropReason::AckFilter),
        ("/tins/1/ack_drops", DropReason::AckFilter),
        ("/tins/2/ack_drops", DropReason::AckFilter),
        ("/tins/3/ack_drops", DropReason::AckFilter),
        ("/tins/4/ack_drops", DropReason::AckFilter),
        ("/tins/5/ack_drops", DropReason::AckFilter),
        ("/tins/6/ack_drops", DropReason::AckFilter),
        ("/tins/7/ack_drops", DropReason::AckFilter),
    ],
    marks: &[
        "/tins/0/ecn_mark",
        "/tins/1/ecn_mark",
        "/tins/2/ecn_mark",
        "/tins/3/ecn_mark",
        "/tins/4/ecn_mark",
        "/tins/5/ecn_mark",
        "/tins/6/ecn_mark",
        "/tins/7/ecn_mark",
    ],
    rate: Some(2),
    target: Some(TimeAttribute::Micros(8)),
    ..KernelQdisc::of_linux("cake")
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(Cake::new(Config::from_options(spec.options()), seed))
}

/// CAKE's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Rate of the shaper; `None`: no rate.
    pub bandwidth: Option<Rate>,
    /// Interval of COBALT, in whole microseconds.
    pub rtt: Nanos,
    /// Division into tins.
    pub diffserv: Diffserv,
    /// Flows that share a queue, and hosts that share fairly.
    pub isolation: Isolation,
    /// Clear the codepoint of each packet once its tin is chosen.
    pub wash: bool,
    /// Whether redundant ACKs are dropped.
    pub ack_filter: AckFilter,
    /// Maximum memory of all packets, bytes; `None`: derived from rate and `rtt`.
    pub memlimit: Option<u32>,
    /// Length of a packet on the link.
    pub framing: Framing,
    /// Count dropped packets as sent.
    pub ingress: bool,
}

impl Config {
    fn from_options(options: &Options) -> Config {
        let overhead = options.get("overhead").map(|_| options.integer("overhead"));
        let vlan = options.get("vlan").is_some();
        Config {
            bandwidth: match options.get("bandwidth") {
                Some(Value::Rate(rate)) => Some(rate),
                _ => None,
            },
            rtt: options.time("rtt"),
            diffserv: Diffserv::named(options.choice("diffserv")),
            isolation: Isolation::named(options.choice("flowmode")),
            wash: options.flag("wash"),
            ack_filter: AckFilter::named(options.choice("ack_filter")),
            memlimit: options.given_size("memlimit").map(|bytes| bytes as u32),
            framing: Framing {
                from_ip: (overhead.is_some() || vlan) && !options.flag("raw"),
                overhead: overhead.unwrap_or(0) + if vlan { 4 } else { 0 },
                mpu: options.count("mpu") as u32,
                cells: Cells::named(options.choice("atm")),
            },
            ingress: options.choice("direction") == "ingress",
        }
    }

    /// Rate in bytes per second; 0: no rate.
    fn rate(&self) -> u64 {
        self.bandwidth.map_or(0, |rate| rate.bits_per_second() / 8)
    }

    /// Maximum memory in bytes (Linux: `cake_reconfigure`).
    fn memory_limit(&self) -> u64 {
        if let Some(bytes) = self.memlimit {
            return bytes.into();
        }
        let frames = MOST_FRAMES * u64::from(linux::MTU);
        match self.rate() {
            0 => frames,
            rate => {
                let product = rate.wrapping_mul(self.rtt.0 / 1000) / 250_000;
                // Linux loses the upper bits.
                u64::from((product as u32).max(LEAST_MEMORY)).min(frames)
            }
        }
    }
}

/// A queue within its tin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FlowId {
    tin: usize,
    flow: usize,
}

impl FlowId {
    /// Number of the queue among the queues of all tins.
    fn number(self) -> usize {
        self.tin * QUEUES + self.flow
    }

    fn numbered(number: usize) -> FlowId {
        FlowId { tin: number / QUEUES, flow: number % QUEUES }
    }
}

/// Common applications kept enhanced.
#[derive(Debug)]
pub struct Cake<P> {
    config: Config,
    hash: FlowHash,
    rng: Xoshiro256PlusPlus,
    /// Tin of each codepoint.
    codepoints: [u8; 64],
    tins: Vec<Tin>,
    /// Tin served last.
    tin: usize,
    schedule: Schedule,
    arena: Arena<P>,
    heap: OverflowHeap,
    memory_limit: u64,
    memory: u64,
    packets: usize,
    bytes: u64,
}

impl<P: Packet> Cake<P> {
    /// Empty queues; `seed` determines the key of the hash, the dithering of shares, and BLUE's drops.
    pub fn new(config: Config, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let micros = config.rtt.0 / 1000;
        let (target, interval) = ((micros / 20).max(1) * 1000, micros * 1000);
        let shares = config.diffserv.shares(config.rate()).into_iter();
        let tins: Vec<Tin> = shares.map(|share| Tin::new(share, config.isolation, target, interval)).collect();
        Cake {
            config,
            hash: FlowHash::draw(&mut rng),
            rng,
            codepoints: config.diffserv.table(),
            heap: OverflowHeap::new(tins.len()),
            tins,
            tin: 0,
            schedule: Schedule::new(Pace::of(config.rate())),
            arena: Arena::default(),
            memory_limit: config.memory_limit(),
            memory: 0,
            packets: 0,
            bytes: 0,
        }
    }

    /// The queue of `packet`.
    #[inline]
    fn queue_of(&mut self, packet: &P) -> FlowId {
        let tin = usize::from(self.codepoints[usize::from(packet.dscp() & 63)]);
        let isolation = self.config.isolation;
        let is_blind = !isolation.flows && !isolation.source && !isolation.destination;
        let flow = if is_blind {
            0
        } else {
            let hashes = Hashes::of(packet, isolation, self.hash);
            self.tins[tin].queue_of(hashes)
        };
        FlowId { tin, flow }
    }

    /// Accounts for a packet that is added to a queue.
    #[inline]
    fn add(&mut self, queue: FlowId, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.memory += truesize(bytes);
        self.tins[queue.tin].backlog += u64::from(bytes);
        self.heap.add(queue, bytes);
    }

    /// Accounts for a packet that is taken from a queue.
    #[inline]
    fn subtract(&mut self, queue: FlowId, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
        self.memory -= truesize(bytes);
        self.tins[queue.tin].backlog -= u64::from(bytes);
        self.heap.subtract(queue, bytes);
    }

    /// Removes the packet at the head of a queue.
    #[inline]
    fn pop(&mut self, queue: FlowId) -> Option<P> {
        let chain = &mut self.tins[queue.tin].flows[queue.flow].chain;
        let packet = self.arena.pop_front(chain)?;
        self.subtract(queue, packet.bytes());
        self.heap.shrunk(queue);
        Some(packet)
    }

    /// Charges the schedules for a packet that is sent or, in ingress mode, dropped; returns its length on the link.
    #[inline]
    fn charge(&mut self, tin: usize, packet: &P, now: i64, dropped: bool) -> u32 {
        let length = self.config.framing.length(packet);
        if self.schedule.is_limited() {
            self.tins[tin].schedule.charge(length, now);
            self.schedule.charge(length, dropped);
        }
        length
    }

    /// The queued ACK that the packet just added to `queue` makes redundant.
    fn redundant_ack(&self, queue: FlowId) -> Option<Place> {
        let chain = &self.tins[queue.tin].flows[queue.flow].chain;
        let (arrived, last) = self.arena.back(chain)?;
        let header = last.tcp()?;
        let mut queued = self.arena.iter(chain).peekable();
        let earlier = std::iter::from_fn(|| {
            let (place, packet) = queued.next().filter(|(place, _)| *place != arrived)?;
            let is_last = queued.peek().is_some_and(|(next, _)| *next == arrived);
            Some((place, packet, is_last))
        });
        let of_flow = earlier
            .filter(|(_, packet, _)| packet.flow() == last.flow())
            .filter_map(|(place, packet, is_last)| Some((place, packet.tcp()?, is_last)));
        self.config.ack_filter.redundant(&header, of_flow)
    }

    /// Drops the queued ACK that the packet just added to `queue` makes redundant (Linux: `cake_ack_filter`).
    fn filter_acks(&mut self, queue: FlowId, now: i64, signals: &mut Signals<P>) {
        let Some(place) = self.redundant_ack(queue) else {
            return;
        };
        let chain = &mut self.tins[queue.tin].flows[queue.flow].chain;
        if let Some(ack) = self.arena.remove(chain, place) {
            self.subtract(queue, ack.bytes());
            if self.config.ingress {
                self.charge(queue.tin, &ack, now, true);
            }
            signals.dropped(ack, DropReason::AckFilter);
        }
    }

    /// Drops the packet at the head of a long queue (Linux: `cake_drop`).
    #[cold]
    fn drop_overlimit(&mut self, now: Instant, signals: &mut Signals<P>) {
        let queue = self.heap.longest();
        let Some(tin) = self.tins.get_mut(queue.tin) else {
            self.heap.give_up();
            return;
        };
        let flow = &mut tin.flows[queue.flow];
        let Some(packet) = self.arena.pop_front(&mut flow.chain) else {
            self.heap.give_up();
            return;
        };
        flow.law.on_overflow(now, &tin.params);
        self.subtract(queue, packet.bytes());
        if self.config.ingress {
            self.charge(queue.tin, &packet, now.0.cast_signed(), true);
        }
        signals.dropped(packet, DropReason::Overlimit);
        self.heap.shrunk(queue);
    }

    /// Selects the tin to serve; `None`: no tin has a flow.
    #[inline]
    fn select_tin(&mut self, now: i64) -> Option<usize> {
        if self.tins.len() == 1 {
            return self.tins[0].is_active().then_some(0);
        }
        if self.schedule.is_limited() {
            // The last tin that is within its share, or else the one that will be soonest.
            let mut best: Option<(i64, usize)> = None;
            for (tin, state) in self.tins.iter().enumerate() {
                if !state.is_active() {
                    continue;
                }
                let wait = state.schedule.next.wrapping_sub(now);
                if wait <= 0 || best.is_none_or(|(least, _)| wait <= least) {
                    best = Some((wait, tin));
                }
            }
            return best.map(|(_, tin)| tin);
        }
        if !self.tins.iter().any(Tin::is_active) {
            return None;
        }
        let mut tin = self.tin;
        loop {
            let state = &mut self.tins[tin];
            if state.deficit >= 0 && state.is_active() {
                return Some(tin);
            }
            if state.deficit <= 0 {
                state.deficit += state.quantum;
            }
            tin = (tin + 1) % self.tins.len();
        }
    }

    /// Serves the flow whose turn it is in `tin`; `None`: it has no packet, and a tin is to be selected again.
    /// `is_first` is false once a flow has been looked at.
    fn serve(&mut self, tin: usize, now: Instant, is_first: &mut bool, signals: &mut Signals<P>) -> Option<P> {
        loop {
            let flow = self.tins[tin].current(*is_first)?;
            *is_first = false;
            let queue = FlowId { tin, flow };
            let state = &self.tins[tin].flows[flow];
            if state.deficit <= 0 {
                let has_packets = !state.chain.is_empty();
                let random = random_u16(&mut self.rng);
                self.tins[tin].next_round(flow, has_packets, random);
                continue;
            }
            let Some(packet) = self.pop_by_law(queue, now, signals) else {
                continue;
            };
            if packet.is_none() {
                self.tins[tin].ran_empty(flow, now);
            }
            return packet;
        }
    }

    /// Removes the packet that COBALT lets pass, `Some(None)` if the queue has none. `None`: a packet was dropped in
    /// ingress mode, and the turn may be over.
    #[inline]
    fn pop_by_law(&mut self, queue: FlowId, now: Instant, signals: &mut Signals<P>) -> Option<Option<P>> {
        let FlowId { tin, flow } = queue;
        loop {
            let Some(mut packet) = self.pop(queue) else {
                return Some(None);
            };
            let bulk_flows = match self.config.ingress {
                true => self.tins[tin].bulk_flows(),
                false => 0,
            };
            let rng = &mut self.rng;
            let Tin { flows, params, .. } = &mut self.tins[tin];
            let state = &mut flows[flow];
            let verdict = state.law.on_dequeue(now, &mut packet, bulk_flows, params, || (rng.next_u64() >> 32) as u32);
            // The last packet of a queue is never dropped.
            if !verdict.drop || state.chain.is_empty() {
                if verdict.marked {
                    signals.marked(&packet, MarkReason::Aqm);
                }
                let length = self.charge(tin, &packet, now.0.cast_signed(), false);
                self.spend(queue, length);
                return Some(Some(packet));
            }
            let ingress = self.config.ingress;
            if ingress {
                let length = self.charge(tin, &packet, now.0.cast_signed(), true);
                self.spend(queue, length);
            }
            signals.dropped(packet, DropReason::Aqm);
            if ingress {
                return None;
            }
        }
    }

    /// Takes what a packet costs from the deficits of its flow and tin.
    #[inline]
    fn spend(&mut self, queue: FlowId, length: u32) {
        let tin = &mut self.tins[queue.tin];
        tin.flows[queue.flow].deficit -= length as i32;
        tin.deficit -= i64::from(length);
    }
}

/// 16 random bits (Linux: `get_random_u16`).
#[inline]
fn random_u16(rng: &mut impl Rng) -> u16 {
    (rng.next_u64() >> 48) as u16
}

impl<P: Packet + Send> Qdisc<P> for Cake<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        let queue = self.queue_of(&packet);
        if self.config.wash {
            packet.clear_dscp();
        }
        let time = now.0.cast_signed();
        let tin = &mut self.tins[queue.tin];
        if tin.backlog == 0 {
            tin.schedule.refresh(time);
            if self.packets == 0 {
                self.schedule.refresh(time);
            }
        }
        packet.set_arrived(now);
        let bytes = packet.bytes();
        self.arena.push_back(&mut tin.flows[queue.flow].chain, packet);
        self.add(queue, bytes);
        if self.config.ack_filter != AckFilter::Off {
            self.filter_acks(queue, time, signals);
        }
        self.heap.grown(queue);
        let rng = &mut self.rng;
        self.tins[queue.tin].arrived(queue.flow, || random_u16(rng));
        while self.memory > self.memory_limit {
            self.drop_overlimit(now, signals);
        }
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        let time = now.0.cast_signed();
        let mut is_first = true;
        while self.packets > 0 {
            if self.schedule.is_limited()
                && let Some(next) = self.schedule.not_before(time)
            {
                return Dequeue::NotBefore(Instant(next.cast_unsigned()));
            }
            let Some(tin) = self.select_tin(time) else {
                break;
            };
            self.tin = tin;
            if let Some(packet) = self.serve(tin, now, &mut is_first, signals) {
                self.heap.sent();
                return Dequeue::Packet(packet);
            }
        }
        Dequeue::Empty
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }

    fn mark_departed(&mut self, packet: &mut P, signals: &mut Signals<P>) -> bool {
        let marked = packet.mark();
        if marked {
            signals.marked(packet, MarkReason::Aqm);
        }
        marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::testing::{TestPacket, build};
    use std::collections::BTreeMap;

    fn config(text: &str) -> Config {
        let spec: Spec = text.parse().expect("a specification");
        Config::from_options(spec.options())
    }

    /// Share of the bytes sent by value of `key`, while 20 of each of `packets` are kept in the queue.
    fn shares(spec: &str, packets: &[TestPacket], key: impl Fn(&TestPacket) -> u64) -> BTreeMap<u64, f64> {
        let mut queue = build(spec);
        let mut signals = Signals::new();
        let mut now = Instant::ZERO;
        let mut queued = BTreeMap::<u64, u32>::new();
        let mut sent = BTreeMap::<u64, u64>::new();
        let mut total = 0;
        while total < 20_000_000 {
            for packet in packets {
                let count = queued.entry(packet.flow).or_default();
                while *count < 20 {
                    queue.enqueue(now, *packet, &mut signals);
                    *count += 1;
                }
            }
            let mut gone: Vec<u64> = Vec::new();
            match queue.dequeue(now, &mut signals) {
                Dequeue::Packet(packet) => {
                    *sent.entry(key(&packet)).or_default() += u64::from(packet.bytes);
                    total += u64::from(packet.bytes);
                    gone.push(packet.flow);
                }
                Dequeue::NotBefore(time) => now = time,
                Dequeue::Empty => panic!("{spec}: empty"),
            }
            gone.extend(signals.drain().map(|(packet, _)| packet.flow));
            for flow in gone {
                *queued.entry(flow).or_default() -= 1;
            }
        }
        let share = |(key, bytes)| (key, bytes as f64 / total as f64);
        sent.into_iter().map(share).collect()
    }

    #[test]
    fn the_words_of_the_manual_page_are_read() {
        let text = "cake bandwidth 20mbit diffserv4 dual-srchost nonat wash ack-filter-aggressive split-gso pppoe-ptm ether-vlan ingress memlimit 5mb regional";
        let spec: Spec = text.parse().unwrap();
        assert_eq!(
            spec.to_string(),
            "cake bandwidth=20mbit rtt=30ms diffserv4 dual-srchost nat=off wash=on split-gso ack-filter-aggressive memlimit=5mb ptm overhead=30 ether-vlan ingress"
        );
        assert_eq!(
            Config::from_options(spec.options()),
            Config {
                bandwidth: Rate::from_bits_per_second(20_000_000),
                rtt: Nanos::from_millis(30),
                diffserv: Diffserv::Diffserv4,
                isolation: Isolation::named("dual-srchost"),
                wash: true,
                ack_filter: AckFilter::Aggressive,
                memlimit: Some(5 << 20),
                framing: Framing { from_ip: true, overhead: 34, mpu: 0, cells: Cells::Ptm },
                ingress: true,
            }
        );
        for (text, problem) in [
            ("cake diffserv3 diffserv4", "'diffserv' is given twice"),
            ("cake lan metro", "'rtt' is given twice"),
            ("cake overhead=257", "expected -64 to 256"),
            ("cake nat", "there is no NAT"),
            ("spa child=cake nat", "there is no NAT"),
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
        let spec = registry::for_device("cake nat").unwrap();
        assert_eq!(spec.to_string(), "cake nat=on");
    }

    #[test]
    fn memory_is_bounded_by_rate_and_rtt() {
        for (text, bytes) in [
            ("cake", 15_503_360),
            ("cake bandwidth=1mbit", 4 << 20),
            ("cake bandwidth=100mbit", 5_000_000),
            ("cake bandwidth=10gbit", 15_503_360),
            ("cake bandwidth=1mbit rtt=10s", 5_000_000),
            ("cake memlimit=20mb", 20 << 20),
            ("cake memlimit=1000b", 1000),
        ] {
            assert_eq!(config(text).memory_limit(), bytes, "{text}");
        }
    }

    #[test]
    fn the_shaper_keeps_to_the_rate_without_a_burst() {
        for (spec, rate) in [
            ("cake bandwidth=8mbit", 1e6),
            // 1500 bytes of 1514, and 38 bytes of overhead: 1538.
            ("cake bandwidth=8mbit ethernet", 1e6 * 1514.0 / 1538.0),
            // 32 cells.
            ("cake bandwidth=8mbit overhead=0 atm", 1e6 * 1514.0 / 1696.0),
        ] {
            let mut queue = build(spec);
            let mut signals = Signals::new();
            let mut now = Instant::from_secs(10);
            let start = now;
            let mut sent = 0;
            for flow in 0..200 {
                queue.enqueue(now, TestPacket::data(flow, 1514), &mut signals);
            }
            while let answer = queue.dequeue(now, &mut signals)
                && answer != Dequeue::Empty
            {
                match answer {
                    Dequeue::NotBefore(time) => now = time,
                    Dequeue::Packet(packet) => {
                        let bytes = (now - start).as_secs_f64() * rate;
                        assert!((f64::from(sent) - bytes).abs() < 2.0, "{spec}: {sent} bytes at {now}");
                        sent += packet.bytes;
                    }
                    Dequeue::Empty => {}
                }
            }
            assert_eq!(sent, 200 * 1514, "{spec}");
        }
    }

    #[test]
    fn hosts_share_fairly_whatever_their_number_of_flows() {
        // Host 1 has one flow, host 2 has eight, all to host 9.
        let mut packets = vec![TestPacket::data(1, 1000).between(1, 9)];
        packets.extend((10..18).map(|flow| TestPacket::data(flow, 1000).between(2, 9)));
        let source = |packet: &TestPacket| packet.hosts.map_or(0, |(source, _)| source);
        for (mode, expected) in [
            ("flows", 1.0 / 9.0),
            ("dual-srchost", 0.5),
            ("srchost", 0.5),
            // All flows are to the same host.
            ("dual-dsthost", 1.0 / 9.0),
        ] {
            let text = format!("cake bandwidth=50mbit besteffort {mode}");
            let share = shares(&text, &packets, source)[&1];
            assert!((share / expected - 1.0).abs() < 0.05, "{mode}: {share}");
        }
        // Two destinations: what the flows of host 1 lack in number they get from triple isolation.
        packets[0] = packets[0].between(1, 8);
        let text = "cake bandwidth=50mbit besteffort triple-isolate";
        let share = shares(text, &packets, source)[&1];
        assert!((share / 0.5 - 1.0).abs() < 0.05, "triple-isolate: {share}");
    }

    #[test]
    fn a_class_has_priority_up_to_its_share() {
        let voice = TestPacket::data(1, 1000).with_dscp(46);
        let data = TestPacket::data(2, 1000);
        let bulk = TestPacket::data(3, 1000).with_dscp(8);
        let class = |packet: &TestPacket| u64::from(packet.dscp);
        let found = shares("cake bandwidth=50mbit", &[voice, data, bulk], class);
        // Voice 25 %, bulk 6.25 %, and the rest for best effort.
        for (dscp, share) in [(46, 0.25), (8, 0.0625), (0, 0.6875)] {
            assert!((found[&dscp] / share - 1.0).abs() < 0.1, "{found:?}");
        }
        // Without a rate, tins share by weight: 1024, 256 and 64.
        let found = shares("cake", &[voice, data, bulk], class);
        for (dscp, weight) in [(46, 256.0), (8, 64.0), (0, 1024.0)] {
            assert!((found[&dscp] / weight * 1344.0 - 1.0).abs() < 0.05, "{found:?}");
        }
    }

    #[test]
    fn washed_packets_leave_without_codepoint() {
        let leaves = |spec| {
            let mut queue = build(spec);
            let packet = TestPacket::data(1, 100).with_dscp(46);
            queue.enqueue(Instant::ZERO, packet, &mut Signals::new());
            let sent = queue.dequeue(Instant::ZERO, &mut Signals::new()).packet();
            sent.map(|packet| packet.dscp)
        };
        assert_eq!((leaves("cake"), leaves("cake wash")), (Some(46), Some(0)));
    }

    #[test]
    fn redundant_acks_are_dropped_within_their_flow() {
        let mut queue = build("cake ack-filter flowblind");
        let mut signals = Signals::new();
        let numbers = [(1, 100), (2, 100), (1, 200), (2, 150), (1, 300), (1, 400)];
        for (id, (flow, number)) in (0..).zip(numbers) {
            let packet = TestPacket::ack(flow, number).numbered(id);
            queue.enqueue(Instant::ZERO, packet, &mut signals);
        }
        let dropped: Vec<_> = signals.drain().map(|(p, why)| (p.id, why)).collect();
        assert_eq!(dropped, [(0, DropReason::AckFilter), (2, DropReason::AckFilter)]);
        assert_eq!((queue.len(), queue.backlog()), (4, 264));
    }

    #[test]
    fn a_full_memory_drops_from_the_head_of_the_longest_queue() {
        // 2304 bytes a packet.
        let mut queue = build("cake memlimit=23040");
        let mut signals = Signals::new();
        for id in 0..10 {
            let packet = TestPacket::data(u64::from(id % 3 / 2), 1514).numbered(id);
            queue.enqueue(Instant::ZERO, packet, &mut signals);
        }
        assert!(signals.is_empty());
        for id in 10..13 {
            let packet = TestPacket::data(5, 1514).numbered(id);
            queue.enqueue(Instant::ZERO, packet, &mut signals);
        }
        let dropped: Vec<_> = signals.drain().map(|(p, why)| (p.id, why)).collect();
        let overlimit = DropReason::Overlimit;
        assert_eq!(dropped, [(0, overlimit), (1, overlimit), (3, overlimit)]);
    }
}
