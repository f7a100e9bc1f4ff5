//! `dualpi2`: the coupled dual queue of RFC 9332 (L4S) with PI2 (Linux: `net/sched/sch_dualpi2.c`).
//!
//! Packets with ECT(1) or CE go to a low-latency queue, others to a classic queue. One controller calculates a base
//! probability from the longer delay: classic packets are dropped or marked with its square, low-latency packets marked
//! with `coupling_factor` times it, and above a step threshold always. The queues share the link by weighted round robin,
//! in which the low-latency queue has the larger weight.
//!
//! Not implemented: external classifiers and the classes that they select. `split_gso` has no effect, as no packet here
//! stands for several.

use crate::laws::pi2::{self, Controller, MAX_PROB};
use crate::plumbing::linux::{MTU, truesize};
use crate::plumbing::options::{Kind, OptionSpec, Options, Threshold};
use crate::plumbing::packet::{Ecn, Packet};
use crate::plumbing::packet_queue::PacketQueue;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{
    Conformance, Field, KernelQdisc, Order, Preset, Scheme, Statistics, TcSyntax, TimeAttribute,
};
use crate::plumbing::spec::Spec;
use gentle_units::{Instant, Nanos};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// Longest time that `tc` passes to the kernel: microseconds in 32 bits.
const LONGEST: Nanos = Nanos::from_micros(u32::MAX as u64);
/// Longest time that the kernel stores in nanoseconds in 32 bits.
const LONGEST_STORED: Nanos = Nanos::from_micros(u32::MAX as u64 / 1000);
/// Largest weight in hertz: 31 bits of 1/256 Hz.
const MAX_WEIGHT: f64 = 8_388_607.0;

