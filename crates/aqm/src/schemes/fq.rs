//! `fq`: a queue per flow in deficit round robin, within three bands by priority, with a maximum rate per flow (Linux:
//! `net/sched/sch_fq.c`), as on a router.
//!
//! On a host, `fq` also delays packets to the departure time that the sending socket gives them (pacing). Forwarded
//! packets have no such time and no socket: flows are recognised by a hash, only `maxrate` and `low_rate_threshold`
//! delay packets, and `horizon` has no effect.
//!
//! Flows without packets are forgotten once they were idle for three seconds and a packet of an unknown flow falls into their bucket.
//! Linux looks at those on the way to the flow in the bucket's red-black tree, on each look-up, so that it may forget a flow that is
//! known here and the reverse: its first packets have `initial_quantum` or `quantum` of credit. Linux measures idle times in jiffies;
//! here these are milliseconds.
//!
//! Not implemented: `timer_slack` and `offload_horizon`, which let packets leave later or earlier than calculated.

use crate::plumbing::arena::{Arena, Chain};
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::options::{Kind, OptionSpec, Options};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{Conformance, Field, Hashing, KernelQdisc, Preset, Scheme, Statistics, TcSyntax};
use crate::plumbing::spec::Spec;
use gentle_units::{Instant, Nanos, Rate};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Longest time that `tc` passes to the kernel: microseconds in 32 bits.
const LONGEST: Nanos = Nanos::from_micros(u32::MAX as u64);

/// A rate of so many bytes per second.
const fn bytes_per_second(bytes: u64) -> Rate {
    match Rate::from_bits_per_second(8 * bytes) {
        Some(rate) => rate,
        None => panic!("more than zero"),
    }
}

/// Rates that the kernel stores: bytes per second in 32 bits, of which the largest stands for no limit.
const RATES: Kind = Kind::Rate(bytes_per_second(1), bytes_per_second(u32::MAX as u64 - 1));

/// Fair queueing with a maximum rate per flow.
pub static SCHEME: Scheme = Scheme {
    name: "fq",
    summary: "a queue per flow in deficit round robin within three bands by priority; a maximum rate per flow",
    source: "Linux sch_fq.c",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Count(1, u32::MAX as u64),
            default: Some("10000"),
            help: "packets each band holds",
        },
        OptionSpec {
            name: "flow_limit",
            kind: Kind::Count(1, u32::MAX as u64),
            default: Some("100"),
            help: "packets each flow holds",
        },
        OptionSpec {
            name: "quantum",
            kind: Kind::Size(256, 1 << 20),
            default: Some("3028"),
            help: "bytes a flow sends per round (Linux: two full frames)",
        },
        OptionSpec {
            name: "initial_quantum",
            kind: Kind::Size(0, 1 << 20),
            default: Some("15140"),
            help: "bytes a new flow sends in its first round (Linux: ten full frames)",
        },
        OptionSpec {
            name: "maxrate",
            kind: RATES,
            default: None,
            help: "maximum rate of each flow, beyond its quantum; no limit unless given",
        },
        OptionSpec {
            name: "buckets",
            kind: Kind::Count(2, 1 << 18),
            default: Some("1024"),
            help: "size of the hash table of flows, rounded up to a power of two; flows of one bucket stay separate",
        },
        OptionSpec { name: "pacing", kind: Kind::Flag, default: Some("on"), help: "enforce maxrate" },
        OptionSpec {
            name: "refill_delay",
            kind: Kind::Time(Nanos::ZERO, LONGEST),
            default: Some("40ms"),
            help: "idle time after which a flow gets a new quantum",
        },
        OptionSpec {
            name: "low_rate_threshold",
            kind: RATES,
            default: Some("550kbit"),
            help: "up to this maxrate each packet is delayed by its own length, beyond it only whole quanta are",
        },
        OptionSpec {
            name: "orphan_mask",
            kind: Kind::Count(0, u32::MAX as u64),
            default: Some("1023"),
            help: "bits of the hash that distinguishes flows of forwarded packets",
        },
        OptionSpec {
            name: "ce_threshold",
            kind: Kind::Time(Nanos::ZERO, LONGEST),
            default: None,
            help: "sojourn time beyond the delay by maxrate above which ECN-capable packets are marked; off unless given",
        },
        OptionSpec {
            name: "horizon",
            kind: Kind::Time(Nanos::from_micros(1), LONGEST),
            default: Some("10s"),
            help: "latest departure time of a packet of a pacing socket; without effect on forwarded packets, which have none",
        },
        OptionSpec {
            name: HORIZON_DROP,
            kind: Kind::Flag,
            default: Some("on"),
            help: "drop packets beyond the horizon; off (horizon_cap): delay them to the horizon",
        },
        OptionSpec {
            name: PRIOMAP,
            kind: Kind::List { length: 16, least: 0, most: 2 },
            default: Some("1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1"),
            help: "band of each of the 16 priorities (Linux 6.7, iproute2 6.7)",
        },
        OptionSpec {
            name: "weights",
            kind: Kind::List { length: 3, least: 16_384, most: i32::MAX as u64 },
            default: Some("589824,196608,65536"),
            help: "bytes each band sends per round of the bands (Linux 6.7, iproute2 6.7)",
        },
    ],
    presets: &[Preset { name: "horizon_cap", options: "horizon_drop=off" }],
    drops: &[DropReason::Tail],
    marks: &[MarkReason::CeThreshold],
    linux: Some(TcSyntax {
        negations: &[("pacing", "nopacing"), (HORIZON_DROP, "horizon_cap")],
        spelled: &[(PRIOMAP, "bands 3 priomap")],
        ..TcSyntax::plain(&QDISC)
    }),
    conformance: Conformance { hash: Hashing::Scaled, ..Conformance::EXACT },
    samples: &[
        "limit=20 flow_limit=5 orphan_mask=3 quantum=300 initial_quantum=1000",
        "maxrate=10mbit ce_threshold=1ms",
        "maxrate=400kbit buckets=2 weights=16384,20000,30000",
    ],
    ..Scheme::PLAIN
};

