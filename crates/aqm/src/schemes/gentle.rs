//! `gentle`: FQ-CoDel in which young flows go first. `docs/concepts/gentle.md` explains the design and what it was compared with.
//!
//! * A queue for each flow under CoDel, as in FQ-CoDel, in a table that keeps flows apart (`laws/flow_places.rs`).
//! * **Age** is what a flow has sent beyond its fair share (`laws/flow_ages.rs`).
//! * **Young** are flows of up to 12 kB where some end there, and further ones where the sizes that the queue sees say that age
//!   predicts the end (`laws/flow_sizes.rs`).
//! * **Service**: the young first, for a bounded share of the link; the others by deficit round robin
//!   (`laws/young_first.rs`).
//! * **Drops**: by CoDel, but not of a young flow's last two packets; beyond the limit, from the flow with most bytes.
//! * In a **crowd**, from 64 flows that wait, all of this is FQ-CoDel.

use crate::laws::codel::{self as codel_law, Config as CodelConfig};
use crate::laws::flow_ages::{FlowAges, level};
use crate::laws::flow_places::FlowPlaces;
use crate::laws::flow_queues::{FLOWS, LIMIT};
use crate::laws::flow_sizes::{FlowSizes, Size};
use crate::laws::host_turns::{self, HostTurns};
use crate::laws::young_first::{Turn, YoungFirst};
use crate::plumbing::arena::{Arena, Chain};
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::linux::truesize;
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{
    Conformance, Hashing, KernelQdisc, Scheme, Statistics, StockParts, TcSyntax, TimeAttribute,
};
use crate::plumbing::spec::Spec;
use gentle_units::Instant;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;

/// FQ-CoDel with young flows first.
pub static SCHEME: Scheme = Scheme {
    name: "gentle",
    summary: "FQ-CoDel in which flows that have sent little go first, for a bounded share of the link",
    source: "docs/concepts/gentle.md; RFC 8290; two-level processor sharing: Aalto and Ayesta 2006",
    options: &[
        OptionSpec {
            help: "packets in all queues together; beyond it packets of the fattest queue are dropped",
            ..LIMIT
        },
        OptionSpec { kind: Kind::Count(8, 32_768), help: "places for flows, in sets of eight", ..FLOWS },
        codel_law::TARGET,
        OptionSpec {
            help: "time above target before the first drop: about a worst-case RTT; also the service that young flows \
                   may take at once from waiting flows",
            ..codel_law::INTERVAL
        },
        OptionSpec {
            name: "memory_limit",
            kind: Kind::Size(0, 1 << 31),
            default: Some("32mb"),
            help: "memory of all packets together, overhead included; beyond it packets of the fattest queue are dropped",
        },
        host_turns::OPTION,
        OptionSpec {
            name: "ecn",
            kind: Kind::Flag,
            default: Some("on"),
            help: "mark ECN-capable packets instead of dropping them",
        },
    ],
    drops: &[DropReason::Aqm, DropReason::Overlimit],
    // A packet that has waited for 37 minutes exceeds even the threshold that is off, as in Linux.
    marks: &[MarkReason::Aqm, MarkReason::CeThreshold],
    linux: Some(TcSyntax {
        stock: Some(StockParts::Near { spec: "fq_codel", lacks: "the privilege of young flows" }),
        negations: &[("ecn", "noecn")],
        ..TcSyntax::plain(&QDISC)
    }),
    conformance: Conformance { hash: Hashing::Whole, ..Conformance::EXACT },
    samples: &[
        "limit=10 flows=8 target=1ms interval=10ms",
        "memory_limit=20kb noecn",
        "hosts=src",
        "hosts=dst limit=20 memory_limit=20kb flows=16",
    ],
    ..Scheme::PLAIN
};