/// The coupled dual queue with PI2.
pub static SCHEME: Scheme = Scheme {
    name: "dualpi2",
    summary: "a low-latency queue for L4S traffic, marked early, and a queue for all other traffic",
    source: "RFC 9332, Linux sch_dualpi2.c",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Count(1, u32::MAX as u64),
            default: Some("10000"),
            help: "packets both queues hold together",
        },
        OptionSpec {
            name: "memlimit",
            kind: Kind::Size(1, u32::MAX as u64),
            default: None,
            help: "memory of all packets together, overhead included; default: two full frames for each packet of \
                   limit",
        },
        OptionSpec {
            name: "coupling_factor",
            kind: Kind::Count(1, 255),
            default: Some("2"),
            help: "probability of a mark in the low-latency queue as a multiple of the base probability (RFC 9332, section 2.1: k)",
        },
        OptionSpec {
            name: "step_thresh",
            kind: Kind::Threshold,
            default: Some("1ms"),
            help: "sojourn time, or packets in the low-latency queue, above which each of its packets is marked; no size in bytes",
        },
        OptionSpec {
            name: "min_qlen_step",
            kind: Kind::Count(0, u32::MAX as u64),
            default: Some("0"),
            help: "packets in the low-latency queue below which the step threshold does not apply to an arrival",
        },
        OptionSpec {
            name: DROP_ON_OVERLOAD,
            kind: Kind::Flag,
            default: Some("on"),
            help: "drop ECN-capable packets, too, while the low-latency queue would be marked with probability 1; off (overflow): only when the limit is reached",
        },
        OptionSpec {
            name: DROP_ENQUEUE,
            kind: Kind::Flag,
            default: Some("off"),
            help: "decide about drops and marks on arrival; off (drop_dequeue): on departure",
        },
        OptionSpec {
            name: ANY_ECT,
            kind: Kind::Flag,
            default: Some("off"),
            help: "send packets with ECT(0) to the low-latency queue, too; off (l4s_ect): only ECT(1) and CE",
        },
        OptionSpec {
            name: "classic_protection",
            kind: Kind::Count(0, 100),
            default: Some("10"),
            help: "percentage of the link for the classic queue while both queues have packets",
        },
        OptionSpec {
            name: "target",
            kind: Kind::Time(Nanos::from_micros(1), LONGEST),
            default: Some("15ms"),
            help: "target delay of the controller",
        },
        OptionSpec {
            name: TUPDATE,
            kind: Kind::Time(Nanos::from_micros(1), LONGEST_STORED),
            default: Some("16ms"),
            help: "period of the calculation of the probability",
        },
        OptionSpec {
            name: "alpha",
            kind: Kind::Real(1.0 / pi2::WEIGHT_SCALE, MAX_WEIGHT),
            default: Some("0.16015625"),
            help: "weight of the delay's distance from target, Hz; in steps of 1/256",
        },
        OptionSpec {
            name: "beta",
            kind: Kind::Real(1.0 / pi2::WEIGHT_SCALE, MAX_WEIGHT),
            default: Some("3.19921875"),
            help: "weight of the delay's change, Hz; in steps of 1/256",
        },
        OptionSpec {
            name: SPLIT_GSO,
            kind: Kind::Flag,
            default: Some("on"),
            help: "split aggregated packets (GSO) on arrival; without effect in the simulator, which has none",
        },
    ],
    check,
    presets: &[
        Preset { name: "overflow", options: "drop_on_overload=off" },
        Preset { name: "drop_dequeue", options: "drop_enqueue=off" },
        Preset { name: "l4s_ect", options: "any_ect=off" },
        Preset { name: "no_split_gso", options: "split_gso=off" },
    ],
    drops: &[DropReason::Aqm, DropReason::Tail, DropReason::Early],
    marks: &[MarkReason::Aqm, MarkReason::Early, MarkReason::CeThreshold],
    // A flow whose packets differ in their ECN codepoint is in both queues.
    order: |_| Order { fifo: false, ..Order::FIFO },
    linux: Some(TcSyntax {
        negations: &[
            (DROP_ON_OVERLOAD, "overflow"),
            (DROP_ENQUEUE, "drop_dequeue"),
            (ANY_ECT, "l4s_ect"),
            (SPLIT_GSO, "no_split_gso"),
        ],
        ..TcSyntax::plain(&QDISC)
    }),
    conformance: Conformance { high_resolution_timer: Some(TUPDATE), ..Conformance::EXACT },
    samples: &[
        "limit=20 target=1ms tupdate=2ms step_thresh=5p min_qlen_step=2",
        "overflow drop_enqueue any_ect classic_protection=50 coupling_factor=4",
        "memlimit=40kb classic_protection=0 alpha=10 beta=100",
    ],
    ..Scheme::PLAIN
};

const DROP_ON_OVERLOAD: &str = "drop_on_overload";
const DROP_ENQUEUE: &str = "drop_enqueue";
const ANY_ECT: &str = "any_ect";
const SPLIT_GSO: &str = "split_gso";
const TUPDATE: &str = "tupdate";

/// Statistics: `struct tc_dualpi2_xstats`. Time: `TCA_DUALPI2_TARGET`.
static QDISC: KernelQdisc = KernelQdisc {
    needs: Some("Linux 6.17 and the tc of iproute2 6.17, or later"),
    statistics: Statistics::Struct(&[
        // Base probability as a fraction of 2^32.
        Field::U32("prob"),
        Field::U32("delay_c_us"),
        Field::U32("delay_l_us"),
        Field::U32("packets_in_c"),
        Field::U32("packets_in_l"),
        Field::U32("maxq"),
        Field::U32("ecn_mark"),
        Field::U32("step_marks"),
        // Credit of the round robin, signed.
        Field::Skip(4),
        Field::U32("memory_used_bytes"),
        Field::U32("max_memory_used_bytes"),
        Field::U32("memory_limit_bytes"),
    ]),
    marks: &["/ecn-mark"],
    target: Some(TimeAttribute::Micros(3)),
    ..KernelQdisc::of_linux("dualpi2")
};

