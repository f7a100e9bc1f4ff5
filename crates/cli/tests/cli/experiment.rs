//! Description of the experiment and the conclusions of a comparison.

use crate::command::{brief, gentle, stderr, stdout, text};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

fn json(command: &mut assert_cmd::Command) -> Value {
    serde_json::from_str(&stdout(command)).expect("JSON")
}

const HEADLINE: &str = "response_time_by_size.0.mean_s";

/// Values of a scheme by seed.
fn by_seed(result: &Value, name: &str) -> Vec<f64> {
    let series = result["by_seed"].as_array().unwrap();
    let found = series.iter().find(|series| series["name"] == name).unwrap();
    let values = found["values"].as_array().unwrap();
    values.iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn the_experiment_is_stated_above_the_table() {
    let table = stdout(&mut brief(&["--tcp=initial_rto=3s"]));
    // Below the headline.
    let mut lines = table.lines().skip_while(|line| !line.is_empty()).skip(1);
    let stated = table.split("\nshort: ").nth(1).unwrap().split("; ").nth(1).unwrap();
    let connections = stated.split(' ').next().unwrap();
    assert!(connections.replace(',', "").parse::<u64>().unwrap() > 0);
    assert_eq!(
        lines.next().unwrap(),
        format!(
            "short: 2.4 Mb/s down at 94 % load, 400 kb/s up (pfifo limit=50), RTT 94.0 ms; {connections} connections in 2 seeds of 3.00 s; hosts linux-7.2 (initial_rto=3s)"
        )
    );
    let command = "$ gentle compare --traffic=short --duration=3s --seeds=2 --scheme='pfifo limit=20' --scheme=codel --first-seed=7 --bins='1,5' --tcp='initial_rto=3s'";
    assert_eq!(lines.next().unwrap(), command);
    assert_eq!(lines.next().unwrap(), "");
    // The first column is the response time of the shortest connections.
    let head: Vec<&str> = lines.next().unwrap().split_whitespace().take(5).collect();
    assert_eq!(head, ["scheme", "1", "seg", "1", "seg"]);
}

#[test]
fn the_command_that_is_told_gives_the_same_again() {
    let first = stdout(&mut brief(&["--json"]));
    let told: Value = serde_json::from_str(&first).unwrap();
    let command = told["command"].as_str().unwrap();
    let words = shlex::split(command).unwrap();
    assert_eq!(words[0], "gentle");
    let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    assert_eq!(stdout(gentle(&words).arg("--json")), first);
}

#[test]
fn another_rate_keeps_the_load_and_another_load_the_rate() {
    let scenario = |more: &[&str]| json(brief(&["--json", "--seeds=1"]).args(more))["scenario"].clone();
    let own = scenario(&[]);
    let load = |scenario: &Value| scenario["down"]["load"].as_f64().unwrap();
    let fast = scenario(&["--rate=24mbit"]);
    assert!((load(&fast) - load(&own)).abs() < 1e-4);
    assert_eq!(fast["up"]["rate_bps"], 4_000_000);
    assert_eq!(fast["up"]["qdisc"], "pfifo limit=500");
    let idle = scenario(&["--rate=24mbit", "--up-rate=1mbit", "--load=10%"]);
    assert!((load(&idle) - 0.1).abs() < 1e-4);
    assert_eq!(idle["up"]["rate_bps"], 1_000_000);
    assert_eq!(idle["down"]["rate_bps"], 24_000_000);
}

#[test]
fn buffers_follow_the_rate_unless_they_are_given() {
    let labels = |more: &[&str]| -> Vec<String> {
        let args = ["compare", "--json", "--seeds=1", "--duration=1s", "--rate=24mbit"];
        let json = json(gentle(&args).args(more));
        let results = json["results"].as_array().unwrap();
        results.iter().map(|r| r["label"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(labels(&[])[..2], ["pfifo limit=500", "bfifo limit=750000b"]);
    assert_eq!(labels(&["--scheme=pfifo limit=50"]), ["pfifo limit=50"]);
}

#[test]
fn a_load_that_cannot_be_had_is_wrong_usage() {
    let folder = TempDir::new().unwrap();
    let flows = folder.path().join("flows.csv");
    fs::write(&flows, "start_s,bytes\n0.0,14480\n").unwrap();
    let args = ["compare", "--load=50%", "--traffic", text(&flows)];
    let complaint = stderr(&mut gentle(&args), 2);
    assert!(
        complaint.starts_with("error: --load: the link under test has no traffic that starts at random"),
        "{complaint}"
    );
    for load in ["50", "0%", "-1%", "x%", "1001%", "nan%"] {
        let complaint = stderr(&mut gentle(&["compare", &format!("--load={load}")]), 2);
        assert!(complaint.contains("expected a percentage of the rate"), "{load}: {complaint}");
    }
}

#[test]
fn differences_are_those_of_each_seed() {
    let json = json(&mut brief(&["--json", "--seeds=4"]));
    assert_eq!(json["seeds"], serde_json::json!([7, 8, 9, 10]));
    assert_eq!(json["reference"], "pfifo limit=20");
    assert_eq!(json["headline"], HEADLINE);
    let [reference, other] = [&json["results"][0], &json["results"][1]];
    let pairs: Vec<f64> = (by_seed(other, HEADLINE).iter())
        .zip(by_seed(reference, HEADLINE))
        .map(|(other, reference)| other - reference)
        .collect();
    let mean = pairs.iter().sum::<f64>() / 4.0;
    let told = &other["paired"][HEADLINE];
    assert!((told["difference"].as_f64().unwrap() - mean).abs() < 1e-12);
    // t(0.975, 3) = 3.182446, from a table of Student's t; widened as docs/concepts/statistics.md says.
    let variance = pairs.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 3.0;
    let half = (1.0 + 4.319_94 / 4.0) * 3.182_446 * (variance / 4.0).sqrt();
    assert!((told["ci95"].as_f64().unwrap() - half).abs() < 1e-5 * half);
    let significant = told["p"].as_f64().unwrap() < 0.05;
    assert_eq!(told["verdict"].is_string(), significant);
    assert!(reference["paired"][HEADLINE]["difference"].is_null());
}

#[test]
fn any_scheme_can_be_the_reference() {
    let reference = |wanted: &str| json(&mut brief(&["--json", "--reference", wanted]));
    let by_label = reference("pfifo limit=20");
    assert_eq!(by_label["reference"], "pfifo limit=20");
    // The name suffices if it is unique.
    assert_eq!(reference("pfifo")["results"], by_label["results"]);
    let codel = reference("codel");
    assert_eq!(codel["reference"], "codel");
    assert!(codel["results"][1]["paired"][HEADLINE]["difference"].is_null());
    assert!(codel["results"][0]["paired"][HEADLINE]["difference"].is_f64());
    let complaint = stderr(&mut brief(&["--reference=pie"]), 2);
    assert!(complaint.contains("expected one of: pfifo limit=20, codel"), "{complaint}");
}

#[test]
fn who_completes_nothing_wins_nothing() {
    let args = ["--scheme=bfifo limit=1b", "--seeds=3"];
    let json = json(brief(&["--json"]).args(args));
    let dead = &json["results"][2];
    assert_eq!(dead["completed"], 0);
    for (name, paired) in dead["paired"].as_object().unwrap() {
        assert_eq!(paired["best"], false, "{name}");
        assert_ne!(paired["verdict"], "better", "{name}");
    }
    let table = stdout(brief(&args).args(["--bins=3"]));
    let table = table.replace('\n', " ");
    for said in ["bfifo limit=1b leaves ", "segments unfinished; its mean omits them and is not ranked."] {
        assert!(table.contains(said), "{said}: {table}");
    }
}

#[test]
fn a_replay_counts_its_connections_once_and_has_no_interval() {
    let folder = TempDir::new().unwrap();
    let flows = folder.path().join("flows.csv");
    fs::write(&flows, "start_s,bytes\n0.0,2896\n0.5,144800\n0.51,1448\n").unwrap();
    let args = [
        "compare",
        "--scheme=pfifo limit=10",
        "--scheme=codel",
        "--seeds=5",
        "--rate=1mbit",
        "--traffic",
        text(&flows),
    ];
    let table = stdout(&mut gentle(&args));
    let head = "flows: 1 Mb/s down at 83 % load, 1 Mb/s up (pfifo limit=50); 3 connections, the same in 5 seeds of 1.51 s; hosts linux-7.2\n";
    assert!(table.contains(&format!("\n\n{head}")), "{table}");
    assert!(table.contains("±–") && !table.contains("±0"), "{table}");
    assert!(!table.contains("best"), "{table}");
    let json = json(gentle(&args).arg("--json"));
    assert_eq!(json["scenario"]["replayed"], true);
    for result in json["results"].as_array().unwrap() {
        assert_eq!(result["seeds_alike"], true);
        assert!(result["response_time_s"]["ci95"].is_null());
    }
}

#[test]
fn nothing_to_measure_is_a_sentence() {
    let table = stdout(&mut brief(&["--duration=1us"]));
    let said = "No connection starts within 1.00 µs, so there is nothing to measure; use a longer --duration.";
    assert_eq!(table.lines().next(), Some(said), "{table}");
}
