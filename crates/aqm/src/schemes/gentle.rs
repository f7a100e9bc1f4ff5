//! `gentle`: bands by age. A flow's packets go to ever older bands the more it has sent; young bands are served first.
//! `docs/gentle.md` explains the design and what it was compared with.
//!
//! * **Age** is what a flow has sent, less what it has been forgiven (`laws/flow_ages.rs`): least
//!   attained service (Rai, Urvoy-Keller, Biersack, SIGMETRICS 2003) in bands whose bounds double.
//! * **Service**: the youngest waiting band, but the oldest one has a guaranteed share.
//! * **Limit**: the bytes that the link sends in the time `limit`, by a rate that the queue measures. Beyond it the first
//!   packet of the oldest band is dropped. The limit shrinks while drops do not empty the queue, and grows when they do.

use crate::laws::flow_ages::{self, FlowAges};
use crate::laws::host_turns::{self, HostTurns};
use crate::laws::link_rate::LinkRate;
use crate::laws::room::Room;
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::{Ecn, Packet};
use crate::plumbing::packet_queue::PacketQueue;
use crate::plumbing::qdisc::{Dequeue, DropReason, Head, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::{
    Conformance, Field, Hashing, KernelQdisc, Order, Scheme, Statistics, StockParts, TcSyntax,
};
use crate::plumbing::spec::Spec;
use gentle_units::{Instant, Nanos};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Age bands.
pub static SCHEME: Scheme = Scheme {
    name: "gentle",
    summary: "flows that have sent little go first, in bands by age; the oldest band loses packets when the queue is too long",
    source: "docs/gentle.md; least attained service: Rai, Urvoy-Keller and Biersack 2003",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Time(Nanos::from_millis(1), Nanos::from_secs(10)),
            default: Some("140ms"),
            help: "longest queue, in time of the link; shrinks down to a tenth of it while a shorter one keeps the link busy",
        },
        OptionSpec {
            name: "memory_limit",
            kind: Kind::Size(1514, 1 << 31),
            default: Some("32mb"),
            help: "bytes of all packets together, whatever the rate of the link",
        },
        flow_ages::BANDS,
        flow_ages::FIRST,
        OptionSpec {
            name: "weight",
            kind: Kind::Count(1, 1000),
            default: Some("16"),
            help: "bytes that younger bands send for each byte of the oldest waiting one, which no load of young flows can stop",
        },
        flow_ages::FORGIVE,
        OptionSpec {
            name: "flows",
            kind: Kind::Count(8, 65_536),
            default: Some("512"),
            help: "flows whose ages are known, 8 bytes each; beyond it the youngest are forgotten",
        },
        host_turns::OPTION,
        OptionSpec {
            name: "ecn",
            kind: Kind::Flag,
            default: Some("on"),
            help: "mark ECN-capable packets instead of dropping them, up to twice the limit",
        },
    ],
    drops: &[DropReason::PushOut],
    marks: &[MarkReason::Aqm],
    // A flow that has been forgiven may overtake what it sent before.
    order: |_| Order {
        fifo: false,
        ..Order::FIFO
    },
    linux: Some(TcSyntax {
        stock: Some(StockParts::Near {
            spec: "fq_codel",
            lacks: "the privilege of young flows",
        }),
        negations: &[("ecn", "noecn")],
        ..TcSyntax::plain(&QDISC)
    }),
    conformance: Conformance {
        hash: Hashing::Whole,
        ..Conformance::EXACT
    },
    samples: &[
        "limit=1ms memory_limit=20kb flows=8",
        "bands=2 first=64 weight=1",
        "bands=3 forgive=0 noecn",
        "hosts=src",
        "hosts=dst limit=5ms memory_limit=20kb bands=3",
    ],
    ..Scheme::PLAIN
};

