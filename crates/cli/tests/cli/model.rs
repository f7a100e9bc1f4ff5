//! `gentle model`.

use crate::command::{gentle, stderr, stdout, text};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// Conditions as in spa-2018, Fig. 3.
const PUBLISHED: [&str; 6] =
    ["model", "--rtt=100ms", "--loss=0.02", "--syn-loss=4%", "--rto=1s,3s", "--backoff=published"];

fn json(args: &[&str]) -> Value {
    let mut args = args.to_vec();
    args.push("--json");
    serde_json::from_str(&stdout(&mut gentle(&args))).expect("JSON")
}

#[test]
fn a_table_for_people() {
    insta::assert_snapshot!(stdout(&mut gentle(&PUBLISHED)));
}

#[test]
fn the_formulas_are_those_of_the_paper() {
    let found = json(&PUBLISHED);
    let rto = &found["rtos"][1];
    assert_eq!(rto["initial_rto_s"], 3.0);
    // t_syn − RTT = RTO·(1/(1 − p) − 1).
    let wait = rto["mean_wait_s"].as_f64().unwrap();
    assert!((wait - 3.0 * (1.0 / 0.96 - 1.0)).abs() < 1e-12);
    let size = &rto["sizes"][5];
    assert_eq!(size["segments"], 1_000);
    // t = t_syn + n_ss·RTT + (S − (2^n_ss − 1))/X + S·p·RTT + t_fin.
    let throughput = (3.0_f64 / 0.04).sqrt() / 0.1;
    let rounds = (4.0 / 30.0 * throughput).log2() + 1.0;
    let data = rounds * 0.1 + (1000.0 - (rounds.exp2() - 1.0)) / throughput + 2.0;
    let mean = size["mean_s"].as_f64().unwrap();
    assert!((mean - (0.1 + wait + data + 0.1)).abs() < 1e-9, "{mean}");
    assert_eq!(
        found["command"],
        "gentle model --rtt=100ms --loss=0.02 --syn-loss='4%' --rto='1s,3s' --backoff=published"
    );
}

#[test]
fn unless_given_a_handshake_is_lost_like_two_packets() {
    let found = json(&["model", "--loss=10%", "--segments=1,10"]);
    assert!((found["handshake_loss"].as_f64().unwrap() - 0.19).abs() < 1e-12);
    let sizes = found["rtos"][0]["sizes"].as_array().unwrap();
    assert_eq!(sizes.len(), 2);
}

#[test]
fn files_hold_the_same_numbers() {
    let dir = TempDir::new().unwrap();
    let (csv, html) = (dir.path().join("m.csv"), dir.path().join("m.html"));
    let found = json(&["model", "--csv", text(&csv), "--html", text(&html)]);
    let rows = fs::read_to_string(&csv).unwrap();
    let last = rows.lines().last().unwrap().split(',').collect::<Vec<_>>();
    let size = &found["rtos"][1]["sizes"][8];
    assert_eq!(rows.lines().count(), 1 + 2 * 9);
    assert_eq!(last[1], size["segments"].to_string());
    assert_eq!(last[2], size["mean_s"].to_string());
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.contains(r#"<code class="copied">gentle model</code>"#), "{page}");
    assert!(page.contains("<td>") && page.contains("With an initial RTO of 3\u{a0}s"));
}

#[test]
fn values_that_make_no_sense_are_refused() {
    for (arg, part) in [
        ("--loss=1", "expected a probability from 0 to less than 1, such as 0.02 or 2%"),
        ("--syn-loss=-1%", "expected a probability"),
        ("--rtt=0s", "expected more than 0s"),
        ("--rto=1s,0s", "expected more than 0s"),
        ("--segments=0", "expected a whole number, 1 to"),
        ("--initial-window=0", "expected a whole number, 1 to 1000"),
    ] {
        let said = stderr(&mut gentle(&["model", arg]), 2);
        assert!(said.contains(part), "{arg}: {said}");
    }
}