const HORIZON_DROP: &str = "horizon_drop";
const PRIOMAP: &str = "priomap";

/// Statistics: `struct tc_fq_qd_stats`.
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Struct(&[
        Field::U64("gc_flows"),
        Field::U64("highprio_packets"),
        Field::U64("tcp_retrans"),
        Field::U64("throttled"),
        Field::U64("flows_plimit"),
        Field::U64("pkts_too_long"),
        Field::U64("allocation_errors"),
        // Time of the next throttled flow, signed.
        Field::Skip(8),
        Field::U32("flows"),
        Field::U32("inactive_flows"),
        Field::U32("throttled_flows"),
        Field::U32("unthrottle_latency_ns"),
        Field::U64("ce_mark"),
        Field::U64("horizon_drops"),
        Field::U64("horizon_caps"),
        Field::U64("fastpath_packets"),
        Field::U64("band0_drops"),
        Field::U64("band1_drops"),
        Field::U64("band2_drops"),
        Field::U32("band0_packets"),
        Field::U32("band1_packets"),
        Field::U32("band2_packets"),
    ]),
    marks: &["/ce_mark"],
    ..KernelQdisc::of_linux("fq")
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(Fq::new(Config::from_options(spec.options()), seed))
}

/// Number of bands.
const BANDS: usize = 3;

/// Parameters of fq.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Maximum number of packets in each band.
    pub limit: usize,
    /// Maximum number of packets of a flow.
    pub flow_limit: usize,
    /// Bytes a flow sends per round, at least one.
    pub quantum: u32,
    /// Bytes a new flow sends in its first round.
    pub initial_quantum: u32,
    /// Maximum rate of a flow, bytes per second; `None`: no limit.
    pub maxrate: Option<u64>,
    /// Binary logarithm of the number of buckets of the hash table, 1 to 18.
    pub buckets_log: u32,
    /// Enforce `maxrate`.
    pub pacing: bool,
    /// Idle time after which a flow gets a new quantum.
    pub refill_delay: Nanos,
    /// Rate in bytes per second up to which packets are delayed one by one.
    pub low_rate_threshold: u64,
    /// Bits of the hash that identify a flow.
    pub orphan_mask: u32,
    /// Sojourn time above which packets are marked; `None`: never.
    pub ce_threshold: Option<Nanos>,
    /// Band of each priority, below three.
    pub priomap: [u8; 16],
    /// Bytes each band sends per round, at least one.
    pub weights: [i64; BANDS],
}

