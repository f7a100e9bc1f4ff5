//! Changes of rates, queues and load while a simulation runs, and reports of connections that end.

use gentle_aqm::{Packet as _, Spec, registry};
use gentle_experiment::{Direction, Ending, RunSpec, Scenario};
use gentle_sim::{DropCause, Ended, Packet, Simulation, Tap};
use gentle_units::{Instant, Nanos, Rate};

const DOWN: Direction = Direction::Down;

#[derive(Default)]
struct Log {
    offered: usize,
    dropped: usize,
    dequeued: Vec<(Instant, u32)>,
    ended: Vec<Ended>,
}

impl Tap for Log {
    fn offered(&mut self, _: Instant, direction: Direction, _: &Packet) {
        self.offered += usize::from(direction == DOWN);
    }
    fn dequeued(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if direction == DOWN {
            self.dequeued.push((now, packet.bytes()));
        }
    }
    fn dropped(&mut self, _: Instant, direction: Direction, _: &Packet, _: DropCause) {
        self.dropped += usize::from(direction == DOWN);
    }
    fn ended(&mut self, _: Instant, connection: &Ended) {
        self.ended.push(*connection);
    }
}

fn scenario(name: &str, seconds: u64) -> Scenario {
    let mut scenario = Scenario::builtin(name).unwrap();
    scenario.set_duration(Nanos::from_secs(seconds));
    scenario.warmup = Nanos::ZERO;
    scenario
}

fn start(scenario: &Scenario, scheme: &str) -> Simulation<Log> {
    let scheme: Spec = scheme.parse().unwrap();
    let run = RunSpec { scenario, scheme: &scheme, seed: 1, bins: &[3], keep_connections: true };
    Simulation::new(&run, Log::default())
}

fn advance(simulation: &mut Simulation<Log>, seconds: u64) {
    while simulation.next_at() <= Instant::from_secs(seconds) && simulation.step() {}
}

#[test]
fn a_new_rate_holds_from_the_next_packet_on() {
    let scenario = scenario("real", 60);
    let mut simulation = start(&scenario, "pfifo limit=50");
    advance(&mut simulation, 20);
    let before = simulation.tap().dequeued.len();
    let rate = Rate::from_bits_per_second(600_000).unwrap();
    simulation.set_rate(DOWN, rate);
    advance(&mut simulation, 60);
    let after = &simulation.tap().dequeued[before..];
    assert!(after.len() > 500);
    let back_to_back =
        after[1..].windows(2).filter(|pair| pair[1].0 - pair[0].0 == rate.time_to_send(pair[0].1.into())).count();
    assert!(back_to_back > after.len() * 8 / 10, "{back_to_back} of {}", after.len());
    let faster = |pair: &&[(Instant, u32)]| pair[1].0 - pair[0].0 < rate.time_to_send(pair[0].1.into());
    assert_eq!(after[1..].windows(2).filter(|pair| faster(pair)).count(), 0);
}

#[test]
fn a_new_queue_takes_over_what_waits() {
    for (old, new) in [
        ("pfifo limit=50", "pfifo limit=10"),
        ("pfifo limit=10", "bfifo limit=500kb"),
        ("codel", "fq_codel"),
        ("tbf rate=1mbit burst=5kb limit=60kb", "spa"),
    ] {
        let scenario = scenario("real", 60);
        let mut simulation = start(&scenario, old);
        while simulation.backlog(DOWN).packets < 8 && simulation.step() {}
        let waited = simulation.backlog(DOWN).packets;
        assert!(waited >= 8, "{old}");
        let queue = registry::build(&new.parse().unwrap(), 7);
        simulation.replace_queue(DOWN, queue);
        let log = simulation.tap();
        let waits = simulation.backlog(DOWN);
        assert!(waits.packets >= waited - 3, "{old}, {new}: {waits:?}");
        assert_eq!(log.offered, log.dequeued.len() + log.dropped + waits.packets);
        while simulation.step() {}
        let log = simulation.tap();
        assert_eq!(simulation.backlog(DOWN).bytes, 0);
        assert_eq!(log.offered, log.dequeued.len() + log.dropped, "{old}, {new}");
    }
}

