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

/// Simulated and measured results of one application under one scheme.
struct Pair<'a> {
    what: String,
    simulated: &'a Value,
    measured: &'a Value,
}

impl Pair<'_> {
    /// A number of both results.
    fn at(&self, path: &str) -> [f64; 2] {
        [self.simulated, self.measured].map(|result| number(result, path))
    }

    #[track_caller]
    fn equal(&self, path: &str) {
        let [simulator, kernel] = self.at(path);
        assert_eq!(simulator, kernel, "{} {path}", self.what);
    }

    #[track_caller]
    fn close(&self, path: &str, relative: f64, absolute: f64) {
        let [simulator, kernel] = self.at(path);
        let off = (simulator - kernel).abs();
        assert!(off <= absolute.max(relative * kernel.abs()), "{} {path}: {simulator} instead of {kernel}", self.what);
    }

    /// Asserts that two fractions of `n` differ by no more than three standard deviations of such counts, and one.
    #[track_caller]
    fn alike(&self, path: &str, n: f64) {
        let [simulator, kernel] = self.at(path).map(|fraction| fraction * n);
        let limit = 3.0 * (simulator + kernel).sqrt() + 1.0;
        assert!((simulator - kernel).abs() <= limit, "{} {path}: {simulator} instead of {kernel} of {n}", self.what);
    }
}

/// Runs `scenario` in the simulator and on a kernel, and compares the results of all applications.
fn compare(scenario: &str, schemes: &[&str], seeds: u32, check: impl Fn(&str, &Pair<'_>)) {
    if kernel().is_none() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("applications.toml");
    std::fs::write(&file, scenario).unwrap();
    let schemes: Vec<String> = schemes.iter().map(|s| format!("--scheme={s}")).collect();
    let seeds = format!("--seeds={seeds}");
    let mut arguments = vec!["--traffic", file.to_str().unwrap(), &seeds];
    arguments.extend(["--quiet", "--threads=2"]);
    arguments.extend(schemes.iter().map(String::as_str));
    let simulated = gentle(&[&["compare"], &arguments[..]].concat());
    let measured = gentle(&[&["testbed", "compare"], &arguments[..]].concat());
    for (number, scheme) in schemes.iter().enumerate() {
        for (index, name) in NAMES.into_iter().enumerate() {
            let path = format!("/results/{number}/applications/{index}");
            let pair = Pair {
                what: format!("{scheme} {name}"),
                simulated: simulated.pointer(&path).unwrap(),
                measured: measured.pointer(&path).unwrap(),
            };
            assert_eq!(pair.simulated["application"], name);
            check(name, &pair);
        }
    }
}

#[test]
fn alone_on_their_links_datagrams_arrive_as_in_the_simulator() {
    let scenario = format!("{LINKS}{APPLICATIONS}");
    compare(&scenario, &["pfifo limit=60"], 2, |name, pair| {
        for count in ["frames", "transactions", "failed", "unfinished"] {
            pair.equal(&format!("/{count}"));
        }
        // A microsecond in the arrival of a report can move a packet of a video to another frame.
        match name {
            "video_call" => pair.close("/datagrams", 0.001, 0.0),
            _ => pair.equal("/datagrams"),
        }
        pair.close("/delay_s/mean", 0.0, 10e-6);
        pair.close("/loss/mean", 0.0, 0.0);
        if name == "voice" {
            pair.equal("/useless/mean");
            pair.equal("/stalls_per_minute/mean");
        }
    });
}

#[test]
#[ignore = "make test-all"]
fn full_size_on_a_loaded_link_delays_and_counts_are_those_of_the_simulator() {
    // Down, the link is overloaded for a second.
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
    let scenario = format!("{LINKS}{APPLICATIONS}{load}");
    compare(&scenario, &["pfifo limit=60", "fq_codel"], 3, |name, pair| {
        let [datagrams, _] = pair.at("/datagrams");
        assert!(datagrams > 1_000.0, "{}", pair.what);
        match name {
            "voice" | "game" => pair.equal("/datagrams"),
            "video_call" => pair.close("/datagrams", 0.03, 0.0),
            // A lost ping has no answer, and a lost query is repeated.
            _ => pair.close("/datagrams", 0.01, 0.0),
        }
        pair.equal("/frames");
        pair.close("/delay_s/mean", 0.03, 0.2e-3);
        pair.alike("/loss/mean", datagrams);
        pair.alike("/useless/mean", datagrams);
        if ["dns", "ping"].contains(&name) {
            let begun = [pair.simulated, pair.measured].map(|result| {
                let counts = ["/transactions", "/failed", "/unfinished"];
                counts.map(|count| number(result, count)).iter().sum::<f64>()
            });
            assert_eq!(begun[0], begun[1], "{}", pair.what);
            // The mean without repetitions, which take five seconds each.
            pair.close("/transaction_s/p50", 0.03, 0.2e-3);
        }
        if name == "video_call" {
            pair.close("/goodput_bps/mean", 0.03, 0.0);
        }
    });
}

#[test]
fn flow_queues_on_links_that_are_often_idle_give_the_simulators_jitter() {
    if kernel().is_none() {
        return;
    }
    // A flow that was empty when the link requested a packet starts with a new deficit; others keep the rest of theirs.
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sparse.toml");
    let scenario = r#"
duration = "40s"
warmup = "4s"
[link.down]
rate = "20mbit"
delay = "4ms"
[link.up]
rate = "2mbit"
delay = "4ms"
qdisc = "as down"
[[workload]]
kind = "voice"
rtt = "50ms"
[[workload]]
kind = "video_call"
rtt = "50ms"
[[workload]]
kind = "game"
rtt = "40ms"
"#;
    std::fs::write(&file, scenario).unwrap();
    let file = file.to_str().unwrap();
    let arguments = ["--traffic", file, "--seeds=2", "--quiet"];
    let schemes = ["--scheme=fq_codel", "--scheme=fq_pie"];
    let simulated = gentle(&[&["compare"], &arguments[..], &schemes].concat());
    let measured = gentle(&[&["testbed", "compare"], &arguments[..], &schemes].concat());
    for scheme in 0..schemes.len() {
        for application in 0..3 {
            let path = format!("/results/{scheme}/applications/{application}/jitter_s/mean");
            let [simulator, kernel] = [&simulated, &measured].map(|of| number(of, &path));
            assert!((simulator / kernel - 1.0).abs() < 0.005, "{path}: {simulator} instead of {kernel}");
        }
    }
}