impl Config {
    fn from_options(options: &Options) -> Config {
        let bytes = |rate: Rate| rate.bits_per_second() / 8;
        let map = options.list(PRIOMAP);
        let weights = options.list("weights");
        Config {
            limit: options.count("limit") as usize,
            flow_limit: options.count("flow_limit") as usize,
            quantum: options.size("quantum") as u32,
            initial_quantum: options.size("initial_quantum") as u32,
            maxrate: options.get("maxrate").map(|_| bytes(options.rate("maxrate"))),
            buckets_log: options.count("buckets").next_power_of_two().ilog2(),
            pacing: options.flag("pacing"),
            refill_delay: options.time("refill_delay"),
            low_rate_threshold: bytes(options.rate("low_rate_threshold")),
            orphan_mask: options.count("orphan_mask") as u32,
            ce_threshold: options.given_time("ce_threshold"),
            priomap: std::array::from_fn(|priority| map[priority] as u8),
            weights: std::array::from_fn(|band| i64::from(weights[band])),
        }
    }
}

/// Index that stands for no flow.
const NONE: u32 = u32::MAX;

/// Time of no throttled flow (Linux: `~0ULL`).
const NEVER: u64 = u64::MAX;

/// Idle time after which a flow is forgotten, in jiffies (Linux: `FQ_GC_AGE`).
const GC_AGE: u64 = 3_000;

/// Packets in the queue for packets that find no flow waiting, beyond which arrivals are distinguished by flow.
const FAST_PATH_LIMIT: usize = 8;

/// Longest delay of a flow after a packet (Linux clamps it since a socket may raise its rate).
const LONGEST_DELAY: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
struct Flow {
    chain: Chain,
    packets: usize,
    /// Bytes that the flow may still send before it moves to the end of the old flows.
    credit: i64,
    /// Band whose list the flow joins next.
    band: usize,
    /// The next flow of its list.
    next: u32,
    /// Time in jiffies at which the flow left the lists; `None` while it is in one or throttled.
    detached: Option<u64>,
    /// Earliest time of the next packet, ns.
    time_next_packet: u64,
}

#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List { first: NONE, last: NONE };

/// Lists of flows of a band.
#[derive(Debug, Clone, Copy)]
struct Band {
    new: List,
    old: List,
    /// Bytes that the band may still send in this round.
    credit: i64,
    packets: usize,
}

/// Age of a flow's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    New,
    Old,
}

/// A queue per flow in bands.
#[derive(Debug)]
pub struct Fq<P> {
    config: Config,
    hash: FlowHash,
    arena: Arena<P>,
    /// Packets that arrived while no flow was waiting; they leave first.
    fast: Chain,
    fast_packets: usize,
    /// Places of flows by bucket and key.
    known: BTreeMap<(u64, u64), u32>,
    flows: Vec<Flow>,
    free: Vec<u32>,
    /// Known flows that have no packets.
    inactive: usize,
    /// Throttled flows by the time of their next packet, in the order in which they were throttled.
    throttled: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Number of times a flow was throttled.
    throttles: u64,
    next_throttled: u64,
    bands: [Band; BANDS],
    /// The band being served.
    serving: usize,
    packets: usize,
    bytes: u64,
    /// Whether a shaper above holds a packet that counts as queued.
    held: bool,
}

