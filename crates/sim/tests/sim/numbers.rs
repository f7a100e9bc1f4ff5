//! Numbers are what their names say: no part is larger than the whole, and groups have what a tap counts.

use gentle_aqm::Packet as _;
use gentle_experiment::results::{Comparison, GroupLinkResult, SchemeResult};
use gentle_experiment::{Backend, Direction, Ending, RunRecord, RunSpec, Scenario, Settings, Watch};
use gentle_sim::{DropCause, NoTap, Packet, Simulation, Simulator, Tap, compare};
use gentle_units::{Instant, Nanos};
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;

/// `text` with the files `trace.up`, which has the text `trace`.
fn scenario(text: &str, trace: &str) -> Scenario {
    let read = |_: &str| Ok(trace.to_owned());
    Scenario::from_toml("x.toml", text, &read).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn comparison(scenario: &Scenario, schemes: &[&str], seeds: &[u64]) -> Comparison {
    let schemes: Vec<_> = schemes.iter().map(|spec| spec.parse().unwrap()).collect();
    let settings = Settings { seeds: seeds.to_vec(), bins: vec![3] };
    compare(scenario, &schemes, &settings, &(), &AtomicBool::new(false))
}

fn result(text: &str, trace: &str, scheme: &str) -> SchemeResult {
    let scenario = scenario(text, trace);
    comparison(&scenario, &[scheme], &[1]).results.remove(0)
}

fn near(found: Option<f64>, expected: f64, tolerance: f64) {
    let found = found.expect("a value");
    assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
}

/// Four flows of a minute each, begun ten seconds apart (flent issue 66).
fn staggered(group: bool) -> String {
    let flow = |number: u64| {
        let (start, stop) = (10 * number, 10 * number + 60);
        let group = if group { format!("group = \"{number}\"\n") } else { String::new() };
        format!("[[workload]]\nkind = \"long\"\nstart = \"{start}s\"\nstop = \"{stop}s\"\n{group}")
    };
    let flows: String = (0..4).map(flow).collect();
    format!(
        "duration = \"100s\"\n[link.down]\nrate = \"12mbit\"\ndelay = \"20ms\"\n\
         [link.up]\nrate = \"1.2mbit\"\ndelay = \"20ms\"\n{flows}"
    )
}

#[test]
fn staggered_flows_do_not_get_more_than_the_link() {
    for scheme in ["codel", "pfifo limit=100"] {
        let result = result(&staggered(false), "", scheme);
        // Nothing is sent in the last tenth, and headers are a twentieth.
        let goodput = result.long_goodput_bps.mean.unwrap();
        assert!((9e6..0.9 * 12e6).contains(&goodput), "{scheme}: {goodput}");
        let used = result.utilization.unwrap() * 12e6;
        assert!(goodput < used && used < 12e6, "{scheme}: {goodput} {used}");
        assert!(result.jain_index.unwrap() > 0.7);
    }
}

#[test]
fn a_link_with_a_trace_is_used_by_what_it_carries() {
    // A packet of 1,488 + 14 bytes each 10 ms: an opportunity in three.
    let text = "duration = \"60s\"\n[link.down]\ntrace = \"trace.up\"\n[link.up]\nrate = \"12mbit\"\n\
                [[workload]]\nkind = \"udp\"\nrate = \"1.1904mbit\"\npacket = 1488\n";
    let every = |ms: u64| -> String { (1..=600).map(|n| format!("{}\n", n * ms)).collect() };
    let third = 1_502.0 / (3.0 * 1_504.0);
    let regular: String = (1..=100).map(|n| format!("{0}\n{0}\n{0}\n", 10 * n)).collect();
    let found = result(text, &regular, "pfifo");
    near(found.utilization, third, 0.005);
    near(found.links.down.capacity_bps, 3.0 * 1_504.0 * 8.0 * 100.0, 1e4);
    // A burst of opportunities after half a second without any.
    let outage: String = (501..=1_000).map(|ms| format!("{ms}\n")).collect();
    near(result(text, &outage, "pfifo limit=1000").utilization, 1_502.0 * 100.0 / (1_504.0 * 500.0), 0.005);
    // More than the link can carry.
    near(result(text, &every(100), "pfifo").utilization, 1.0, 0.01);
    assert!(result(text, &every(100), "pfifo").utilization <= Some(1.0));
}

#[test]
fn a_shaper_above_a_trace_uses_the_part_that_it_shapes_to() {
    // 84 Mb/s.
    let trace: String = (1..=1_000).map(|ms| format!("{ms}\n").repeat(7)).collect();
    let text = "duration = \"20s\"\nwarmup = \"5s\"\n[link.down]\ntrace = \"trace.up\"\ndelay = \"20ms\"\n\
                [link.up]\nrate = \"10mbit\"\ndelay = \"20ms\"\n[[workload]]\nkind = \"long\"\nflows = 2\n";
    let cake = result(text, &trace, "cake bandwidth=40mbit").utilization.unwrap();
    assert!((0.40..0.48).contains(&cake), "{cake}");
    let htb = result(text, &trace, "htb rate=40mbit child=fq_codel").utilization.unwrap();
    assert!((0.2..0.48).contains(&htb), "{htb}");
}

/// One opportunity in 100 ms: who comes in between waits for it in the queue, 50 ms on average.
#[test]
fn the_wait_for_an_opportunity_is_queueing_delay() {
    let text = "duration = \"300s\"\n[link.down]\ntrace = \"trace.up\"\n[link.up]\nrate = \"10mbit\"\n\
                [[workload]]\nkind = \"ping\"\ninterval = \"997ms\"\n";
    let result = result(text, "100\n", "pfifo");
    near(result.queue_delay_s.mean, 0.05, 0.01);
    let ping = result.applications[0].transaction_s.mean.unwrap();
    near(result.queue_delay_s.mean, ping, 1e-3);
}

#[test]
fn directions_are_measured_separately() {
    let text = "duration = \"30s\"\nwarmup = \"10s\"\n[link.down]\nrate = \"10mbit\"\ndelay = \"10ms\"\n\
                [link.up]\nrate = \"100mbit\"\ndelay = \"10ms\"\nqdisc = \"fq_codel\"\n\
                [[workload]]\nkind = \"long\"\nflows = 2\n[[workload]]\nkind = \"long\"\nflows = 2\ndirection = \"up\"\n";
    let result = result(text, "", "fq_codel");
    let [down, up] = [&result.links.down, &result.links.up];
    // A flow of 5 Mb/s next to one of 50 is fair to the flows of its own direction.
    assert!(down.jain_index.unwrap() > 0.99 && up.jain_index.unwrap() > 0.98);
    assert_eq!(result.jain_index, down.jain_index);
    assert_eq!(result.long_goodput_bps, down.long_goodput_bps);
    for (link, rate) in [(down, 10e6), (up, 100e6)] {
        assert_eq!(link.capacity_bps, Some(rate));
        let goodput = link.long_goodput_bps.mean.unwrap();
        // Acknowledgements of 100 Mb/s take a fifth of 10 Mb/s.
        assert!((0.7 * rate..0.97 * rate).contains(&goodput), "{goodput}");
    }
}

/// Counts of a tap for packets with payload on the link under test, by a number that identifies groups.
struct Counted {
    kind: fn(&Packet) -> usize,
    window: std::ops::Range<Instant>,
    offered: Vec<u64>,
    dropped: Vec<u64>,
    bytes: Vec<u64>,
    delays: Vec<Vec<f64>>,
}

impl Counted {
    fn is_counted(&self, direction: Direction, packet: &Packet) -> bool {
        direction == Direction::Down && (packet.is_udp() || packet.segment().len > 0)
    }
}

impl Tap for &mut Counted {
    fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if self.is_counted(direction, packet) && now >= self.window.start {
            self.offered[(self.kind)(packet)] += 1;
        }
    }
    fn dequeued(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if self.is_counted(direction, packet) && self.window.contains(&now) {
            let delay = (now - packet.arrived()).as_secs_f64();
            self.delays[(self.kind)(packet)].push(delay);
        }
    }
    fn sent(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if self.is_counted(direction, packet) && self.window.contains(&now) {
            self.bytes[(self.kind)(packet)] += u64::from(packet.bytes());
        }
    }
    fn dropped(&mut self, now: Instant, direction: Direction, packet: &Packet, _: DropCause) {
        let entered = match packet.arrived() {
            // The queue did not take it.
            Instant::ZERO => now,
            at => at,
        };
        if self.is_counted(direction, packet) && entered >= self.window.start {
            self.dropped[(self.kind)(packet)] += 1;
        }
    }
}