/// Statistics: `TCA_GENTLE_XSTATS_*` (`kernel/include/uapi/pkt_sch_gentle.h`).
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Whole(&[
        (2, "drop_overlimit"),
        (3, "ecn_mark"),
        (4, "flows_len"),
        (5, "young_levels"),
        (6, "memory_usage_bytes"),
        (7, "debt_us"),
    ]),
    drops: &[("/drop_overlimit", DropReason::Overlimit)],
    marks: &["/ecn_mark"],
    target: Some(TimeAttribute::Micros(3)),
    ..KernelQdisc::of_gentle("gentle")
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let hash = FlowHash::draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    let turns = HostTurns::new(options, hash);
    let places = FlowPlaces::new(options.count("flows") as u32, turns.is_some(), hash);
    let hosts = if turns.is_some() { host_turns::HOSTS } else { 1 };
    let flows = places.len();
    let params: codel_law::Params = CodelConfig {
        target: options.time(codel_law::TARGET.name),
        interval: options.time(codel_law::INTERVAL.name),
        ce_threshold: None,
        ecn: options.flag("ecn"),
    }
    .into();
    let host = || Host { order: YoungFirst::new(params.interval()), bytes: 0 };
    Box::new(Gentle {
        limit: options.count("limit") as usize,
        memory_limit: options.size("memory_limit"),
        places,
        ages: FlowAges::new(flows),
        sizes: FlowSizes::default(),
        flows: (0..flows).map(|_| Flow::default()).collect(),
        turns: vec![Turn::default(); flows].into_boxed_slice(),
        hosts: (0..hosts).map(|_| host()).collect(),
        host_turns: turns,
        params,
        sent_at: 0,
        sender: 0,
        arena: Arena::default(),
        packets: 0,
        bytes: 0,
        memory: 0,
        held: None,
    })
}

/// Packets behind the one that is sent up to which CoDel drops none of a young flow.
const SPARED: u32 = 1;

/// Maximum number of packets dropped from the fattest queue at once.
const DROP_BATCH: u32 = 64;

/// Packets of one flow, and the state of their control law.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    chain: Chain,
    law: codel_law::Codel,
    bytes: u64,
    packets: u32,
    size: Size,
}

/// Flows and bytes of one host, or of all hosts together.
#[derive(Debug)]
struct Host {
    order: YoungFirst,
    bytes: u64,
}

/// A queue for each flow, the young first.
#[derive(Debug)]
struct Gentle<P> {
    limit: usize,
    memory_limit: u64,
    params: codel_law::Params,
    places: FlowPlaces,
    ages: FlowAges,
    sizes: FlowSizes,
    flows: Box<[Flow]>,
    turns: Box<[Turn]>,
    /// One without the option `hosts`.
    hosts: Box<[Host]>,
    host_turns: Option<HostTurns>,
    /// When the last packet was sent, in CoDel's time, and the host that sent it.
    sent_at: u32,
    sender: usize,
    arena: Arena<P>,
    packets: usize,
    bytes: u64,
    memory: u64,
    /// Length in bytes of a packet that a shaper above holds and that counts as queued.
    held: Option<u32>,
}

/// One flow's queue, for CoDel.
struct FlowQueue<'a, P> {
    arena: &'a mut Arena<P>,
    flow: &'a mut Flow,
    host_bytes: &'a mut u64,
    packets: &'a mut usize,
    bytes: &'a mut u64,
    memory: &'a mut u64,
    /// Whether the flow is young: its last packets are no standing queue, however long they wait for other flows.
    young: bool,
}

impl<P: Packet> FlowQueue<'_, P> {
    #[inline]
    fn pop(&mut self) -> Option<P> {
        let packet = self.arena.pop_front(&mut self.flow.chain)?;
        let bytes = u64::from(packet.bytes());
        self.flow.packets -= 1;
        self.flow.bytes -= bytes;
        *self.host_bytes -= bytes;
        *self.packets -= 1;
        *self.bytes -= bytes;
        *self.memory -= truesize(packet.bytes());
        Some(packet)
    }
}