/// Statistics: `struct tc_gentle_xstats` (`kernel/include/uapi/pkt_sch_gentle.h`).
static QDISC: KernelQdisc = KernelQdisc {
    statistics: Statistics::Struct(&[
        Field::U64("push_out"),
        Field::U64("ecn_mark"),
        Field::U64("rate"),
        Field::U64("room_ns"),
        Field::U32("limit_bytes"),
        Field::U32("share"),
    ]),
    drops: &[("/push_out", DropReason::PushOut)],
    marks: &["/ecn_mark"],
    ..KernelQdisc::of_gentle("gentle")
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let bands = options.count(flow_ages::BANDS.name) as usize;
    let hash = FlowHash::draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    let turns = HostTurns::new(options, hash);
    let hosts = if turns.is_some() {
        host_turns::HOSTS
    } else {
        1
    };
    let mut queue = Gentle {
        hosts: (0..hosts).map(|_| Bands::new(bands)).collect(),
        turns,
        serving: 0,
        ages: FlowAges::new(options.count("flows") as u32, options, hash),
        weight: options.count("weight") as i64,
        rate: LinkRate::default(),
        room: Room::new(options.time("limit")),
        memory_limit: options.size("memory_limit"),
        limit: 0,
        guaranteed: 0,
        ecn: options.flag("ecn"),
        packets: 0,
        backlog: 0,
    };
    queue.update_limit();
    Box::new(queue)
}

/// A full frame, bytes.
const FRAME: u64 = 1514;

/// Smallest limit in bytes: on a slow link, a window of a few packets has to fit.
const LEAST_LIMIT: u64 = 5 * FRAME;

/// Packets of a host, in bands by age.
#[derive(Debug)]
struct Bands<P> {
    /// From the youngest to the oldest.
    bands: Box<[PacketQueue<P>]>,
    /// Bit i is set if band i holds packets.
    waiting: u32,
    /// Bytes that younger bands have sent while the oldest waited, less `weight` times those that it has sent.
    due: i64,
    bytes: u64,
}