/// Compares the results of each group with what a tap counts. `kind` gives the index of the group of a packet.
fn check_groups(text: &str, scheme: &str, kind: fn(&Packet) -> usize) -> Vec<GroupLinkResult> {
    let scenario = scenario(text, "");
    let groups = scenario.groups().len();
    let window = scenario.measures_from()..scenario.stops_at();
    let seconds = (window.end - window.start).as_secs_f64();
    let spec = scheme.parse().unwrap();
    let run = RunSpec { scenario: &scenario, scheme: &spec, seed: 1, bins: &[], keep_connections: false };
    let mut counted = Counted {
        kind,
        window,
        offered: vec![0; groups],
        dropped: vec![0; groups],
        bytes: vec![0; groups],
        delays: vec![Vec::new(); groups],
    };
    Simulation::new(&run, &mut counted).run(|_| true).unwrap();
    let result = comparison(&scenario, &[scheme], &[1]).results.remove(0);
    let rate = result.links.down.capacity_bps.unwrap();
    let of_groups = result.groups.iter().map(|group| group.links.down.clone().unwrap());
    let of_groups: Vec<GroupLinkResult> = of_groups.collect();
    for (index, group) in of_groups.iter().enumerate() {
        let bps = 8.0 * counted.bytes[index] as f64 / seconds;
        // A packet that is being sent at an end of the window.
        near(group.rate_bps.mean, bps, 8.0 * 1_514.0 / seconds);
        near(group.share.mean, bps / rate, 8.0 * 1_514.0 / seconds / rate);
        let lost = counted.dropped[index] as f64 / counted.offered[index] as f64;
        near(group.loss.mean, lost, 1e-9);
        let delays = &mut counted.delays[index];
        delays.sort_by(f64::total_cmp);
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let queue = &group.queue_delay_s;
        near(queue.mean, mean, 1e-9);
        for (quantile, found) in [(0.5, queue.p50), (0.95, queue.p95), (0.99, queue.p99)] {
            let rank = ((quantile * delays.len() as f64).ceil() as usize).max(1);
            near(found, delays[rank - 1], 2e-3 * delays[rank - 1] + 1e-9);
        }
    }
    let shares: f64 = of_groups.iter().filter_map(|group| group.share.mean).sum();
    assert!(shares <= result.utilization.unwrap() + 1e-6);
    of_groups
}