fn check(options: &Options) -> Result<(), String> {
    match options.threshold("step_thresh") {
        Threshold::Bytes(_) => Err("step_thresh is a size; expected a time (1ms) or packets (5p)".to_owned()),
        Threshold::Delay(_) | Threshold::Packets(_) => Ok(()),
    }
}

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(DualPi2::new(Config::from_options(spec.options()), seed))
}

/// DualPI2's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Maximum number of packets in both queues.
    pub limit: usize,
    /// Maximum memory of the packets in both queues, bytes.
    pub memory_limit: u64,
    /// Marking probability of the low-latency queue as a multiple of the base probability, at least one.
    pub coupling_factor: u8,
    /// Sojourn time or packets above which packets of the low-latency queue are marked.
    pub step: Step,
    /// Packets in the low-latency queue below which the step does not apply to an arrival.
    pub min_qlen_step: usize,
    /// Drop ECN-capable packets while the low-latency queue would be marked with probability 1.
    pub drop_on_overload: bool,
    /// Decide about drops and marks on arrival instead of on departure.
    pub drop_enqueue: bool,
    /// Send packets with ECT(0) to the low-latency queue.
    pub any_ect: bool,
    /// Percentage of the link for the classic queue while both queues have packets, 0 to 100.
    pub classic_protection: u8,
    /// Target delay.
    pub target: Nanos,
    /// Period of the calculation of the probability, not zero.
    pub tupdate: Nanos,
    /// Weight of the delay's distance from `target`, in 1/256 Hz.
    pub alpha: u32,
    /// Weight of the delay's change, in 1/256 Hz.
    pub beta: u32,
}

/// Step threshold of the low-latency queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Sojourn time.
    Delay(Nanos),
    /// Packets in the queue when one leaves.
    Packets(usize),
}

impl Config {
    fn from_options(options: &Options) -> Config {
        let limit = options.count("limit");
        let of_limit = (limit * 2 * u64::from(MTU)).min(u64::from(u32::MAX));
        // As tc converts them: in 32 bits, rounded down.
        let weight = |name| (options.real(name) as f32 * pi2::WEIGHT_SCALE as f32) as u32;
        Config {
            limit: limit as usize,
            memory_limit: options.given_size("memlimit").unwrap_or(of_limit),
            coupling_factor: options.count("coupling_factor") as u8,
            step: match options.threshold("step_thresh") {
                Threshold::Packets(packets) => Step::Packets(packets as usize),
                // Linux stores at most 32 bits of nanoseconds. `check` refuses bytes.
                Threshold::Delay(Nanos(ns)) | Threshold::Bytes(ns) => Step::Delay(Nanos(ns.min(u64::from(u32::MAX)))),
            },
            min_qlen_step: options.count("min_qlen_step") as usize,
            drop_on_overload: options.flag(DROP_ON_OVERLOAD),
            drop_enqueue: options.flag(DROP_ENQUEUE),
            any_ect: options.flag(ANY_ECT),
            classic_protection: options.count("classic_protection") as u8,
            target: options.time("target"),
            tupdate: options.time(TUPDATE),
            alpha: weight("alpha"),
            beta: weight("beta"),
        }
    }

    /// Credit of the round robin while both queues are empty. Its sign says which queue goes first, the classic one if
    /// positive.
    fn initial_credit(&self) -> i32 {
        let classic = i32::from(self.classic_protection);
        MTU.cast_signed() * (classic - (100 - classic))
    }
}

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Classic,
    LowLatency,
}

/// Decision about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// The coupled dual queue with PI2.
#[derive(Debug)]
pub struct DualPi2<P> {
    config: Config,
    params: pi2::Params,
    law: Controller,
    classic: PacketQueue<P>,
    low_latency: PacketQueue<P>,
    /// For each packet of the low-latency queue, whether the step threshold applies to it.
    stepped: VecDeque<bool>,
    memory: u64,
    /// Bytes by which the classic queue, if positive, has sent less than its share.
    credit: i32,
    rng: Xoshiro256PlusPlus,
    /// Length in bytes of a packet that a shaper above holds and that counts as queued.
    held: Option<u32>,
}

