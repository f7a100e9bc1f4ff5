//! Dialogues on an empty link, against what follows from round trips and the initial window alone.

use gentle_aqm::Spec;
use gentle_experiment::results::ApplicationResult;
use gentle_experiment::{Scenario, Settings};
use gentle_sim::compare;
use std::sync::atomic::AtomicBool;

/// Runs `workload` for `seconds` over links of `rate` with a round trip of 100 ms; `more` precedes the links.
fn run(rate: &str, seconds: u32, more: &str, workload: &str) -> ApplicationResult {
    let text = format!(
        "duration = \"{seconds}s\"\n{more}\n\
         [link.down]\nrate = \"{rate}\"\ndelay = \"50ms\"\n\
         [link.up]\nrate = \"{rate}\"\ndelay = \"50ms\"\n\
         [[workload]]\n{workload}"
    );
    let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let scenario = Scenario::from_toml("dialogue.toml", &text, &none).unwrap();
    let settings = Settings { seeds: vec![1], bins: vec![] };
    let scheme: Spec = "pfifo limit=1000".parse().unwrap();
    let stop = AtomicBool::new(false);
    let mut results = compare(&scenario, &[scheme], &settings, &(), &stop).results;
    let mut result = results.remove(0);
    assert_eq!(result.connections, 0, "dialogues are no such connections");
    result.applications.remove(0)
}

#[track_caller]
fn close(found: Option<f64>, expected: f64, tolerance: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() < tolerance, "{found} {expected}");
}

const RTT: f64 = 0.1;

/// A document of ten segments and twenty objects of three. The window is ten segments, then twenty, then forty.
const PAGE: &str = "kind = \"pages\"\nusers = 1\nthink = \"30s\"\ndocument = 14480\nobjects = 20\nobject = 4344\n";

#[test]
fn a_page_takes_the_round_trips_that_slow_start_needs() {
    let one = run("1gbit", 3_000, "", &format!("{PAGE}pages = 1"));
    assert!(one.transactions > 60, "{}", one.transactions);
    assert_eq!((one.failed, one.unfinished), (0, 0));
    // Connection, document, twenty segments of objects, the other forty.
    close(one.transaction_s.mean, 4.0 * RTT, 0.002);
    close(one.connect_s.mean, RTT, 0.001);
    // After the pause, the window is the initial one again (RFC 2861).
    let kept = run("1gbit", 3_000, "", &format!("{PAGE}pages = 1000000"));
    close(kept.transaction_s.p50, 3.0 * RTT, 0.02);
    let grown = "[hosts]\nidle_restart = false";
    let kept = run("1gbit", 3_000, grown, &format!("{PAGE}pages = 1000000"));
    close(kept.transaction_s.p50, 2.0 * RTT, 0.02);
}

#[test]
fn a_slow_link_adds_its_transmission_and_the_server_its_time() {
    // 70 full packets of 1514 bytes and 1 Mb/s: the link is busy from the second window on.
    let slow = run("1mbit", 3_000, "", &format!("{PAGE}pages = 1"));
    let packets = 70.0 * 1514.0 * 8.0 / 1e6;
    // The connection, the request and its first packet, the second request; then the link never idles.
    let requests = (74.0 + 74.0 + 66.0 + 366.0 + 21.0 * 300.0) * 8.0 / 1e6;
    let least = 3.0 * RTT + packets;
    let mean = slow.transaction_s.mean.unwrap();
    assert!((least..least + requests + 0.12).contains(&mean), "{mean} {least}");
    let served = format!("{PAGE}pages = 1\nservice = \"25ms\"");
    let served = run("1gbit", 3_000, "", &served);
    close(served.transaction_s.mean, 4.0 * RTT + 0.05, 0.002);
}

#[test]
fn an_echo_takes_a_round_trip_and_a_download_its_windows() {
    let ssh = run("1gbit", 600, "", "kind = \"ssh\"\nsessions = 3");
    close(ssh.transaction_s.mean, RTT, 0.0005);
    close(ssh.transaction_s.p99, RTT, 0.0005);
    let strokes = 3.0 * 600.0 / 0.239;
    assert!((ssh.transactions as f64 / strokes - 1.0).abs() < 0.05);
    close(ssh.goodput_bps.mean, ssh.transactions as f64 * 36.0 * 8.0 / 600.0, 1.0);
    // Thirty segments: ten, then twenty; all but the first download on the connection that is there.
    let on_off = run("1gbit", 600, "", "kind = \"on_off\"\nusers = 2\noff = \"5s\"\nsize = { segments = 30 }");
    close(on_off.transaction_s.p50, 2.0 * RTT, 0.01);
    assert_eq!((on_off.failed, on_off.unfinished), (0, 0));
}

#[test]
fn a_link_that_loses_everything_fails_transactions_and_ends() {
    let more = "drain = \"1000s\"\n[hosts]\nretries = 3\nsyn_retries = 1";
    let text = "kind = \"on_off\"\nusers = 5\noff = \"1s\"\nsize = { segments = 3 }";
    let lossy = |loss: &str| {
        let text = format!(
            "duration = \"300s\"\n{more}\n[link.down]\nrate = \"10mbit\"\ndelay = \"5ms\"\nloss = {loss}\n\
             [link.up]\nrate = \"10mbit\"\ndelay = \"5ms\"\n[[workload]]\n{text}"
        );
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let scenario = Scenario::from_toml("lossy.toml", &text, &none).unwrap();
        let settings = Settings { seeds: vec![1], bins: vec![] };
        let scheme: Spec = "pfifo limit=50".parse().unwrap();
        let stop = AtomicBool::new(false);
        let result = compare(&scenario, &[scheme], &settings, &(), &stop);
        result.results[0].applications[0].clone()
    };
    let nothing = lossy("1.0");
    assert_eq!((nothing.transactions, nothing.unfinished), (0, 0));
    assert!(nothing.failed > 5 * 20, "{}", nothing.failed);
    let some = lossy("0.4");
    assert!(some.failed > 0 && some.transactions > 0 && some.unfinished == 0);
}