fn links(rate: &str, delay: &str) -> String {
    let link = |name: &str| format!("[link.{name}]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n");
    link("down") + &link("up")
}

/// Hosts with 1, 4 and 10 flows (sch_cake issue 46).
#[test]
fn groups_of_long_flows_have_what_a_tap_counts() {
    let host = |host: u32, flows: u32| {
        format!("[[workload]]\nkind = \"long\"\nflows = {flows}\nhost = {host}\ngroup = \"host {host}\"\n")
    };
    let text = format!(
        "duration = \"40s\"\nwarmup = \"10s\"\n{}{}{}{}",
        links("30mbit", "20ms"),
        host(0, 1),
        host(1, 4),
        host(2, 10)
    );
    let of_host = |packet: &Packet| (packet.hosts().destination >> 1) as usize;
    for scheme in ["pfifo limit=100", "cake bandwidth=20mbit dual-dsthost", "gentle hosts=dst"] {
        let groups = check_groups(&text, scheme, of_host);
        let shares: Vec<f64> = groups.iter().map(|group| group.share.mean.unwrap()).collect();
        match scheme.starts_with("pfifo") {
            true => assert!(shares[2] > 3.0 * shares[0], "{shares:?}"),
            false => assert!(shares[2] < 2.5 * shares[0], "{scheme}: {shares:?}"),
        }
    }
}