impl<P: Packet> DualPi2<P> {
    /// Empty queues; `seed` determines the random drops and marks.
    pub fn new(config: Config, seed: u64) -> Self {
        let most = match config.drop_on_overload {
            true => MAX_PROB,
            false => MAX_PROB / u32::from(config.coupling_factor),
        };
        let params = pi2::Params::new(config.target, config.tupdate, config.alpha, config.beta, most);
        DualPi2 {
            config,
            params,
            law: Controller::new(&params),
            classic: PacketQueue::default(),
            low_latency: PacketQueue::default(),
            stepped: VecDeque::new(),
            memory: 0,
            credit: config.initial_credit(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            held: None,
        }
    }

    fn packets(&self) -> usize {
        self.classic.len() + self.low_latency.len()
    }

    /// Performs the calculations that were due since the last call.
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        let heads = [self.classic.front(), self.low_latency.front()];
        let oldest = heads.into_iter().flatten().map(P::arrived).min();
        self.law.catch_up(&self.params, now, oldest);
    }

    /// True with probability `prob` (Linux: `dualpi2_roll`).
    fn roll(&mut self, prob: u32) -> bool {
        (self.rng.next_u64() >> 32) as u32 <= prob
    }

    /// Decides about a packet by the base probability (Linux: `must_drop`). `backlog` is the number of other bytes
    /// queued.
    fn decide(&mut self, side: Side, packet: &P, backlog: u64) -> Verdict {
        if backlog < 2 * u64::from(MTU) {
            return Verdict::Pass;
        }
        let prob = self.law.probability();
        let coupled = u64::from(prob) * u64::from(self.config.coupling_factor);
        let coupled = u32::try_from(coupled);
        let capable = packet.ecn() != Ecn::NotEct;
        match (side, coupled) {
            (Side::Classic, coupled) => match self.roll(prob) && self.roll(prob) {
                false => Verdict::Pass,
                true if capable && coupled.is_ok() => Verdict::Mark,
                true => Verdict::Drop,
            },
            (Side::LowLatency, Ok(coupled)) => match self.roll(coupled) {
                true => Verdict::Mark,
                false => Verdict::Pass,
            },
            // Overload.
            (Side::LowLatency, Err(_)) => match self.config.drop_on_overload && self.roll(prob) && self.roll(prob) {
                true => Verdict::Drop,
                false => Verdict::Mark,
            },
        }
    }

    /// True if a packet that leaves the low-latency queue at `now` is beyond the step threshold.
    fn beyond_step(&self, now: Instant, packet: &P) -> bool {
        match self.config.step {
            Step::Packets(packets) => self.low_latency.len() > packets,
            Step::Delay(delay) => now.saturating_since(packet.arrived()) > delay,
        }
    }

    /// Removes the next packet, with the change of the credit if it is sent, and whether the step threshold applies to
    /// it (Linux: `dequeue_packet`).
    fn take(&mut self) -> Option<Taken<P>> {
        let bytes = |packet: &P| packet.bytes().cast_signed();
        let classic_waits = !self.classic.is_empty();
        let low_latency_first = !classic_waits || self.credit <= 0;
        let protection = i32::from(self.config.classic_protection);
        let taken = if low_latency_first && let Some(packet) = self.low_latency.pop_front() {
            let weight = if classic_waits { protection } else { 0 };
            Taken {
                side: Side::LowLatency,
                stepped: self.stepped.pop_front().unwrap_or_default(),
                credit: weight.wrapping_mul(bytes(&packet)),
                packet,
            }
        } else {
            let packet = self.classic.pop_front()?;
            let waits = !self.low_latency.is_empty();
            let weight = if waits { protection - 100 } else { 0 };
            Taken { side: Side::Classic, stepped: false, credit: weight.wrapping_mul(bytes(&packet)), packet }
        };
        self.memory -= truesize(taken.packet.bytes());
        Some(taken)
    }
}

