//! Command `gentle qdisc` with the modules.

use super::guest::{only_here, options, qdisc, run, unload};
use super::laboratory::{Laboratory, number};
use super::packets::{self, Sender};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

const GENTLE: &str = env!("CARGO_BIN_EXE_gentle");

/// Schemes, the module of each, and an option as `tc` shows it.
const SCHEMES: [(&str, &str, &str, u64); 10] = [
    ("spa", "spa", "share", 25),
    ("spa maxlen=66 limit=60", "spa", "maxlen", 66),
    ("spa share=60 target=10ms", "spa", "share", 60),
    ("syn_prio", "spa", "maxlen", 127),
    ("gsp", "gsp", "alpha", 2),
    ("gsp threshold=12p limit=40", "gsp", "threshold_packets", 12),
    ("gentle", "gentle", "flows", 1024),
    ("gentle target=2ms noecn limit=400", "gentle", "target", 2000),
    ("redfavor", "redfavor", "limit", 75_000),
    ("redfavor limit=30000 ecn", "redfavor", "limit", 30_000),
];

/// Shapers for the schemes, in rotation.
const SHAPED: [&str; 3] = ["--rate 20mbit", "--rate 20mbit --shaper tbf", "--rate 20mbit --backing native"];

#[test]
fn gentle_qdisc_uses_the_modules() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::deployed::within");
    assert_eq!(number(&printed, "schemes"), SCHEMES.len() as u64);
    assert!(number(&printed, "counters") > 30, "{printed}");
}

#[test]
#[ignore = "runs within a machine"]
fn within() {
    only_here();
    // No packets except those sent by the test.
    run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
    run("ip link add wan type veth peer name peer");
    run("ip link set wan up");
    run("ip link set peer up");
    for (scheme, shaped) in SCHEMES.into_iter().zip(SHAPED.into_iter().cycle()) {
        put_on_and_taken_off(scheme, shaped);
    }
    println!("schemes: {}", SCHEMES.len());
    let counters: usize = ["spa", "gsp", "redfavor", "gentle"].into_iter().map(counted).sum();
    println!("counters: {counters}");
    ingress();
    without_the_module();
}

fn gentle(verb: &str, scheme: &str, rest: &str) -> (bool, String) {
    let mut command = Command::new(GENTLE);
    command.args(["qdisc", verb, "wan"]);
    if !scheme.is_empty() {
        command.arg(scheme);
    }
    let output = command.args(rest.split_whitespace()).output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).expect("text"))
}

fn succeeds(verb: &str, scheme: &str, rest: &str) -> String {
    let (well, text) = gentle(verb, scheme, rest);
    assert!(well, "{verb} {scheme} {rest}: {text}");
    text
}

fn put_on_and_taken_off((scheme, kind, option, value): (&str, &str, &str, u64), shaped: &str) {
    let before = run("tc qdisc show dev wan");
    // At the root, and beneath a shaper.
    for rest in ["", shaped] {
        let plan = succeeds("plan", scheme, rest);
        assert!(plan.contains(&format!(": {kind}")), "{scheme} {rest}: {plan}");
        assert_eq!(run("tc qdisc show dev wan").lines().count(), before.lines().count(), "a plan does nothing");
        succeeds("apply", scheme, rest);
        assert_eq!(options("wan", kind)[option], value, "{scheme} {rest}");
        let shown = run("tc qdisc show dev wan");
        let again = succeeds("apply", scheme, rest);
        assert!(again.contains("nothing to do"), "{scheme} {rest}: {again}");
        assert_eq!(run("tc qdisc show dev wan"), shown);
        succeeds("remove", "", "");
        assert_eq!(run("tc qdisc show dev wan"), before, "{scheme} {rest}");
    }
}