impl<P: Packet> codel_law::Source<P> for FlowQueue<'_, P> {
    #[inline]
    fn pop(&mut self) -> Option<P> {
        FlowQueue::pop(self)
    }

    #[inline]
    fn backlog(&self) -> u64 {
        if self.young && self.flow.packets <= SPARED { 0 } else { *self.bytes }
    }
}

impl<P: Packet> Gentle<P> {
    /// The queue of a flow, apart from the state of its control law.
    #[inline]
    fn queue(&mut self, index: usize, young: bool) -> FlowQueue<'_, P> {
        let host = usize::from(self.turns[index].host);
        FlowQueue {
            arena: &mut self.arena,
            flow: &mut self.flows[index],
            host_bytes: &mut self.hosts[host].bytes,
            packets: &mut self.packets,
            bytes: &mut self.bytes,
            memory: &mut self.memory,
            young,
        }
    }

    /// The place of a packet of `host`. A flow that has just got it is new.
    #[inline]
    fn place(&mut self, packet: &P, host: usize) -> usize {
        let (flows, turns, ages) = (&self.flows, &self.turns, &self.ages);
        let idle = |index: usize| {
            let idle = flows[index].chain.is_empty() && !turns[index].is_listed();
            idle.then(|| ages.of_idle(index))
        };
        let crowd = self.hosts[host].order.is_crowd();
        let of_host = |index: usize| usize::from(turns[index].host) == host;
        let place = self.places.place(packet.flow(), crowd, idle, of_host);
        if place.new {
            self.ages.forget(place.index);
            self.flows[place.index].size = Size::default();
        }
        place.index
    }

    /// No packet of the flow waits any more.
    #[inline]
    fn emptied(&mut self, index: usize) {
        self.ages.stop_waiting(index);
        self.places.emptied(index);
    }

    /// The flow with most bytes, of the host with most bytes, if any packet waits.
    fn fattest(&self) -> Option<usize> {
        let host = first_of_most(self.hosts.iter().map(|host| host.bytes))?;
        first_of_most(self.flows.iter().zip(&self.turns).map(|(flow, turn)| {
            let of_host = usize::from(turn.host) == host;
            if of_host { flow.bytes } else { 0 }
        }))
    }

    /// Drops half of the fattest queue, or a batch, from its head, and counts the drops in its CoDel (Linux:
    /// `fq_codel_drop`).
    #[cold]
    fn drop_from_fattest(&mut self, signals: &mut Signals<P>) {
        let Some(fattest) = self.fattest() else {
            return;
        };
        let half = self.flows[fattest].bytes / 2;
        let (mut dropped, mut bytes) = (0, 0);
        while let Some(packet) = self.queue(fattest, false).pop() {
            dropped += 1;
            bytes += u64::from(packet.bytes());
            signals.dropped(packet, DropReason::Overlimit);
            if dropped >= DROP_BATCH || bytes >= half {
                break;
            }
        }
        self.flows[fattest].law.count_overlimit_drops(dropped);
        if self.flows[fattest].chain.is_empty() {
            self.emptied(fattest);
        }
    }

    /// The host whose turn it is.
    fn turn(&mut self) -> Option<usize> {
        match &mut self.host_turns {
            None => Some(0),
            Some(turns) => turns.current(|host| self.hosts[host].order.len() != 0),
        }
    }
}

/// Index of the greatest number above zero, the first of equals.
fn first_of_most(numbers: impl Iterator<Item = u64>) -> Option<usize> {
    let above_zero = numbers.enumerate().filter(|(_, number)| *number > 0);
    let (index, _) = above_zero.max_by_key(|(index, number)| (*number, Reverse(*index)))?;
    Some(index)
}