/// A packet that was removed from its queue.
struct Taken<P> {
    side: Side,
    packet: P,
    stepped: bool,
    credit: i32,
}

impl<P: Packet + Send> Qdisc<P> for DualPi2<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        self.catch_up(now);
        let memory = truesize(packet.bytes());
        if self.packets() + usize::from(self.held.is_some()) >= self.config.limit
            || self.memory + memory > self.config.memory_limit
        {
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        let side = match packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => Side::LowLatency,
            Ecn::Ect0 if self.config.any_ect => Side::LowLatency,
            Ecn::Ect0 | Ecn::NotEct => Side::Classic,
        };
        if self.config.drop_enqueue {
            let backlog = self.backlog() + u64::from(self.held.unwrap_or(0));
            match self.decide(side, &packet, backlog) {
                Verdict::Pass => {}
                Verdict::Mark => mark(&mut packet, MarkReason::Early, signals),
                Verdict::Drop => {
                    signals.dropped(packet, DropReason::Early);
                    return;
                }
            }
        }
        packet.set_arrived(now);
        self.memory += memory;
        match side {
            Side::Classic => self.classic.push_back(packet),
            Side::LowLatency => {
                let stepped = self.low_latency.len() >= self.config.min_qlen_step;
                self.stepped.push_back(stepped);
                self.low_latency.push_back(packet);
            }
        }
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        self.catch_up(now);
        while let Some(mut taken) = self.take() {
            if !self.config.drop_enqueue {
                match self.decide(taken.side, &taken.packet, self.backlog()) {
                    Verdict::Pass => {}
                    Verdict::Mark => mark(&mut taken.packet, MarkReason::Aqm, signals),
                    Verdict::Drop => {
                        signals.dropped(taken.packet, DropReason::Aqm);
                        continue;
                    }
                }
            }
            if taken.stepped && self.beyond_step(now, &taken.packet) {
                mark(&mut taken.packet, MarkReason::CeThreshold, signals);
            }
            self.credit = self.credit.wrapping_add(taken.credit);
            return Dequeue::Packet(taken.packet);
        }
        self.credit = self.config.initial_credit();
        Dequeue::Empty
    }

    fn len(&self) -> usize {
        self.packets()
    }

    fn backlog(&self) -> u64 {
        self.classic.bytes() + self.low_latency.bytes()
    }

    fn mark_departed(&mut self, packet: &mut P, signals: &mut Signals<P>) -> bool {
        let marked = packet.mark();
        if marked {
            signals.marked(packet, MarkReason::Aqm);
        }
        marked
    }

    fn hold(&mut self, bytes: Option<u32>) {
        self.held = bytes;
    }
}