impl<P: Packet> Fq<P> {
    /// Empty queues; `seed` determines the key of the hash.
    pub fn new(config: Config, seed: u64) -> Self {
        Fq {
            config,
            hash: FlowHash::draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed)),
            arena: Arena::default(),
            fast: Chain::default(),
            fast_packets: 0,
            known: BTreeMap::new(),
            flows: Vec::new(),
            free: Vec::new(),
            inactive: 0,
            throttled: BinaryHeap::new(),
            throttles: 0,
            next_throttled: NEVER,
            bands: [Band { new: EMPTY, old: EMPTY, credit: 0, packets: 0 }; BANDS],
            serving: 0,
            packets: 0,
            bytes: 0,
            held: false,
        }
    }

    fn band_of(&self, packet: &P) -> usize {
        usize::from(self.config.priomap[usize::from(packet.priority() & 15)])
    }

    /// True if an arrival can go first without overtaking a flow that waits (Linux: `fq_fastpath_check`).
    fn is_fast(&self, now: Instant) -> bool {
        if self.packets > 0 || self.held {
            let known = self.flows.len() - self.free.len();
            if known != self.inactive + self.throttled.len()
                || self.fast_packets >= FAST_PATH_LIMIT
                || self.next_throttled <= now.0
            {
                return false;
            }
        }
        self.config.maxrate.is_none()
    }

    /// The flow of a packet, created if need be (Linux: `fq_classify`).
    fn flow_of(&mut self, packet: &P, now: Instant) -> u32 {
        let hash = self.hash.value(packet.flow()) & self.config.orphan_mask;
        // The address of a socket in Linux; its lowest bit distinguishes a hash from one.
        let key = u64::from(hash) << 1 | 1;
        // `hash_ptr`: the golden ratio, multiplicatively.
        let bucket = key.wrapping_mul(0x61c8_8646_80b5_83eb) >> (64 - self.config.buckets_log);
        if let Some(index) = self.known.get(&(bucket, key)) {
            return *index;
        }
        self.forget_idle(bucket, now);
        let flow = Flow {
            chain: Chain::default(),
            packets: 0,
            credit: i64::from(self.config.initial_quantum),
            band: 0,
            next: NONE,
            detached: Some(odd_jiffies(now)),
            time_next_packet: 0,
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.flows[index as usize] = flow;
                index
            }
            None => {
                self.flows.push(flow);
                (self.flows.len() - 1) as u32
            }
        };
        self.known.insert((bucket, key), index);
        self.inactive += 1;
        index
    }

    /// Forgets flows of `bucket` that have been idle for long (Linux: `fq_gc`).
    fn forget_idle(&mut self, bucket: u64, now: Instant) {
        let forgotten = |index: u32| {
            let age = self.flows[index as usize].detached;
            age.is_some_and(|age| jiffies(now) > age + GC_AGE)
        };
        let of_bucket = self.known.range((bucket, 0)..=(bucket, u64::MAX));
        let idle: Vec<(u64, u64)> = of_bucket.filter(|(_, index)| forgotten(**index)).map(|(key, _)| *key).collect();
        for key in idle {
            self.free.extend(self.known.remove(&key));
            self.inactive -= 1;
        }
    }

    /// Appends a flow to a list of its band.
    fn append(&mut self, index: u32, age: Age) {
        let band = &mut self.bands[self.flows[index as usize].band];
        let list = match age {
            Age::New => &mut band.new,
            Age::Old => &mut band.old,
        };
        if list.first == NONE {
            list.first = index;
        } else {
            self.flows[list.last as usize].next = index;
        }
        list.last = index;
        self.flows[index as usize].next = NONE;
    }

    /// Removes the first flow of a list of the band being served.
    fn remove_first(&mut self, age: Age) {
        let band = &mut self.bands[self.serving];
        let list = match age {
            Age::New => &mut band.new,
            Age::Old => &mut band.old,
        };
        list.first = self.flows[list.first as usize].next;
    }

    /// Puts throttled flows whose time has come back into the lists (Linux: `fq_check_throttled`).
    fn release_throttled(&mut self, now: Instant) {
        if self.next_throttled > now.0 {
            return;
        }
        self.next_throttled = NEVER;
        while let Some(Reverse((time, _, index))) = self.throttled.peek().copied() {
            if time > now.0 {
                self.next_throttled = time;
                break;
            }
            self.throttled.pop();
            self.append(index, Age::Old);
        }
    }

    fn throttle(&mut self, index: u32) {
        let time = self.flows[index as usize].time_next_packet;
        self.throttles += 1;
        self.throttled.push(Reverse((time, self.throttles, index)));
        self.next_throttled = self.next_throttled.min(time);
    }

    /// The first flow of the band being served, with its list; gives bands new credit in turn. `None`: no flow may send.
    fn first_flow(&mut self) -> Option<(u32, Age)> {
        let mut tried = 0;
        loop {
            let band = &self.bands[self.serving];
            if band.credit > 0 {
                if band.new.first != NONE {
                    return Some((band.new.first, Age::New));
                }
                if band.old.first != NONE {
                    return Some((band.old.first, Age::Old));
                }
            }
            loop {
                tried += 1;
                if tried > BANDS {
                    return None;
                }
                self.serving = (self.serving + 1) % BANDS;
                let weight = self.config.weights[self.serving];
                let band = &mut self.bands[self.serving];
                band.credit = (band.credit + weight).min(weight);
                if band.credit > 0 {
                    break;
                }
                tried = 0;
            }
        }
    }

    /// Sets the time of the next packet of a flow that has sent one of `bytes` at `now`.
    fn pace(&mut self, index: u32, bytes: u32, now: Instant) {
        if !self.config.pacing {
            return;
        }
        let Some(rate) = self.config.maxrate else {
            return;
        };
        let flow = &mut self.flows[index as usize];
        let bytes = if rate <= self.config.low_rate_threshold {
            flow.credit = 0;
            bytes
        } else if flow.credit > 0 {
            return;
        } else {
            bytes.max(self.config.quantum)
        };
        let mut delay = (u64::from(bytes) * 1_000_000_000 / rate.max(1)).min(LONGEST_DELAY);
        if flow.time_next_packet > 0 {
            let late = now.0.saturating_sub(flow.time_next_packet);
            delay -= late.min(delay / 2);
        }
        flow.time_next_packet = now.0 + delay;
    }

    fn account_departure(&mut self, packet: &P) {
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes());
    }
}