/// Compares every counter of `show` with the counter of `tc`; returns the number of counters.
fn counted(kind: &str) -> usize {
    succeeds("apply", kind, "--rate 1mbit --backing native");
    let mut sender = Sender::new("wan");
    for _ in 0..100 {
        for packet in [packets::syn(), packets::data(1400), packets::data(1400), packets::fin()] {
            sender.send(&packet);
        }
        std::thread::sleep(Duration::from_millis(7));
    }
    let shown = succeeds("show", "", "--json");
    let told = qdisc("wan", kind).expect("it is there");
    let shown: Value = serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{error}: {shown}"));
    let list = shown["qdiscs"].as_array().expect("a list");
    let ours = list.iter().find(|qdisc| qdisc["kind"] == kind).expect("its row");
    assert_eq!((&ours["handle"], &ours["parent"]), (&told["handle"], &told["parent"]));
    for (of_gentle, of_tc) in [
        ("bytes", "bytes"),
        ("packets", "packets"),
        ("drops", "drops"),
        ("backlog_bytes", "backlog"),
        ("backlog_packets", "qlen"),
    ] {
        assert_eq!(ours[of_gentle], told[of_tc], "{kind}: {of_gentle}");
    }
    assert_ne!(ours["drops"], 0, "{kind}: it has had to drop");
    let counters = ours["counters"].as_array().expect("a list");
    for counter in counters {
        let name = counter["name"].as_str().expect("a name");
        let expected = of_tc(&told, name);
        let same = match name {
            // Fraction of 2^32.
            "max_p" => {
                (counter["value"].as_f64().expect("a number") / 4_294_967_296.0 - expected.as_f64().expect("a number"))
                    .abs()
                    < 1e-6
            }
            "above" => (counter["value"] == 1) == (expected == true),
            "overflow" => {
                counter["value"]
                    == ["none", "happened", "drained"].iter().position(|&word| expected == word).expect("a word")
            }
            // These values change between two readings.
            "expiry_ns" | "delay_ns" | "cumul_ns" | "interval_ns" => {
                let [ours, told] = [&counter["value"], &expected].map(|value| value.as_i64().expect("a number"));
                (ours - told).abs() < 1_000_000
            }
            _ => counter["value"] == expected,
        };
        assert!(same, "{kind}: {counter}, expected {expected} as in {told}");
    }
    for any in moved(kind) {
        let has_moved =
            counters.iter().any(|counter| any.iter().any(|name| counter["name"] == *name) && counter["value"] != 0);
        assert!(has_moved, "{kind}: none of {any:?} in {counters:?}");
    }
    assert!(succeeds("show", "", "").contains(kind));
    succeeds("remove", "", "");
    counters.len()
}

/// Counters that the packets of `counted` increase: at least one of each row.
fn moved(kind: &str) -> &'static [&'static [&'static str]] {
    match kind {
        "spa" => &[&["syn"]],
        "gsp" => &[&["early_drop", "tail_drop"], &["interval_ns"]],
        "gentle" => &[&["young_levels"], &["flows_len"], &["memory_usage_bytes"]],
        "redfavor" => &[&["prob_drop", "forced_drop"], &["syn_queued"], &["qavg_bytes"], &["max_p"]],
        kind => unreachable!("{kind} is not tried"),
    }
}

/// Value that `tc` shows for a counter of gentle.
fn of_tc(told: &Value, name: &str) -> Value {
    match name {
        "memory_usage_bytes" => told["memory_used"].clone(),
        "debt_us" => told["debt"].clone(),
        "qavg_bytes" => told["qavg"].clone(),
        "syn_backlog_bytes" => told["syn_backlog"].clone(),
        name => told[name].clone(),
    }
}

fn ingress() {
    let before = run("ip link show");
    succeeds("apply", "spa", "--ingress --rate 20mbit --backing native");
    assert!(qdisc("in-wan", "spa").is_some());
    let mut sender = Sender::new("peer");
    for _ in 0..10 {
        sender.send(&packets::data(1400));
    }
    std::thread::sleep(Duration::from_secs(1));
    let spa = qdisc("in-wan", "spa").expect("it is there");
    assert_eq!(spa["packets"], 10, "{spa}");
    succeeds("remove", "", "--ingress");
    assert_eq!(run("ip link show"), before);
}

/// If a module is missing, the previous setup is restored.
fn without_the_module() {
    succeeds("apply", "spa share=77", "--rate 20mbit");
    let before = run("tc qdisc show dev wan");
    unload("gsp");
    for rest in ["--rate 5mbit --backing native", "--rate 5mbit --shaper tbf --backing native"] {
        let (well, text) = gentle("apply", "gsp", rest);
        assert!(!well && text.contains("gsp"), "{text}");
        assert_eq!(run("tc qdisc show dev wan"), before, "{text}");
    }
    succeeds("remove", "", "");
    // The module is no longer in use.
    unload("spa");
}