impl<P: Packet> Bands<P> {
    fn new(bands: usize) -> Bands<P> {
        Bands {
            bands: (0..bands).map(|_| PacketQueue::default()).collect(),
            waiting: 0,
            due: 0,
            bytes: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// The oldest band that holds packets; some band must.
    fn oldest(&self) -> usize {
        self.waiting.ilog2() as usize
    }

    /// Whether packets of the two oldest bands wait: their flows last long enough to react to drops.
    fn has_long_flows(&self) -> bool {
        self.waiting >> (self.bands.len() - 2) != 0
    }

    /// The band to serve; some band must hold packets.
    fn next(&self, weight: i64) -> usize {
        if self.due >= weight * FRAME as i64 {
            self.oldest()
        } else {
            self.waiting.trailing_zeros() as usize
        }
    }

    fn push(&mut self, band: usize, packet: P) {
        self.bytes += u64::from(packet.bytes());
        self.bands[band].push_back(packet);
        self.waiting |= 1 << band;
    }

    fn pop(&mut self, band: usize) -> Option<P> {
        let packet = self.bands[band].pop_front()?;
        if self.bands[band].is_empty() {
            self.waiting &= !(1 << band);
        }
        self.bytes -= u64::from(packet.bytes());
        Some(packet)
    }

    /// The band that loses its first packet: the oldest one, unless it has a single packet or no more than `guaranteed`
    /// bytes; a flood of new flows could else take its packets before they are served.
    fn victim(&self, guaranteed: u64) -> usize {
        let oldest = self.oldest();
        let younger = self.waiting & !(1 << oldest);
        let queue = &self.bands[oldest];
        if younger != 0 && (queue.len() == 1 || queue.bytes() <= guaranteed) {
            younger.ilog2() as usize
        } else {
            oldest
        }
    }
}

/// The host that holds most bytes, which is the one to lose packets.
fn heaviest<P>(hosts: &[Bands<P>]) -> usize {
    let mut found = 0;
    for (host, bands) in hosts.iter().enumerate() {
        if bands.bytes > hosts[found].bytes {
            found = host;
        }
    }
    found
}

/// Bands by age, of all hosts together or of each.
#[derive(Debug)]
struct Gentle<P> {
    /// One without the option `hosts`.
    hosts: Box<[Bands<P>]>,
    turns: Option<HostTurns>,
    /// The host to serve, if any has packets.
    serving: usize,
    ages: FlowAges,
    weight: i64,
    rate: LinkRate,
    room: Room,
    memory_limit: u64,
    /// Current limit, bytes.
    limit: u64,
    /// Bytes that younger packets cannot take from the oldest band.
    guaranteed: u64,
    ecn: bool,
    packets: usize,
    backlog: u64,
}

impl<P: Packet> Gentle<P> {
    fn pop(&mut self, host: usize, band: usize) -> Option<P> {
        let packet = self.hosts[host].pop(band)?;
        self.packets -= 1;
        self.backlog -= u64::from(packet.bytes());
        Some(packet)
    }

    /// Drops packets until the rest fits.
    fn make_room(&mut self, now: Instant, signals: &mut Signals<P>) {
        while self.backlog > self.limit {
            self.room.overflowed(now);
            let host = heaviest(&self.hosts);
            let bands = &self.hosts[host];
            let band = bands.victim(self.guaranteed);
            // A packet that can be marked is, when it leaves.
            let spared = self.ecn
                && self.backlog <= (2 * self.limit).min(self.memory_limit)
                && bands.bands[band]
                    .front()
                    .is_some_and(|packet| packet.ecn() != Ecn::NotEct);
            if spared {
                return;
            }
            if let Some(packet) = self.pop(host, band) {
                self.rate.dropped(packet.bytes());
                signals.dropped(packet, DropReason::PushOut);
            }
        }
    }

    /// Finds the host whose turn it is.
    fn pass_turn(&mut self) {
        if let Some(turns) = &mut self.turns
            && let Some(host) = turns.current(|host| !self.hosts[host].is_empty())
        {
            self.serving = host;
        }
    }

    /// Bytes that the queue may hold if it may be this long in time.
    fn bytes(&self, time: Nanos) -> u64 {
        self.rate.get().map_or(self.memory_limit, |rate| {
            let bytes = u128::from(rate) * u128::from(time.0) / 1_000_000_000;
            (bytes as u64).max(LEAST_LIMIT).min(self.memory_limit)
        })
    }

    /// Applies a new rate or a new limit in time. Guaranteed is a share of the longest queue: a flood, which no drop ends,
    /// shrinks the limit, and a share of that can be less than a packet, which TCP cannot use; but the young keep two
    /// thirds of what is left.
    #[cold]
    fn update_limit(&mut self) {
        let parts = self.weight as u64 + 1;
        self.limit = self.bytes(self.room.time());
        self.guaranteed = (self.bytes(self.room.most()) / parts).min(self.limit / parts.min(3));
    }
}

impl<P: Packet + Send> Qdisc<P> for Gentle<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        packet.set_arrived(now);
        let bytes = packet.bytes();
        let host = (self.turns.as_mut()).map_or(0, |turns| turns.enter(&packet));
        let band = self.ages.band(now, packet.flow(), bytes, self.rate.get());
        self.hosts[host].push(band, packet);
        self.packets += 1;
        self.backlog += u64::from(bytes);
        let hosts = &self.hosts;
        if (self.room).judge(now, || hosts[heaviest(hosts)].has_long_flows()) {
            self.update_limit();
        }
        self.make_room(now, signals);
        self.pass_turn();
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        if self.packets == 0 {
            return Dequeue::Empty;
        }
        let host = self.serving;
        let bands = &self.hosts[host];
        let (band, oldest) = (bands.next(self.weight), bands.oldest());
        let backlog = self.backlog;
        let marks =
            self.ecn && band == oldest && backlog > self.limit && host == heaviest(&self.hosts);
        let Some(mut packet) = self.pop(host, band) else {
            return Dequeue::Empty;
        };
        let bytes = packet.bytes();
        let due = &mut self.hosts[host].due;
        if band < oldest {
            *due += i64::from(bytes);
        } else {
            *due = (*due - self.weight * i64::from(bytes)).max(0);
        }
        if marks && packet.mark() {
            signals.marked(&packet, MarkReason::Aqm);
        }
        if let Some(turns) = &mut self.turns {
            turns.sent(host, bytes);
        }
        self.pass_turn();
        let measured = self.rate.observe(now, bytes, backlog);
        let resized = self.backlog == 0 && self.room.emptied();
        if measured || resized {
            self.update_limit();
        }
        Dequeue::Packet(packet)
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn backlog(&self) -> u64 {
        self.backlog
    }

    fn head(&self) -> Head {
        if self.packets == 0 {
            return Head::Empty;
        }
        let bands = &self.hosts[self.serving];
        bands.bands[bands.next(self.weight)].front().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestPacket, build};

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

    #[test]
    fn flows_that_have_sent_less_go_first() {
        let mut queue = build("gentle");
        let mut drops = Signals::new();
        for _ in 0..20 {
            queue.enqueue(ms(0), TestPacket::data(1, 1514), &mut drops);
        }
        queue.enqueue(ms(0), TestPacket::data(2, 1514), &mut drops);
        queue.enqueue(ms(0), TestPacket::data(2, 1514), &mut drops);
        // Of either flow two packets are in the youngest band: at their arrival the flow had sent less than 2 kB.
        let order: Vec<u64> = (0..5)
            .filter_map(|_| queue.dequeue(ms(1), &mut drops).packet())
            .map(|packet| packet.flow)
            .collect();
        assert_eq!(order, [1, 1, 2, 2, 1]);
    }

    #[test]
    fn no_syn_is_lost_while_data_waits() {
        let mut queue = build("gentle limit=20ms");
        let (sent, dropped, _) = run(&mut *queue, 0..5000, |t| {
            let data = TestPacket::data(t % 3, 1514);
            let mut packets = vec![data, data];
            if t % 10 == 0 {
                packets.push(TestPacket::syn(1000 + t));
            }
            packets
        });
        assert!(dropped.len() > 4000);
        assert!(dropped.iter().all(|(packet, _)| !packet.flags.syn));
        let syns = sent.iter().filter(|packet| packet.flags.syn);
        assert_eq!(syns.count(), 500);
    }

    #[test]
    fn the_oldest_band_keeps_its_share_under_a_flood_of_new_flows() {
        let mut queue = build("gentle");
        let bulk = |_| vec![TestPacket::data(1, 1514), TestPacket::data(1, 1514)];
        run(&mut *queue, 0..2000, bulk);
        let (sent, _, _) = run(&mut *queue, 2000..12_000, |t| {
            vec![
                TestPacket::data(1, 1514),
                TestPacket::data(10_000 + t, 1514),
                TestPacket::data(30_000 + t, 1514),
            ]
        });
        let old = sent.iter().filter(|packet| packet.flow == 1).count();
        assert!((560..640).contains(&old), "{old} of {}", sent.len());
    }

    #[test]
    fn a_flood_of_new_flows_takes_no_packet_of_a_small_window() {
        let mut queue = build("gentle");
        // The limit shrinks to 14 frames, of which a seventeenth is less than one.
        let bulk = |_| vec![TestPacket::data(1, 1514), TestPacket::data(1, 1514)];
        run(&mut *queue, 0..20_000, bulk);
        let (sent, dropped, _) = run(&mut *queue, 20_000..30_000, |t| {
            let flood = [40_000, 60_000].map(|base| TestPacket::data(base + t, 1514));
            // Less than a seventeenth of the link, in bursts of four.
            let window = if t % 100 == 0 { 4 } else { 0 };
            let old = std::iter::repeat_n(TestPacket::data(1, 1514).numbered(t as u32), window);
            old.chain(flood).collect()
        });
        let late = |packet: &&TestPacket| packet.flow == 1 && packet.id >= 21_000;
        assert_eq!(sent.iter().filter(late).count(), 4 * 90);
        let lost = dropped.iter().map(|(packet, _)| packet);
        assert_eq!(lost.filter(late).count(), 0);
    }

    #[test]
    fn a_host_that_floods_takes_its_share_and_no_more() {
        let mut queue = build("gentle hosts=src");
        let of = |host: u64, flow| TestPacket::data(flow, 1514).between(host, 0);
        let bulk = |_| vec![of(1, 1), of(1, 1)];
        run(&mut *queue, 0..2000, bulk);
        // A host with a download, one that opens three flows for each packet of the link, and one with a call.
        let (sent, dropped, _) = run(&mut *queue, 2000..12_000, |t| {
            let mut packets = vec![of(1, 1)];
            packets.extend((0..3).map(|n| of(2, 10_000 * (n + 1) + t)));
            if t % 10 == 0 {
                packets.push(of(3, 3).of_bytes(150).numbered(t as u32));
            }
            packets
        });
        let download = sent.iter().filter(|packet| packet.flow == 1).count();
        assert!((4400..4600).contains(&download), "{download}");
        assert!(dropped.iter().all(|(packet, _)| packet.flow != 3));
        let calls = (2000..).zip(&sent).filter(|(_, packet)| packet.flow == 3);
        let longest = calls.map(|(at, packet)| at - packet.id).max();
        assert!(longest <= Some(2), "{longest:?}");
    }

    #[test]
    fn flows_of_a_host_go_by_age() {
        let mut queue = build("gentle hosts=dst");
        let mut drops = Signals::new();
        for (flow, host, packets) in [(1, 1, 5), (2, 2, 5), (3, 1, 2)] {
            for _ in 0..packets {
                let packet = TestPacket::data(flow, 1514).between(0, host);
                queue.enqueue(ms(0), packet, &mut drops);
            }
        }
        let order: Vec<u64> = (0..12)
            .filter_map(|_| queue.dequeue(ms(1), &mut drops).packet())
            .map(|packet| packet.flow)
            .collect();
        // Hosts take turns, and the third flow goes before what the first sent when it was old.
        assert_eq!(order, [1, 2, 1, 2, 3, 2, 3, 2, 1, 2, 1, 1]);
    }

    #[test]
    fn the_host_that_holds_most_loses_packets_and_is_marked() {
        let of = |host, flow| TestPacket::data(flow, 1514).between(host, 0);
        for ecn in [false, true] {
            let mut queue = build("gentle hosts=src limit=50ms");
            let (sent, dropped, marked) = run(&mut *queue, 0..1000, |t| {
                let mut packets = vec![of(1, 1); 2];
                if t % 4 == 0 {
                    packets.push(of(2, 2).of_bytes(300));
                }
                if ecn {
                    packets = packets.into_iter().map(TestPacket::ecn_capable).collect();
                }
                packets
            });
            assert_eq!(marked > 100, ecn);
            assert!(dropped.len() > 500);
            assert!(dropped.iter().all(|(packet, _)| packet.flow == 1));
            let light = sent.iter().filter(|packet| packet.flow == 2);
            assert!(light.clone().count() >= 248);
            assert!(light.clone().all(|packet| packet.ecn != Ecn::Ce));
        }
    }

    #[test]
    fn a_flow_that_sends_less_than_its_share_stays_young() {
        let mut queue = build("gentle");
        // Two downloads and a call, which sends a tenth of a frame every ten milliseconds.
        let (sent, dropped, _) = run(&mut *queue, 0..60_000, |t| {
            let mut packets = vec![TestPacket::data(1, 1514), TestPacket::data(2, 1514)];
            if t % 10 == 0 {
                packets.push(TestPacket::data(3, 150).numbered(t as u32));
            }
            packets
        });
        assert!(dropped.iter().all(|(packet, _)| packet.flow != 3));
        // After the first periods, in which the rate and the number of flows are not known yet.
        let late = sent
            .iter()
            .enumerate()
            .filter(|(at, packet)| packet.flow == 3 && *at > 3000 && *at as u32 > packet.id + 2);
        assert_eq!(late.count(), 0);
    }

    #[test]
    fn the_queue_is_as_long_as_its_limit_allows_at_the_rate_of_the_link() {
        let mut queue = build("gentle limit=50ms");
        let (_, dropped, _) = run(&mut *queue, 0..3000, |_| {
            vec![TestPacket::data(1, 1514), TestPacket::data(2, 1514)]
        });
        // The flows never react, so that it shrinks from 50 frames at the link's rate.
        assert!(dropped.iter().all(|(_, why)| *why == DropReason::PushOut));
        assert!((20..50).contains(&queue.len()), "{}", queue.len());
        run(&mut *queue, 3000..60_000, |_| {
            vec![TestPacket::data(1, 1514), TestPacket::data(2, 1514)]
        });
        assert_eq!(queue.len(), 4);
    }

    #[test]
    fn a_slow_link_has_a_limit_in_time_too() {
        let mut queue = build("gentle limit=500ms");
        // A frame each 50 ms: 240 kb/s.
        let mut signals = Signals::new();
        for t in 0..400 {
            for flow in 0..2 {
                queue.enqueue(ms(50 * t), TestPacket::data(flow, 1514), &mut signals);
            }
            queue.dequeue(ms(50 * t), &mut signals);
        }
        assert!(queue.len() <= 11, "{}", queue.len());
    }

    #[test]
    fn packets_that_can_be_marked_are_not_dropped_below_twice_the_limit() {
        for (spec, marks) in [
            ("gentle limit=50ms", true),
            ("gentle limit=50ms noecn", false),
        ] {
            let mut queue = build(spec);
            let fill = |_| vec![TestPacket::data(1, 1514).ecn_capable(); 2];
            run(&mut *queue, 0..300, fill);
            // At the link's rate, the queue stays where it is: above its limit, if packets are marked.
            let keep = |_| vec![TestPacket::data(1, 1514).ecn_capable()];
            let (_, dropped, marked) = run(&mut *queue, 300..400, keep);
            assert_eq!((dropped.len(), marked > 90), (0, marks), "{spec}");
        }
    }
}