impl<P: Packet + Send> Qdisc<P> for Gentle<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        let host = (self.host_turns.as_mut()).map_or(0, |turns| turns.find(&packet));
        let index = self.place(&packet, host);
        let turn = &mut self.turns[index];
        let listed = turn.is_listed();
        // Packets that share a place share its host while any of them waits.
        if !listed {
            turn.host = host as u8;
            if let Some(turns) = &mut self.host_turns {
                turns.activate(host);
            }
        }
        let host = &mut self.hosts[usize::from(turn.host)];
        let bytes = packet.bytes();
        packet.set_arrived(now);
        let flow = &mut self.flows[index];
        if flow.chain.is_empty() {
            self.ages.begin_to_wait(index);
            if !listed {
                let age = self.ages.of_waiting(index);
                (host.order).activate(&mut self.turns, index, age, self.sizes.young_levels());
            }
        }
        self.arena.push_back(&mut flow.chain, packet);
        flow.bytes += u64::from(bytes);
        flow.packets += 1;
        host.bytes += u64::from(bytes);
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.memory += truesize(bytes);
        let packets = self.packets + usize::from(self.held.is_some());
        if packets > self.limit || self.memory > self.memory_limit {
            self.drop_from_fattest(signals);
        }
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        while let Some(host) = self.turn() {
            let levels = self.sizes.young_levels();
            let order = &mut self.hosts[host].order;
            let crowd = order.is_crowd();
            let has_packets = |index: usize| !self.flows[index].chain.is_empty();
            let Some(index) = order.current(&mut self.turns, &self.ages, levels, has_packets) else {
                return Dequeue::Empty;
            };
            let waited = !self.flows[index].chain.is_empty();
            let young = !crowd && level(self.ages.of_waiting(index)) <= levels;
            let mut law = self.flows[index].law;
            let params = self.params;
            let sent = law.dequeue(now, &params, &mut self.queue(index, young), signals);
            self.flows[index].law = law;
            if let Some(packet) = &sent {
                let bytes = packet.bytes();
                self.ages.sent(index, bytes, self.hosts[host].order.len());
                self.sizes.sent(&mut self.flows[index].size, bytes);
                let time = codel_law::codel_time(now.since_origin());
                let passed = time.wrapping_sub(self.sent_at);
                self.hosts[self.sender].order.pass(passed);
                (self.sent_at, self.sender) = (time, host);
                let order = &mut self.hosts[host].order;
                order.sent(&mut self.turns, index, bytes, levels);
                if let Some(turns) = &mut self.host_turns {
                    turns.sent(host, bytes);
                }
            }
            if waited && self.flows[index].chain.is_empty() {
                self.emptied(index);
            }
            match sent {
                Some(packet) => return Dequeue::Packet(packet),
                None => {
                    let order = &mut self.hosts[host].order;
                    order.deactivate(&mut self.turns, index);
                }
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
        self.params.mark_departed(packet, signals)
    }

    fn hold(&mut self, bytes: Option<u32>) {
        self.held = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plumbing::packet::Ecn;
    use crate::testing::{TestPacket, build};
    use std::collections::HashMap;

    fn ms(n: u64) -> Instant {
        Instant::from_millis(n)
    }

    /// Sends over a link of a frame a millisecond: in each, `arrivals` offers packets, and one packet leaves.
    fn run(
        queue: &mut dyn Qdisc<TestPacket>,
        times: std::ops::Range<u64>,
        mut arrivals: impl FnMut(u64) -> Vec<TestPacket>,
    ) -> (Vec<TestPacket>, Vec<(TestPacket, DropReason)>, usize) {
        let (mut sent, mut dropped, mut marked) = (Vec::new(), Vec::new(), 0);
        let mut signals = Signals::new();
        for t in times {
            for packet in arrivals(t) {
                queue.enqueue(ms(t), packet, &mut signals);
            }
            sent.extend(queue.dequeue(ms(t), &mut signals).packet());
            dropped.extend(signals.drain());
            marked += signals.drain_marks().count();
        }
        (sent, dropped, marked)
    }

    /// Packets by flow.
    fn by_flow(sent: &[TestPacket]) -> HashMap<u64, u32> {
        let mut found = HashMap::new();
        for packet in sent {
            *found.entry(packet.flow).or_default() += 1;
        }
        found
    }

    fn jain(shares: impl Iterator<Item = u32> + Clone) -> f64 {
        let n = shares.clone().count() as f64;
        let sum: f64 = shares.clone().map(f64::from).sum();
        let squares: f64 = shares.map(f64::from).map(|share| share * share).sum();
        sum * sum / (n * squares)
    }

    fn frames(flow: u64, count: usize) -> Vec<TestPacket> {
        vec![TestPacket::data(flow, 1514); count]
    }

    #[test]
    fn flows_that_have_sent_less_go_first() {
        let mut queue = build("gentle");
        // An old flow: it has sent 100 frames, and has more.
        run(&mut *queue, 0..100, |t| frames(1, if t == 0 { 120 } else { 0 }));
        let (sent, _, _) = run(&mut *queue, 100..112, |t| match t {
            100 => frames(2, 10),
            104 => frames(3, 2),
            _ => Vec::new(),
        });
        let order: Vec<u64> = sent.iter().map(|packet| packet.flow).collect();
        // Eight frames of the second flow are young, and the two of the third are younger than those it still has.
        assert_eq!(order[..10], [2, 2, 2, 2, 3, 3, 2, 2, 2, 2]);
        assert!(order[10..].contains(&1));
    }

    #[test]
    fn no_syn_is_lost_or_waits_while_data_waits() {
        let mut queue = build("gentle");
        let (sent, dropped, _) = run(&mut *queue, 0..5000, |t| {
            let mut packets = vec![TestPacket::data(t % 3, 1514); 2];
            if t % 10 == 0 {
                packets.push(TestPacket::syn(1000 + t).numbered(t as u32));
            }
            packets
        });
        assert!(dropped.len() > 100);
        assert!(dropped.iter().all(|(packet, _)| !packet.flags.syn));
        let late = |(t, packet): &(usize, &TestPacket)| packet.flags.syn && *t as u32 > packet.id + 2;
        assert_eq!(sent.iter().enumerate().filter(late).count(), 0);
    }

    /// Jain's index of flows that have five frames in the queue at all times: a closed loop.
    fn jain_of(scheme: &str, flows: u64) -> f64 {
        let mut queue = build(scheme);
        let mut waiting: Vec<_> = (0..flows).flat_map(|flow| frames(flow, 5)).collect();
        let mut signals = Signals::new();
        let mut sent = Vec::new();
        for t in 0..flows * 40 {
            for packet in waiting.drain(..) {
                queue.enqueue(ms(t), packet, &mut signals);
            }
            let packet = queue.dequeue(ms(t), &mut signals).packet().unwrap();
            sent.push(packet);
            waiting.push(packet);
            waiting.extend(signals.drain().map(|(packet, _)| packet));
        }
        let shares = by_flow(&sent[sent.len() / 3..]);
        jain((0..flows).map(|flow| shares.get(&flow).copied().unwrap_or(0)))
    }

    #[test]
    fn equal_flows_send_as_equally_as_under_fq_codel_however_many_they_are() {
        for flows in [2, 9, 50, 63, 64, 65, 100, 200, 250, 300, 600, 1000, 2000] {
            let (gentle, fq_codel) = (jain_of("gentle", flows), jain_of("fq_codel", flows));
            assert!(gentle >= 0.95 * fq_codel, "{flows} flows: Jain {gentle} and {fq_codel}");
        }
    }

    /// Frames that a long flow sends in ten seconds while `arrivals` offers others.
    fn beside(scheme: &str, arrivals: impl Fn(u64) -> Vec<TestPacket>) -> u32 {
        let mut queue = build(scheme);
        run(&mut *queue, 0..2000, |_| frames(1, 2));
        let (sent, _, _) = run(&mut *queue, 2000..12_000, |t| {
            let mut packets = frames(1, 1);
            packets.extend(arrivals(t));
            packets
        });
        by_flow(&sent)[&1]
    }

    #[test]
    fn what_goes_first_takes_a_bounded_share() {
        // Connections of so many frames, one every so many milliseconds: a quarter to nine tenths of the link.
        for (size, gap) in [(1, 4), (1, 2), (8, 32), (8, 16), (8, 10), (20, 40), (100, 200), (100, 111), (700, 1000)] {
            let arrivals = |t| {
                if t % gap == 0 { frames(10_000 + t, size) } else { Vec::new() }
            };
            let (gentle, fq_codel) = (beside("gentle", arrivals), beside("fq_codel", arrivals));
            assert!(gentle * 100 >= fq_codel * 85, "{size} per {gap} ms: {gentle} and {fq_codel}");
        }
    }

    #[test]
    fn flows_whose_packets_come_one_by_one_do_not_hold_back_another_one() {
        // Two flows that are old, or young, alternate: the packet of one comes as the packet of the other leaves.
        for old in [true, false] {
            for bytes in [100, 1000, 1492] {
                let served = |scheme: &str| {
                    let mut queue = build(scheme);
                    if old {
                        run(&mut *queue, 0..200, |t| {
                            let mut packets = vec![];
                            if t < 100 {
                                packets = frames(1, 1);
                                packets.extend(frames(2, 1));
                            }
                            packets
                        });
                    }
                    let (sent, _, _) = run(&mut *queue, 200..3200, |t| {
                        let mut packets = vec![TestPacket::data(1 + t % 2, bytes)];
                        if t == 200 {
                            packets = vec![TestPacket::data(1, bytes); 2];
                            packets.extend(frames(3, 700));
                        }
                        packets
                    });
                    by_flow(&sent).get(&3).copied().unwrap_or_default()
                };
                let (gentle, fq_codel) = (served("gentle"), served("fq_codel"));
                assert!(gentle * 10 >= fq_codel * 8, "{old} {bytes}: {gentle} and {fq_codel}");
            }
        }
    }

    #[test]
    fn young_flows_delay_another_one_by_no_more_than_the_interval() {
        // Eight flows of eight frames each begin at once, while a flow in round robin always has frames, of which each takes 1 ms.
        let longest_gap = |scheme: &str| {
            let mut queue = build(scheme);
            let (sent, _, _) = run(&mut *queue, 0..2000, |t| {
                let mut packets = frames(1, if t == 0 { 50 } else { 1 });
                if t >= 500 && t % 500 == 0 {
                    packets.extend((0..8).flat_map(|flow| frames(100 + t + flow, 8)));
                }
                packets
            });
            let of_first = (0..sent.len()).filter(|at| sent[*at].flow == 1);
            let of_first: Vec<usize> = of_first.collect();
            let gaps = of_first.windows(2).map(|pair| pair[1] - pair[0]);
            gaps.max().unwrap()
        };
        let fq_codel = longest_gap("fq_codel");
        let gaps = [20, 50, 100, 200].map(|interval| {
            let gap = longest_gap(&format!("gentle interval={interval}ms"));
            assert!(gap <= fq_codel + interval + 2, "{interval}: {gap} and {fq_codel}");
            gap
        });
        assert!(gaps.is_sorted() && gaps[3] > fq_codel + 32, "{gaps:?} and {fq_codel}");
    }

    #[test]
    fn a_flood_of_new_flows_takes_no_more_than_under_fq_codel() {
        for each in 1..4 {
            let flood = |t| (0..each).flat_map(|n| frames(10_000 * (n + 1) + t, 1)).collect();
            let (gentle, fq_codel) = (beside("gentle", flood), beside("fq_codel", flood));
            assert!(gentle * 100 >= fq_codel * 95, "{each}: {gentle} and {fq_codel}");
        }
    }

    #[test]
    fn a_packet_that_is_alone_in_the_queue_is_never_dropped() {
        // 64 kB on a link of 100 kb/s takes five seconds.
        let mut queue = build("gentle limit=10 memory_limit=200kb");
        let mut signals = Signals::new();
        for second in 0..200 {
            let at = Instant::from_secs(40_000 + 6 * second);
            queue.enqueue(at, TestPacket::data(second % 3, 65_535), &mut signals);
            assert!(queue.dequeue(at, &mut signals).packet().is_some());
        }
        assert_eq!(signals.drain().count(), 0);
    }

    #[test]
    fn a_flow_below_its_share_does_not_wait_for_long_ones_after_days() {
        for start in [0, 32_700_000, 40_000_000, 4_294_967_000] {
            let mut queue = build("gentle");
            // Two downloads and a call, which sends a tenth of a frame every ten milliseconds.
            let (sent, dropped, _) = run(&mut *queue, start..start + 60_000, |t| {
                let mut packets = vec![TestPacket::data(1, 1514), TestPacket::data(2, 1514)];
                if t % 10 == 0 {
                    packets.push(TestPacket::data(3, 150).numbered((t - start) as u32));
                }
                packets
            });
            assert!(dropped.iter().all(|(packet, _)| packet.flow != 3));
            let late = |(at, packet): &(usize, &TestPacket)| packet.flow == 3 && *at as u32 > packet.id + 2;
            assert_eq!(sent.iter().enumerate().filter(late).count(), 0, "from {start} ms");
        }
    }

    #[test]
    fn a_host_that_floods_takes_its_share_and_no_more() {
        let mut queue = build("gentle hosts=src");
        let of = |host: u64, flow| TestPacket::data(flow, 1514).between(host, 0);
        run(&mut *queue, 0..2000, |_| vec![of(1, 1), of(1, 1)]);
        // A host with a download, one that opens three flows for each packet of the link, and one with a call.
        let (sent, dropped, _) = run(&mut *queue, 2000..12_000, |t| {
            let mut packets = vec![of(1, 1)];
            packets.extend((0..3).map(|n| of(2, 10_000 * (n + 1) + t)));
            if t % 10 == 0 {
                packets.push(of(3, 3).of_bytes(150).numbered(t as u32));
            }
            packets
        });
        let download = by_flow(&sent)[&1];
        assert!((4400..5000).contains(&download), "{download}");
        assert!(dropped.iter().all(|(packet, _)| packet.flow != 3));
        let calls = (2000..).zip(&sent).filter(|(_, packet)| packet.flow == 3);
        let longest = calls.map(|(at, packet)| at - packet.id).max();
        assert!(longest <= Some(3), "{longest:?}");
    }

    #[test]
    fn beyond_the_limit_the_host_that_holds_most_loses() {
        let of = |host, flow| TestPacket::data(flow, 1514).between(host, 0);
        let mut queue = build("gentle hosts=src limit=100");
        // Sixty flows of a packet each, and one flow of another host with forty-five.
        let mut signals = Signals::new();
        for flow in 0..60 {
            queue.enqueue(ms(0), of(1, 100 + flow), &mut signals);
        }
        for _ in 0..45 {
            queue.enqueue(ms(0), of(2, 1), &mut signals);
        }
        let lost: Vec<u64> = signals.drain().map(|(packet, _)| packet.flow).collect();
        assert_eq!(lost.len(), 5);
        assert!(lost.iter().all(|flow| *flow >= 100), "{lost:?}");
    }

    #[test]
    fn long_flows_are_marked_instead_of_dropped() {
        for ecn in [true, false] {
            let mut queue = build(if ecn { "gentle" } else { "gentle noecn" });
            let (sent, dropped, marked) = run(&mut *queue, 0..2000, |t| {
                let count = if t % 5 == 0 { 6 } else { 1 };
                vec![TestPacket::data(1, 1514).ecn_capable(); count]
            });
            assert_eq!((marked > 10, dropped.len() > 10), (ecn, !ecn));
            assert_eq!(sent.iter().filter(|packet| packet.ecn == Ecn::Ce).count(), marked);
        }
    }
}