/// A light source and a heavy one of the same host (sch_cake issue 145).
#[test]
fn groups_of_datagrams_have_what_a_tap_counts() {
    let text = format!(
        "duration = \"20s\"\nwarmup = \"5s\"\n{}\
         [[workload]]\nkind = \"udp\"\nrate = \"30mbit\"\npacket = 1400\nhost = 1\ngroup = \"heavy\"\n\
         [[workload]]\nkind = \"udp\"\nrate = \"40kbit\"\npacket = 200\nhost = 1\ngroup = \"light\"\n",
        links("20mbit", "5ms")
    );
    let of_length = |packet: &Packet| usize::from(packet.ip_bytes() == 200);
    let cake = check_groups(&text, "cake bandwidth=10mbit dual-dsthost", of_length);
    assert_eq!(cake[1].loss.mean, Some(0.0));
    near(cake[1].rate_bps.mean, 40_000.0 * 214.0 / 200.0, 500.0);
    near(cake[0].loss.mean, 0.67, 0.02);
    let pfifo = check_groups(&text, "pfifo limit=100", of_length);
    assert!(pfifo[1].queue_delay_s.mean > cake[1].queue_delay_s.mean);
}

/// Four tins, each offered more than the link (sch_cake issue 61).
#[test]
fn groups_of_codepoints_have_what_a_tap_counts() {
    let tin = |dscp: &str| {
        format!("[[workload]]\nkind = \"udp\"\nrate = \"24mbit\"\ndscp = \"{dscp}\"\ngroup = \"{dscp}\"\n")
    };
    let text = format!(
        "duration = \"20s\"\nwarmup = \"2s\"\n{}{}{}{}{}",
        links("200mbit", "5ms"),
        tin("cs1"),
        tin("df"),
        tin("af41"),
        tin("ef")
    );
    let of_codepoint = |packet: &Packet| match packet.dscp() {
        8 => 0,
        0 => 1,
        34 => 2,
        _ => 3,
    };
    let groups = check_groups(&text, "cake bandwidth=20mbit diffserv4", of_codepoint);
    // The shares that diffserv4 gives to tins with a backlog (sch_cake.c).
    for (group, share) in groups.iter().zip([0.0625, 0.1875, 0.5, 0.25]) {
        near(group.share.mean, share * 20.0 / 200.0, 0.003);
    }
    let staggered =
        check_groups(&staggered(true), "fq_codel", |packet| packet.connection().expect("a connection") as usize);
    near(staggered[0].rate_bps.mean, 12e6 * 0.25, 0.6e6);
}

fn record(scenario: &Scenario, scheme: &str, seed: u64) -> RunRecord {
    let spec = scheme.parse().unwrap();
    let run = RunSpec { scenario, scheme: &spec, seed, bins: &[], keep_connections: true };
    Simulation::new(&run, NoTap).run(|_| true).unwrap()
}

