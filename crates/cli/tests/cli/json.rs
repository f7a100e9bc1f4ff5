//! Structure of the `--json` output, as documented in docs/reference/json.md.

use crate::command::{brief, stdout};
use serde_json::Value;

fn run(more: &[&str]) -> Value {
    serde_json::from_str(&stdout(brief(&["--json"]).args(more))).expect("JSON")
}

/// Value at the path `a.b.c`, which must exist.
fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, key| value.get(key).unwrap_or_else(|| panic!("{path}: no {key} in {value}")))
}

const COUNTS: [&str; 4] = ["seeds", "connections", "completed", "unfinished"];

const FRACTIONS: [&str; 7] = [
    "loss.all",
    "loss.data",
    "loss.syn",
    "loss.synack",
    "retransmission.packet_probability",
    "retransmission.syn_probability",
    "utilization",
];

const TIMES: [&str; 12] = [
    "response_time_s.mean",
    "response_time_s.p50",
    "response_time_s.p95",
    "response_time_s.p99",
    "rtt_s.mean",
    "queue_delay_s.mean",
    "queue_delay_s.p50",
    "queue_delay_s.p95",
    "queue_delay_s.p99",
    "retransmission.delay_mean_s",
    "retransmission.delay_mean_with_syn_loss_s",
    "retransmission.delay_mean_without_syn_loss_s",
];

const INTERVALS: [&str; 2] = ["response_time_s.ci95", "rtt_s.ci95"];

#[test]
fn every_documented_field_is_there_with_its_type() {
    let json = run(&[]);
    assert_eq!(json["version"], 2);
    assert_eq!(json["interrupted"], false);
    assert_eq!(at(&json, "scenario.name"), "short");
    assert_eq!(at(&json, "scenario.seeds"), &serde_json::json!([7, 8]));
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for result in results {
        assert!(result["scheme"].is_string());
        assert!(at(result, "options.limit").is_string());
        for path in COUNTS {
            assert!(at(result, path).is_u64(), "{path}");
        }
        assert_eq!(result["seeds"], 2);
        for path in FRACTIONS {
            let fraction = at(result, path).as_f64().unwrap_or_else(|| panic!("{path}"));
            assert!((0.0..=1.0).contains(&fraction), "{path}: {fraction}");
        }
        for path in TIMES.iter().chain(&INTERVALS) {
            let time = at(result, path).as_f64().unwrap_or_else(|| panic!("{path}"));
            assert!((0.0..1000.0).contains(&time), "{path}: {time}");
        }
        for (reason, count) in result["drops"].as_object().unwrap() {
            assert!(count.is_u64(), "{reason}");
        }
    }
    assert_eq!(results[0]["scheme"], "pfifo");
    assert_eq!(results[0]["options"]["limit"], "20");
    assert!(results[0]["drops"]["tail"].as_u64().unwrap() > 0);
    // All schemes get the same traffic.
    assert_eq!(results[0]["connections"], results[1]["connections"]);
}

#[test]
fn bins_set_the_ranges_of_sizes() {
    let json = run(&["--seeds=1"]);
    for result in json["results"].as_array().unwrap() {
        let bins = result["response_time_by_size"].as_array().unwrap();
        let ranges: Vec<_> =
            bins.iter().map(|bin| (bin["min_segments"].as_u64(), bin["max_segments"].as_u64())).collect();
        assert_eq!(ranges, [(Some(1), Some(1)), (Some(2), Some(5)), (Some(6), None)]);
        assert!(bins[2]["max_segments"].is_null());
        let n: u64 = bins.iter().map(|bin| bin["n"].as_u64().unwrap()).sum();
        assert_eq!(Some(n), result["completed"].as_u64());
        assert!(bins.iter().all(|bin| bin["mean_s"].is_f64()));
    }
}

#[test]
fn one_seed_has_no_intervals() {
    let json = run(&["--seeds=1"]);
    for result in json["results"].as_array().unwrap() {
        assert_eq!(result["seeds"], 1);
        for path in INTERVALS {
            assert!(at(result, path).is_null(), "{path}");
        }
        for bin in result["response_time_by_size"].as_array().unwrap() {
            assert!(bin["ci95_s"].is_null());
        }
        for (key, value) in result["loss_ci95"].as_object().unwrap() {
            assert!(value.is_null(), "{key}");
        }
    }
}

#[test]
fn what_was_never_observed_is_null() {
    // Without queueing and losses, no connection has lost a SYN.
    let json = run(&["--load=1%"]);
    for result in json["results"].as_array().unwrap() {
        assert!(at(result, "retransmission.delay_mean_with_syn_loss_s").is_null());
        assert_eq!(at(result, "loss.all"), 0.0);
        assert!(result["jain_index"].is_null());
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let mut args: Vec<&str> = crate::command::BRIEF.to_vec();
    args.retain(|arg| !arg.starts_with("--threads"));
    args.push("--json");
    let on = |threads: &str| stdout(crate::command::gentle(&args).arg(threads));
    let one = on("--threads=1");
    assert_eq!(one, on("--threads=2"));
    assert_eq!(one, on("--threads=3"));
    assert_eq!(one.lines().count(), 1, "compact, with a newline at the end");
    assert!(one.ends_with("}\n"));
    args.retain(|arg| !arg.starts_with("--first-seed"));
    assert_ne!(one, stdout(&mut crate::command::gentle(&args)));
}

#[test]
fn profile_and_knobs_are_told() {
    let json = run(&["--profile=freebsd-9.3", "--tcp=initial_rto=1s", "--rate=5mbit"]);
    assert_eq!(at(&json, "scenario.profile"), "freebsd-9.3");
    assert_eq!(at(&json, "scenario.tcp.initial_rto"), "1s");
    assert_eq!(at(&json, "scenario.down.rate_bps"), 5_000_000);
}