/// Marks an ECN-capable packet. A packet that is marked for a second reason is reported twice, as Linux counts it.
fn mark<P: Packet>(packet: &mut P, reason: MarkReason, signals: &mut Signals<P>) {
    if packet.mark() {
        signals.marked(packet, reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestPacket, build};

    fn packet(ecn: Ecn, id: u32) -> TestPacket {
        TestPacket { ecn, ..TestPacket::data(1, 1514).numbered(id) }
    }

    fn offer(queue: &mut dyn Qdisc<TestPacket>, now: Instant, packets: &[(Ecn, u32)]) {
        let mut signals = Signals::new();
        for (ecn, id) in packets {
            queue.enqueue(now, packet(*ecn, *id), &mut signals);
        }
        assert!(signals.is_silent());
    }

    fn sent(queue: &mut dyn Qdisc<TestPacket>, now: Instant) -> Vec<TestPacket> {
        let mut signals = Signals::new();
        std::iter::from_fn(|| queue.dequeue(now, &mut signals).packet()).collect()
    }

    #[test]
    fn l4s_goes_first_until_the_classic_queue_has_waited_for_its_share() {
        let mut queue = build("dualpi2 step_thresh=10s");
        let low: Vec<_> = (0..100).map(|id| (Ecn::Ect1, id)).collect();
        let classic: Vec<_> = (100..200).map(|id| (Ecn::Ect0, id)).collect();
        offer(&mut *queue, Instant::ZERO, &classic);
        offer(&mut *queue, Instant::ZERO, &low);
        let order = sent(&mut *queue, Instant::ZERO);
        assert_eq!(order.len(), 200);
        // 80 frames of credit at a weight of 10 are nine frames of the other queue; then one frame in ten is classic.
        let first = order.iter().position(|packet| packet.id >= 100);
        assert_eq!(first, Some(9));
        let classic = order[9..109].iter().filter(|packet| packet.id >= 100);
        assert_eq!(classic.count(), 10);
    }

    #[test]
    fn the_step_marks_what_has_waited_in_the_low_latency_queue() {
        for (spec, marked) in [
            ("dualpi2", 3),
            ("dualpi2 step_thresh=1p", 1),
            ("dualpi2 min_qlen_step=2", 1),
            ("dualpi2 step_thresh=20ms", 0),
        ] {
            let mut queue = build(spec);
            let packets = [(Ecn::Ect1, 0), (Ecn::Ect1, 1), (Ecn::Ect1, 2)];
            offer(&mut *queue, Instant::ZERO, &packets);
            offer(&mut *queue, Instant::ZERO, &[(Ecn::Ect0, 3)]);
            let order = sent(&mut *queue, Instant::from_millis(2));
            let marks = order.iter().filter(|packet| packet.ecn == Ecn::Ce);
            assert_eq!((order.len(), marks.count()), (4, marked), "{spec}");
        }
    }

    /// Shares of marked, low-latency packets and of dropped, classic packets under a standing queue.
    fn shares(spec: &str, seconds: u64) -> (f64, f64) {
        let mut queue = build(spec);
        let mut signals = Signals::new();
        let (mut low, mut marked, mut classic, mut dropped) = (0, 0, 0, 0);
        for ms in 0..seconds * 1000 {
            let now = Instant::from_millis(ms);
            for (ecn, flow) in [(Ecn::Ect1, 1), (Ecn::NotEct, 2)] {
                queue.enqueue(now, TestPacket { flow, ..packet(ecn, 0) }, &mut signals);
            }
            // The link is a little too slow.
            for _ in 0..2 - u64::from(ms % 50 == 0) {
                match queue.dequeue(now, &mut signals).packet() {
                    Some(packet) if packet.flow == 1 => {
                        low += 1;
                        marked += u32::from(packet.ecn == Ecn::Ce);
                    }
                    Some(_) => classic += 1,
                    None => {}
                }
            }
            dropped += signals.drain().count();
            signals.drain_marks().for_each(drop);
        }
        let share = |part: f64, all: u32| part / f64::from(all);
        (share(f64::from(marked), low), share(dropped as f64, classic + dropped as u32))
    }

    #[test]
    fn the_queues_are_coupled_by_the_square() {
        // The queue empties at last; until then classic drops are the square of half the low-latency marks.
        let (marks, drops) = shares("dualpi2 step_thresh=10s", 60);
        assert!(marks > 0.05, "{marks}");
        let expected = (marks / 2.0) * (marks / 2.0);
        assert!(libm::log(drops / expected).abs() < 0.5, "{marks} and {drops}");
    }

    #[test]
    fn a_threshold_in_bytes_is_refused() {
        let error = "dualpi2 step_thresh=15kb".parse::<Spec>().unwrap_err();
        assert!(error.to_string().contains("expected a time"), "{error}");
    }

    #[test]
    fn the_words_of_tc_are_understood() {
        let spec: Spec = "dualpi2 overflow drop_enqueue l4s_ect no_split_gso".parse().unwrap();
        assert_eq!(spec.to_string(), "dualpi2 drop_on_overload=off drop_enqueue=on any_ect=off split_gso=off");
    }
}