const SCHEMES: [&str; 5] = ["pfifo limit=10", "red limit=30000b", "pie", "fq_codel", "spa"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Each moment counts once: no connection waits for longer than it takes.
    #[test]
    fn waiting_for_retransmissions_is_a_part_of_the_response_time(
        rate in 300_u64..5_000,
        delay in 1_u64..80,
        (loss, jitter) in (0_u64..150, 0_u64..2),
        size in 1_u64..200,
        gap in 40_u64..600,
        scheme in 0..SCHEMES.len(),
        receiver in any::<bool>(),
        seed in 1_u64..1_000,
    ) {
        let initiator = if receiver { "receiver" } else { "sender" };
        let text = format!(
            "duration = \"20s\"\ndrain = \"120s\"\n\
             [link.down]\nrate = \"{rate}kbit\"\ndelay = \"{delay}ms\"\nloss = {}\njitter = \"{}ms\"\n\
             [link.up]\nrate = \"500kbit\"\ndelay = \"{delay}ms\"\nloss = {}\n\
             [[workload]]\nkind = \"poisson\"\ngap = \"{gap}ms\"\nsize = {{ zipf = 1.2, max = {size} }}\ninitiator = \"{initiator}\"\n",
            loss as f64 / 1e3, delay * jitter, loss as f64 / 2e3
        );
        let record = record(&scenario(&text, ""), SCHEMES[scheme], seed);
        let (mut waited, mut times) = (0.0, 0.0);
        for connection in &record.connections {
            let (all, syn) = (connection.retransmission_delay, connection.syn_retransmission_delay);
            prop_assert!(syn <= all, "{:?}", connection);
            prop_assert_eq!(syn > Nanos::ZERO, connection.syn_retransmitted > 0, "{:?}", connection);
            if let Ending::Completed(time) = connection.ending {
                prop_assert!(all <= time, "{:?}", connection);
                waited += all.as_secs_f64();
                times += time.as_secs_f64();
            }
        }
        prop_assert!(waited <= times);
    }

    /// Whenever flows start and stop, and whatever the link does, they get no more than it can carry.
    #[test]
    fn goodput_and_use_are_at_most_the_link(
        rate in 300_u64..20_000,
        later in 300_u64..20_000,
        delay in 0_u64..60,
        flows in prop::collection::vec((0_u64..20_000, 1_u64..25_000, any::<bool>()), 1..6),
        warmup in 0_u64..10,
        trace in prop::option::of(prop::collection::vec(0_u32..400, 1..200)),
        access in any::<bool>(),
        scheme in 0..SCHEMES.len(),
        seed in 1_u64..1_000,
    ) {
        let changes = format!("rate = \"{rate}kbit\"\nchanges = [{{ at = \"9s\", rate = \"{later}kbit\" }}]");
        let mut times: Vec<u32> = trace.iter().flatten().copied().collect();
        times.push(400);
        times.sort_unstable();
        let lines: String = times.iter().map(|time| format!("{time}\n")).collect();
        let down = if trace.is_some() { "trace = \"trace.up\"" } else { &changes };
        let access = if access { "[access]\nrate = \"100mbit\"\nhosts = 3\n" } else { "" };
        let flows: String = flows.iter().enumerate().map(|(number, (start, length, up))| {
            let direction = if *up { "up" } else { "down" };
            format!(
                "[[workload]]\nkind = \"long\"\nstart = \"{start}ms\"\nstop = \"{}ms\"\ndirection = \"{direction}\"\ngroup = \"{number}\"\n",
                start + length
            )
        }).collect();
        let text = format!(
            "duration = \"20s\"\nwarmup = \"{warmup}s\"\ndrain = \"20s\"\n[link.down]\n{down}\ndelay = \"{delay}ms\"\n\
             [link.up]\n{changes}\ndelay = \"{delay}ms\"\n{access}{flows}"
        );
        let scenario = scenario(&text, &lines);
        let result = comparison(&scenario, &[SCHEMES[scheme]], &[seed]).results.remove(0);
        for (direction, link) in [(Direction::Down, &result.links.down), (Direction::Up, &result.links.up)] {
            let (capacity, used) = (link.capacity_bps.unwrap(), link.utilization.unwrap());
            prop_assert!(used <= 1.0);
            // A packet that is under way when the rate falls leaves at the old rate.
            let carried = used * capacity + 8.0 * 1_514.0 / 10.0;
            if let Some(goodput) = link.long_goodput_bps.mean {
                // Packets sent before the end of the warm-up arrive after it.
                let fastest = 1e3 * rate.max(later) as f64 * (delay as f64 / 1e3) + 8.0 * 1_504.0 * 400.0;
                let under_way = fastest / (20.0 - warmup as f64);
                prop_assert!(goodput <= carried + under_way, "{} {}", goodput, carried);
            }
            if let Some(jain) = link.jain_index {
                prop_assert!(jain > 0.0 && jain <= 1.0 + 1e-9);
            }
            let groups = result.groups.iter().filter_map(|group| match direction {
                Direction::Down => group.links.down.as_ref(),
                Direction::Up => group.links.up.as_ref(),
            });
            let rates: f64 = groups.filter_map(|group| group.rate_bps.mean).sum();
            prop_assert!(rates <= carried + 1.0, "{} {}", rates, carried);
        }
        // Rounds and steps give one record.
        let watch = Watch { stop: &AtomicBool::new(false), progress: &|_| {} };
        let spec = SCHEMES[scheme].parse().unwrap();
        let run = RunSpec { scenario: &scenario, scheme: &spec, seed, bins: &[], keep_connections: false };
        let mut simulation = Simulation::new(&run, NoTap);
        while simulation.step() {}
        prop_assert_eq!(simulation.finish(), Simulator.run(&run, &watch).unwrap());
    }
}