/// Time in jiffies of a millisecond.
fn jiffies(now: Instant) -> u64 {
    now.0 / 1_000_000
}

/// Time in jiffies with the lowest bit set, by which Linux distinguishes it from an address.
fn odd_jiffies(now: Instant) -> u64 {
    jiffies(now) | 1
}

impl<P: Packet + Send> Qdisc<P> for Fq<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        let band = self.band_of(&packet);
        if self.bands[band].packets >= self.config.limit {
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        let bytes = u64::from(packet.bytes());
        if self.is_fast(now) {
            packet.set_arrived(now);
            self.arena.push_back(&mut self.fast, packet);
            self.fast_packets += 1;
        } else {
            let index = self.flow_of(&packet, now);
            let flow = &mut self.flows[index as usize];
            if flow.packets >= self.config.flow_limit {
                signals.dropped(packet, DropReason::Tail);
                return;
            }
            let detached = flow.detached.take();
            if let Some(age) = detached {
                let delay = self.config.refill_delay.0.div_ceil(1_000_000);
                if jiffies(now) > age + delay {
                    flow.credit = flow.credit.max(i64::from(self.config.quantum));
                }
                // The list belongs to the band of the flow's last packet.
                self.append(index, Age::New);
            }
            let flow = &mut self.flows[index as usize];
            flow.band = band;
            self.bands[band].packets += 1;
            if flow.packets == 0 {
                self.inactive -= 1;
            }
            flow.packets += 1;
            packet.set_arrived(now);
            self.arena.push_back(&mut flow.chain, packet);
        }
        self.packets += 1;
        self.bytes += bytes;
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        if self.packets == 0 {
            return Dequeue::Empty;
        }
        if let Some(packet) = self.arena.pop_front(&mut self.fast) {
            self.fast_packets -= 1;
            self.account_departure(&packet);
            return Dequeue::Packet(packet);
        }
        self.release_throttled(now);
        loop {
            let Some((index, age)) = self.first_flow() else {
                return Dequeue::NotBefore(Instant(self.next_throttled));
            };
            let flow = &mut self.flows[index as usize];
            if flow.credit <= 0 {
                flow.credit += i64::from(self.config.quantum);
                self.remove_first(age);
                self.append(index, Age::Old);
                continue;
            }
            let Some(head) = self.arena.front(&flow.chain) else {
                self.remove_first(age);
                match age {
                    // A new flow that has run empty passes through the old ones, so that it cannot starve them.
                    Age::New => self.append(index, Age::Old),
                    Age::Old => self.flows[index as usize].detached = Some(odd_jiffies(now)),
                }
                continue;
            };
            let due = head.arrived().0.max(flow.time_next_packet);
            if now.0 < due {
                flow.time_next_packet = due;
                self.remove_first(age);
                self.throttle(index);
                continue;
            }
            let Some(mut packet) = self.arena.pop_front(&mut flow.chain) else {
                continue;
            };
            flow.packets -= 1;
            if flow.packets == 0 {
                self.inactive += 1;
            }
            flow.credit -= i64::from(packet.bytes());
            self.bands[self.serving].credit -= i64::from(packet.bytes());
            let band = self.band_of(&packet);
            self.bands[band].packets -= 1;
            self.account_departure(&packet);
            let late = Nanos(now.0 - due);
            let marks = self.config.ce_threshold.is_some_and(|limit| late > limit);
            if marks && packet.mark() {
                signals.marked(&packet, MarkReason::CeThreshold);
            }
            self.pace(index, packet.bytes(), now);
            return Dequeue::Packet(packet);
        }
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }

    fn hold(&mut self, bytes: Option<u32>) {
        self.held = bytes.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestPacket, build};

    fn offer(queue: &mut dyn Qdisc<TestPacket>, now: Instant, flow: u64, dscp: u8, packets: u32) {
        let mut drops = Signals::new();
        for number in 0..packets {
            let packet = TestPacket::data(flow, 1514).numbered(number);
            queue.enqueue(now, TestPacket { dscp, ..packet }, &mut drops);
        }
        assert!(drops.is_empty());
    }

    /// Flows of the packets that leave at `now`.
    fn flows(queue: &mut dyn Qdisc<TestPacket>, now: Instant, most: usize) -> Vec<u64> {
        let mut signals = Signals::new();
        std::iter::from_fn(|| queue.dequeue(now, &mut signals).packet()).take(most).map(|packet| packet.flow).collect()
    }

    #[test]
    fn the_first_packets_of_an_idle_link_are_not_told_apart() {
        let mut queue = build("fq");
        offer(&mut *queue, Instant::ZERO, 1, 0, 20);
        offer(&mut *queue, Instant::ZERO, 2, 0, 1);
        // Eight on the fast path, ten of the initial quantum, then the other flow.
        let order = flows(&mut *queue, Instant::ZERO, 30);
        assert_eq!(order.iter().position(|flow| *flow == 2), Some(18));
        assert_eq!(order.len(), 21);
    }

    #[test]
    fn bands_share_by_weight() {
        let mut queue = build("fq flow_limit=1000");
        for (flow, dscp) in [(1, 4), (2, 0), (3, 34)] {
            offer(&mut *queue, Instant::ZERO, flow, dscp, 900);
        }
        flows(&mut *queue, Instant::ZERO, 8);
        let sent = flows(&mut *queue, Instant::ZERO, 800);
        let share = |flow| sent.iter().filter(|sent| **sent == flow).count() as f64 / 800.0;
        let shares = [1, 2, 3].map(share);
        for (share, weight) in shares.into_iter().zip([9.0, 3.0, 1.0]) {
            assert!((share / (weight / 13.0) - 1.0).abs() < 0.3, "{shares:?}");
        }
    }

    #[test]
    fn a_flow_keeps_its_maximum_rate_and_others_pass() {
        for spec in ["fq maxrate=1mbit", "fq maxrate=400kbit"] {
            let mut queue = build(spec);
            let rate = if spec.contains("400") { 4e5 } else { 1e6 };
            offer(&mut *queue, Instant::ZERO, 1, 0, 100);
            let mut signals = Signals::new();
            let mut now = Instant::ZERO;
            let mut first = None;
            let mut sent = 0;
            while !queue.is_empty() {
                match queue.dequeue(now, &mut signals) {
                    Dequeue::Packet(_) => {
                        sent += 1;
                        // After the initial quantum.
                        if sent == 20 {
                            first = Some(now);
                        }
                    }
                    Dequeue::NotBefore(time) => {
                        offer(&mut *queue, now, 2, 0, 1);
                        assert_eq!(flows(&mut *queue, now, 1), [2], "{spec}");
                        now = time;
                    }
                    Dequeue::Empty => break,
                }
            }
            let span = (now - first.unwrap()).as_secs_f64();
            let measured = 80.0 * 1514.0 * 8.0 / span;
            assert!((measured / rate - 1.0).abs() < 0.05, "{spec}: {measured}");
        }
    }

    #[test]
    fn marks_follow_the_sojourn_time() {
        let mut queue = build("fq ce_threshold=5ms");
        let mut signals = Signals::new();
        for _ in 0..12 {
            let packet = TestPacket::data(1, 1514).ecn_capable();
            queue.enqueue(Instant::ZERO, packet, &mut signals);
        }
        while queue.dequeue(Instant::from_millis(6), &mut signals).packet().is_some() {}
        // Linux does not mark on the fast path.
        assert_eq!(signals.marks().len(), 4);
    }

    #[test]
    fn idle_flows_are_forgotten() {
        let mut queue = Fq::<TestPacket>::new(
            Config::from_options("fq buckets=2 orphan_mask=4294967295".parse::<Spec>().unwrap().options()),
            1,
        );
        let mut signals = Signals::new();
        for second in 0..400 {
            let now = Instant::from_secs(second);
            for packet in 0..12 {
                let flow = second * 100 + packet;
                queue.enqueue(now, TestPacket::data(flow, 1514), &mut signals);
            }
            while queue.dequeue(now, &mut signals).packet().is_some() {}
        }
        let known = queue.flows.len() - queue.free.len();
        assert!(known < 400, "{known} of 1600");
        assert_eq!(known, queue.inactive);
    }
}
