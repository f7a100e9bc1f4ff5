//! Lone connections of each congestion control, compared with Linux 7.2 (see `tests/kernel/README.md`).

use gentle_aqm::Spec;
use gentle_experiment::{LinkChange, Scenario, Settings};
use gentle_sim::compare;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// Differences allowed of a connection, of which the larger counts. Where an acknowledgement and the pacing timer come
/// within a microsecond of each other, their order decides on a sample of the delivery rate; and a connection that lost
/// packets may need one retransmission more or less at its end.
const TOLERANCE_MS: f64 = 1.1;
const TOLERANCE: f64 = 0.0055;
/// Mean relative difference allowed of all other connections.
const MEAN_TOLERANCE: f64 = 0.0003;
/// Difference allowed where the kernel itself has two times: of eight connections of 700 segments of BBR over `fq_codel`
/// at 10 Mb/s, which differ only in the phase of their start, one took 998 ms and seven 975 ms.
const FORKED_TOLERANCE: f64 = 0.03;

/// Seconds between the starts of connections, so that each is alone.
const GAP: usize = 30;

/// Connections of one measurement: number of segments and response time on the kernel, ms.
type Connections = Vec<(u64, f64)>;

/// Measurements by knobs, rate, round-trip time and scheme.
fn measured() -> BTreeMap<[String; 4], Connections> {
    let text = include_str!("../kernel/senders.csv");
    let mut all: BTreeMap<[String; 4], Connections> = BTreeMap::new();
    for row in csv::Reader::from_reader(text.as_bytes()).records() {
        let row = row.unwrap();
        let key = [0, 1, 2, 3].map(|column| row[column].to_owned());
        let connection = (row[4].parse().unwrap(), row[5].parse().unwrap());
        all.entry(key).or_default().push(connection);
    }
    all
}

/// Simulated response times, ms.
fn simulated([tcp, rate, rtt, scheme]: &[String; 4], connections: &Connections) -> Vec<f64> {
    let rtt_ms: f64 = rtt.trim_end_matches("ms").parse().unwrap();
    let mut list = "start_s,bytes,rtt_s\n".to_owned();
    for (n, (segments, _)) in connections.iter().enumerate() {
        // The kernel's clock, to which timers are rounded, had the phase of half a second.
        let line = format!("{}.5,{},{}\n", GAP * n, segments * 1448, rtt_ms / 1e3);
        list.push_str(&line);
    }
    let mut scenario = Scenario::from_flows("lone.csv", &list).unwrap();
    scenario.set_profile("linux-7.2").unwrap();
    for knob in tcp.split_ascii_whitespace() {
        let (name, value) = knob.split_once('=').unwrap();
        scenario.set_knob(name, value).unwrap();
    }
    let change = LinkChange { down: Some(rate.parse().unwrap()), up: None, load: None };
    scenario.change_links(&change).unwrap();
    let settings = Settings { seeds: vec![1], bins: connections.iter().map(|(segments, _)| *segments).collect() };
    let schemes: [Spec; 1] = [scheme.parse().unwrap()];
    let stop = AtomicBool::new(false);
    let result = compare(&scenario, &schemes, &settings, &(), &stop);
    let bins = &result.results[0].response_time_by_size;
    let means = bins.iter().take(connections.len());
    means.map(|bin| bin.mean_s.unwrap() * 1e3).collect()
}

#[test]
fn lone_connections_take_the_kernels_time() {
    let all = measured();
    assert!(all.len() >= 10);
    let mut wrong = String::new();
    let mut differences = Vec::new();
    for (key, connections) in &all {
        let times = simulated(key, connections);
        for ((segments, kernel), simulated) in connections.iter().zip(times) {
            let forked =
                key[0] == "congestion_control=bbr" && key[1..] == ["10mbit", "40ms", "fq_codel"] && *segments >= 700;
            let tolerance = if forked {
                FORKED_TOLERANCE
            } else {
                differences.push((simulated / kernel - 1.0).abs());
                TOLERANCE
            };
            if (simulated - kernel).abs() > TOLERANCE_MS.max(tolerance * kernel) {
                wrong += &format!("{key:?}, {segments}: {simulated}, kernel {kernel}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    assert!(mean < MEAN_TOLERANCE, "{mean}");
}
