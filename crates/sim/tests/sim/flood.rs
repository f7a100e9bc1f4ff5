//! SYN flood at the bottleneck, and the share of the link left to established connections.

use gentle_experiment::results::SchemeResult;
use gentle_experiment::{Scenario, Settings};
use gentle_sim::compare;
use std::sync::atomic::AtomicBool;

const FLOOD: &str = r#"
duration = "60s"
warmup = "10s"
[link.down]
rate = "2.4mbit"
delay = "42ms"
[link.up]
rate = "400kbit"
delay = "52ms"
[[workload]]
kind = "long"
flows = 4
start = ["0s", "2s"]
[[workload]]
kind = "syn_flood"
rate = "2mbit"
start = "5s"
"#;

fn run(scheme: &str) -> SchemeResult {
    let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let scenario = Scenario::from_toml("flood.toml", FLOOD, &none).unwrap();
    let settings = Settings { seeds: vec![1, 2], bins: vec![3] };
    let schemes = [scheme.parse().unwrap()];
    let stop = AtomicBool::new(false);
    compare(&scenario, &schemes, &settings, &(), &stop).results.remove(0)
}

/// Goodput of the established connections as a fraction of the link's 2.4 Mb/s.
fn share(result: &SchemeResult) -> f64 {
    result.long_goodput_bps.mean.unwrap() / 2.4e6
}

#[test]
fn a_bound_on_priority_keeps_data_flowing() {
    let bounded = share(&run("spa"));
    // 37.5 % of the bytes, headers included.
    assert!((0.30..0.375).contains(&bounded), "{bounded}");
    let unbounded = share(&run("spa share=100"));
    assert!(unbounded < 0.05, "{unbounded}");
}

#[test]
fn a_flood_counts_as_packets_but_not_as_syns_of_connections() {
    let result = run("spa share=100");
    // 2 Mb/s of 40-byte packets for 50 s after the warm-up.
    assert!(result.links.down.offered >= 50 * 6250);
    assert_eq!(result.connections, 0);
    // All connections were established before the end of the warm-up.
    assert_eq!(result.retransmission.syn_probability, None);
    assert_eq!(result.loss.syn, None);
    // 6,250 packets per second of 54 bytes each on the link, which carries 300,000 bytes per second.
    assert!(result.utilization.unwrap() > 0.99);
}
