//! Links lose packets in bursts, jitter and reorder them as their scenario says, and send at recorded rates.

use gentle_aqm::Packet as _;
use gentle_experiment::{Direction, GilbertElliott, RateTrace, RunSpec, Scenario};
use gentle_sim::{DropCause, Packet, Simulation, Tap};
use gentle_units::{Instant, Nanos};
use std::collections::BTreeMap;

/// Packets of one direction by the time at which they were enqueued, which differs from packet to packet.
#[derive(Default)]
struct Seen {
    /// Times at which packets were sent; whether they got lost.
    sent: Vec<(Instant, Instant, u32, bool)>,
    arrived: Vec<(Instant, Instant)>,
}

impl Tap for &mut Seen {
    fn sent(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if direction == Direction::Down {
            let sent = (packet.arrived(), now, packet.bytes(), false);
            self.sent.push(sent);
        }
    }
    fn dropped(&mut self, now: Instant, _: Direction, packet: &Packet, cause: DropCause) {
        if matches!(cause, DropCause::Loss) {
            let lost = (packet.arrived(), now, packet.bytes(), true);
            self.sent.push(lost);
        }
    }
    fn delivered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if direction == Direction::Down {
            self.arrived.push((packet.arrived(), now));
        }
    }
}

/// A hundred seconds of packets of 1,000 bytes at 400 kb/s, over a link with these keys.
fn observed(keys: &str, trace: &str) -> Seen {
    let text = format!(
        "duration = \"100s\"\n[link.down]\n{keys}\n[link.up]\nrate = \"10mbit\"\n[[workload]]\nkind = \"udp\"\nrate = \"400kbit\"\npacket = 1000\n"
    );
    let scenario = Scenario::from_toml("x.toml", &text, &|_| Ok(trace.to_owned()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let pfifo = "pfifo limit=1000".parse().unwrap();
    let run = RunSpec { scenario: &scenario, scheme: &pfifo, seed: 1, bins: &[], keep_connections: false };
    let mut seen = Seen::default();
    Simulation::new(&run, &mut seen).run(|_| true).unwrap();
    assert!(seen.sent.len() > 4_900, "{}", seen.sent.len());
    seen
}

/// From the end of the transmission to the arrival, of packets that were not lost and not under way at the end.
fn delays(seen: &Seen) -> BTreeMap<Instant, Nanos> {
    let arrived: BTreeMap<Instant, Instant> = seen.arrived.iter().copied().collect();
    assert!(seen.arrived.len() + 20 > seen.sent.len());
    let sent = seen.sent.iter();
    sent.filter_map(|(id, at, _, _)| Some((*id, *arrived.get(id)? - *at))).collect()
}

fn near(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() < relative, "{found} instead of {expected}");
}

#[test]
fn losses_come_in_bursts() {
    let seen = observed("rate = \"1mbit\"\nbursts = { p = 0.02, r = 0.2, bad = 0.8, good = 0.02 }", "");
    let lost: Vec<bool> = seen.sent.iter().map(|(_, _, _, lost)| *lost).collect();
    let model = GilbertElliott { p: 0.02, r: 0.2, bad: 0.8, good: 0.02 };
    let share = |of: &mut dyn Iterator<Item = bool>| {
        let all: Vec<bool> = of.collect();
        all.iter().filter(|yes| **yes).count() as f64 / all.len() as f64
    };
    near(share(&mut lost.iter().copied()), model.mean(), 0.15);
    // A packet after a lost one is lost if the state was bad and is still, or turned bad: computed manually from the
    // model.
    let bad = model.p / (model.p + model.r);
    let both = bad * model.bad * ((1.0 - model.r) * model.bad + model.r * model.good)
        + (1.0 - bad) * model.good * ((1.0 - model.p) * model.good + model.p * model.bad);
    let after_lost = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]);
    near(share(&mut { after_lost }), both / model.mean(), 0.15);
}

#[test]
fn jitter_varies_delays_and_keeps_the_order() {
    let keys = "rate = \"1mbit\"\ndelay = \"30ms\"\njitter = \"20ms\"";
    let seen = observed(keys, "");
    assert!(seen.arrived.is_sorted());
    let delays: Vec<Nanos> = delays(&seen).into_values().collect();
    let ms = Nanos::from_millis;
    assert!(delays.iter().all(|delay| *delay >= ms(10)));
    assert!(delays.iter().any(|delay| *delay < ms(12)));
    assert!(delays.iter().any(|delay| *delay > ms(48)));
    // Packets that wait for the one before them arrive at the rate of the link: 1,014 bytes in 8.112 ms.
    let gaps = seen.arrived.windows(2).map(|pair| pair[1].1 - pair[0].1);
    assert_eq!(gaps.min(), Some(Nanos(8_112_000)));
}

#[test]
fn reordered_packets_skip_the_delay() {
    let seen = observed("rate = \"1mbit\"\ndelay = \"50ms\"\nreorder = 0.1", "");
    assert!(!seen.arrived.is_sorted());
    let delays: Vec<Nanos> = delays(&seen).into_values().collect();
    let early = delays.iter().filter(|delay| **delay == Nanos::ZERO).count();
    let rest = delays.iter().filter(|delay| **delay == Nanos::from_millis(50));
    assert_eq!(rest.count() + early, delays.len());
    near(early as f64 / delays.len() as f64, 0.1, 0.15);
}

#[test]
fn a_recording_decides_when_packets_leave() {
    // 1,504 bytes at 3, 4, 4, 25 ms: 1.9 Mb/s on average, in lumps.
    let text = "3\n4\n4\n25\n";
    let trace = RateTrace::parse(text).unwrap();
    let seen = observed("trace = \"lumps.up\"\ndelay = \"7ms\"", text);
    let mut used: BTreeMap<Instant, u64> = BTreeMap::new();
    for (_, at, bytes, _) in &seen.sent {
        *used.entry(*at).or_default() += u64::from(*bytes);
        assert_eq!(trace.at(trace.first_from(*at)), *at, "an opportunity");
    }
    // No moment delivers more than its opportunities, with what a packet got of earlier ones.
    for (at, bytes) in &used {
        let first = trace.first_from(*at);
        let opportunities = (first..).take_while(|n| trace.at(*n) == *at).count() as u64;
        assert!(*bytes <= opportunities * 1_504 + 1_013, "{at}: {bytes}");
    }
    let delays = delays(&seen);
    assert!(delays.values().all(|delay| *delay == Nanos::from_millis(7)));
}