#[test]
fn a_smaller_buffer_drops_what_does_not_fit() {
    let scenario = scenario("real", 60);
    let mut simulation = start(&scenario, "pfifo limit=50");
    while simulation.backlog(DOWN).packets < 30 && simulation.step() {}
    let before = simulation.tap().dropped;
    simulation.replace_queue(DOWN, registry::build(&"pfifo limit=10".parse().unwrap(), 1));
    assert_eq!(simulation.backlog(DOWN).packets, 10);
    assert!(simulation.tap().dropped >= before + 19);
}

#[test]
fn load_follows_its_factor() {
    let connections = |factor: f64| {
        let scenario = scenario("short", 200);
        let mut simulation = start(&scenario, "pfifo limit=50");
        advance(&mut simulation, 100);
        let before = simulation.tap().ended.len();
        if factor != 1.0 {
            simulation.scale_load(DOWN, factor);
        }
        while simulation.step() {}
        (simulation.tap().ended.len() - before) as f64
    };
    let own = connections(1.0);
    for factor in [0.25, 0.5, 0.9] {
        let ratio = connections(factor) / own;
        assert!((ratio - factor).abs() < 0.08, "{factor}: {ratio}");
    }
}

#[test]
fn sources_of_constant_rate_follow_the_load() {
    let text = "duration = \"20s\"\nwarmup = \"0s\"\n[link.down]\nrate = \"10mbit\"\n[link.up]\nrate = \"10mbit\"\n[[workload]]\nkind = \"udp\"\nrate = \"1mbit\"\npacket = 1250\njitter = 0";
    let scenario = Scenario::from_toml("x.toml", text, &|_| unreachable!("no file is named")).unwrap();
    let mut simulation = start(&scenario, "pfifo");
    advance(&mut simulation, 10);
    let before = simulation.tap().offered;
    assert_eq!(before, 1_001, "100 packets a second, the first at once");
    simulation.scale_load(DOWN, 2.0);
    advance(&mut simulation, 30);
    let after = simulation.tap().offered - before;
    assert!((1_997..=2_001).contains(&after), "{after}");
}

#[test]
fn every_connection_is_reported_as_it_is_recorded() {
    for name in ["real", "short"] {
        let scenario = scenario(name, 40);
        let mut log = Log::default();
        let scheme: Spec = "red limit=75000b".parse().unwrap();
        let run = RunSpec { scenario: &scenario, scheme: &scheme, seed: 1, bins: &[3], keep_connections: true };
        let record = Simulation::new(&run, &mut log).run(|_| true).unwrap();
        log.ended.sort_by_key(|ended| ended.started);
        assert_eq!(log.ended.len(), record.connections.len());
        assert!(log.ended.len() > 200);
        for (ended, recorded) in log.ended.iter().zip(&record.connections) {
            assert_eq!(ended.started, recorded.started);
            assert_eq!(ended.segments, Some(recorded.segments));
            assert_eq!(ended.ending, recorded.ending);
            assert_eq!(ended.handshake, recorded.handshake);
        }
        let completed = |ended: &&Ended| matches!(ended.ending, Ending::Completed(_));
        assert!(log.ended.iter().filter(completed).count() > 200);
    }
}

#[test]
fn a_request_drops_one_handshake_and_its_host_sends_it_again() {
    let scenario = scenario("short", 20);
    let run = |request: bool| {
        let mut simulation = start(&scenario, "pfifo");
        advance(&mut simulation, 5);
        if request {
            simulation.drop_next_handshake(DOWN);
        }
        assert_eq!(simulation.tap().dropped, 0);
        advance(&mut simulation, 60);
        let Log { dropped, ended, .. } = simulation.tap();
        let mut starts: Vec<_> = ended.iter().map(|ended| ended.started).collect();
        starts.sort();
        (*dropped, ended.iter().filter_map(|ended| ended.handshake).max().unwrap(), starts)
    };
    let (dropped, slowest, starts) = run(true);
    let (none, _, expected) = run(false);
    assert_eq!((dropped, none), (1, 0));
    assert!(slowest > Nanos::from_millis(900), "{slowest}");
    assert_eq!(starts, expected, "the same connections");
}
