//! Applications over datagrams on a real kernel, compared with the simulator.

use crate::kernel::kernel;
use crate::run::{gentle, number};
use serde_json::Value;
use tempfile::TempDir;

const LINKS: &str = r#"
duration = "40s"
warmup = "4s"
[link.down]
rate = "6mbit"
delay = "15ms"
[link.up]
rate = "2mbit"
delay = "10ms"
qdisc = "pfifo limit=100"
"#;

const APPLICATIONS: &str = r#"
[[workload]]
kind = "voice"
calls = 2
rtt = ["25ms", "65ms"]
[[workload]]
kind = "game"
players = 2
[[workload]]
kind = "video_call"
direction = "up"
[[workload]]
kind = "dns"
gap = "200ms"
[[workload]]
kind = "ping"
"#;

/// Names of the applications, in the order of the results.
const NAMES: [&str; 5] = ["voice", "game", "video_call", "dns", "ping"];

/// Simulated and measured results of `scenario` under two schemes with three seeds.
fn both(scenario: &str) -> Option<[Value; 2]> {
    kernel()?;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("applications.toml");
    std::fs::write(&file, scenario).unwrap();
    let arguments = [
        "--traffic",
        file.to_str().unwrap(),
        "--scheme=pfifo limit=60",
        "--scheme=fq_codel",
        "--seeds=3",
        "--quiet",
        "--threads=2",
    ];
    let simulated = gentle(&[&["compare"], &arguments[..]].concat());
    let measured = gentle(&[&["testbed", "compare"], &arguments[..]].concat());
    Some([simulated, measured])
}

#[track_caller]
fn close(what: &str, [simulator, kernel]: [f64; 2], relative: f64, absolute: f64) {
    let off = (simulator - kernel).abs();
    assert!(
        off <= absolute.max(relative * kernel.abs()),
        "{what}: {simulator} instead of {kernel}"
    );
}

#[test]
fn alone_on_their_links_datagrams_arrive_as_in_the_simulator() {
    let Some(results) = both(&format!("{LINKS}{APPLICATIONS}")) else {
        return;
    };
    for scheme in 0..2 {
        for (index, name) in NAMES.into_iter().enumerate() {
            let at = |path: &str| {
                let path = format!("/results/{scheme}/applications/{index}/{path}");
                results.each_ref().map(|result| number(result, &path))
            };
            let what = |path: &str| format!("{scheme} {name} {path}");
            for count in [
                "datagrams",
                "frames",
                "transactions",
                "failed",
                "unfinished",
            ] {
                let [simulator, kernel] = at(count);
                assert_eq!(simulator, kernel, "{}", what(count));
            }
            for (path, absolute) in [("delay_s/mean", 20e-6), ("delay_s/p99", 100e-6)] {
                close(&what(path), at(path), 0.001, absolute);
            }
        }
    }
}

#[test]
fn on_a_loaded_link_delays_and_counts_are_those_of_the_simulator() {
    let load = r#"
[[workload]]
kind = "udp"
rate = "4800kbit"
start = "1s"
[[workload]]
kind = "udp"
rate = "3mbit"
start = "10s"
stop = "11s"
[[workload]]
kind = "udp"
direction = "up"
rate = "1mbit"
packet = 700
"#;
    let Some(results) = both(&format!("{LINKS}{APPLICATIONS}{load}")) else {
        return;
    };
    for scheme in 0..2 {
        for (index, name) in NAMES.into_iter().enumerate() {
            let at = |path: &str| {
                let path = format!("/results/{scheme}/applications/{index}/{path}");
                results.each_ref().map(|result| number(result, &path))
            };
            println!(
                "{scheme} {name} {:?} {:?} {:?} {:?} {:?} {:?}",
                at("datagrams"),
                at("delay_s/mean"),
                at("delay_s/p99"),
                at("loss/mean"),
                at("transactions"),
                at("failed"),
            );
        }
    }
}
