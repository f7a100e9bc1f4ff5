//! A tap sees every packet, drop, mark and timer, and changes nothing.

use gentle_aqm::{Packet as _, Spec};
use gentle_experiment::{Backend, Direction, RunRecord, RunSpec, Scenario, Watch};
use gentle_sim::{DropCause, NoTap, Packet, Simulation, Simulator, Tap};
use gentle_units::{Instant, Nanos};
use std::sync::atomic::AtomicBool;

/// Counts by direction.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    offered: [u64; 2],
    dequeued: [u64; 2],
    marked: [u64; 2],
    sent: [u64; 2],
    dropped: [u64; 2],
    lost: [u64; 2],
    delivered: [u64; 2],
    timers: u64,
    last: Instant,
}

impl Counts {
    fn at(&mut self, now: Instant) {
        assert!(now >= self.last, "time runs forward");
        self.last = now;
    }
}

impl Tap for Counts {
    fn offered(&mut self, _: Instant, direction: Direction, packet: &Packet) {
        // A packet may be offered ahead of its turn, where nothing else can happen before.
        assert_eq!(packet.direction(), direction);
        self.offered[direction.index()] += 1;
    }
    fn dequeued(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        assert!(packet.arrived() <= now);
        self.dequeued[direction.index()] += 1;
    }
    fn marked(&mut self, _: Instant, direction: Direction, packet: &Packet) {
        assert!(packet.congestion_experienced());
        self.marked[direction.index()] += 1;
    }
    fn sent(&mut self, now: Instant, direction: Direction, _: &Packet) {
        self.at(now);
        self.sent[direction.index()] += 1;
    }
    fn dropped(&mut self, _: Instant, direction: Direction, _: &Packet, cause: DropCause) {
        match cause {
            DropCause::Queue(_) => self.dropped[direction.index()] += 1,
            DropCause::Loss | DropCause::Request => self.lost[direction.index()] += 1,
        }
    }
    fn delivered(&mut self, now: Instant, direction: Direction, _: &Packet) {
        self.at(now);
        self.delivered[direction.index()] += 1;
    }
    fn timer(&mut self, now: Instant, _: u32, _: bool) {
        self.at(now);
        self.timers += 1;
    }
}

fn scenario() -> Scenario {
    let mut scenario = Scenario::builtin("real").unwrap();
    scenario.set_duration(Nanos::from_secs(40));
    scenario.warmup = Nanos::ZERO;
    scenario.links[0].loss = 0.01;
    scenario.set_knob("ecn", "request").unwrap();
    scenario
}

fn backend(run: &RunSpec<'_>) -> RunRecord {
    let stop = AtomicBool::new(false);
    let watch = Watch { stop: &stop, progress: &|_| {} };
    Simulator.run(run, &watch).expect("it is not stopped")
}

#[test]
fn a_tap_sees_all_and_changes_nothing() {
    let scenario = scenario();
    for scheme in ["codel ecn=on", "pfifo limit=50", "red limit=75000b", "spa"] {
        let scheme: Spec = scheme.parse().unwrap();
        let run = RunSpec { scenario: &scenario, scheme: &scheme, seed: 3, bins: &[3], keep_connections: false };
        let mut counts = Counts::default();
        let mut simulation = Simulation::new(&run, &mut counts);
        while simulation.step() {
            assert!(simulation.now() <= simulation.end());
        }
        let stepped = simulation.finish();
        assert_eq!(stepped, backend(&run), "{scheme}");
        let silent = Simulation::new(&run, NoTap).run(|_| true);
        assert_eq!(silent, Ok(stepped), "{scheme}");

        for index in 0..2 {
            let c = &counts;
            assert_eq!(c.offered[index], c.dequeued[index] + c.dropped[index], "{scheme}");
            assert_eq!(c.dequeued[index], c.sent[index] + c.lost[index], "{scheme}");
            assert_eq!(c.sent[index], c.delivered[index], "{scheme}");
        }
        assert!(counts.lost[0] > 0 && counts.lost[1] == 0);
        assert!(counts.dropped[0] > 0 || scheme.to_string().contains("ecn"), "{scheme}");
        assert_eq!(counts.marked[0] > 0, scheme.to_string().contains("ecn"), "{scheme}");
        assert!(counts.timers > 100, "{scheme}");
    }
}
