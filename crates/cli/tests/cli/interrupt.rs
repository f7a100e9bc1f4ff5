//! Interruption with Ctrl-C, and readers that go away.

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn spawn(folder: &TempDir, args: &[&str]) -> Child {
    Command::new(cargo_bin("gentle"))
        .args(args)
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

fn interrupt(child: Child) -> Output {
    signal(child, "INT")
}

fn signal(child: Child, name: &str) -> Output {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status()
        .expect("kill is part of every Unix");
    assert!(status.success());
    child.wait_with_output().expect("it ends")
}

/// Scenario that does not end within a test.
const LONG: &str = r#"
duration = "86400s"

[link.down]
rate = "10mbit"
[link.up]
rate = "10mbit"

[[workload]]
kind = "long"
flows = 1
"#;

#[test]
fn what_had_finished_is_kept() {
    let folder = TempDir::new().unwrap();
    // Many short runs on one thread: after a second, some but not all are finished.
    let args = [
        "compare",
        "--traffic=short",
        "--duration=2s",
        "--seeds=10000",
        "--scheme=pfifo",
        "--scheme=codel",
        "--threads=1",
        "--json",
        "--csv=out.csv",
        "--pcap=out.pcapng",
    ];
    let child = spawn(&folder, &args);
    std::thread::sleep(Duration::from_millis(1500));
    let started = Instant::now();
    let output = interrupt(child);
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_slice(&output.stdout).expect("whole JSON");
    assert_eq!(json["interrupted"], true);
    for result in json["results"].as_array().unwrap() {
        let seeds = result["seeds"].as_u64().unwrap();
        assert!((1..10_000).contains(&seeds), "{seeds}");
        assert!(result["response_time_s"]["mean"].is_f64());
    }
    assert_eq!(json["results"].as_array().unwrap().len(), 2);
    // All schemes are compared over the same seeds.
    let seeds = json["seeds"].as_array().unwrap().len();
    for result in json["results"].as_array().unwrap() {
        assert_eq!(result["seeds"], seeds);
    }
    assert!(folder.path().join("out.csv").exists());
    // A partial capture could be taken for a complete one.
    assert!(!folder.path().join("out-codel.pcapng").exists());
}

#[test]
fn figures_that_are_complete_are_kept() {
    let folder = TempDir::new().unwrap();
    // The first figure takes no simulation, the second minutes on one thread.
    let args = ["reproduce", "spa-2018", "fig3", "fig5", "--threads=1", "--json", "--html=pages"];
    let child = spawn(&folder, &args);
    std::thread::sleep(Duration::from_millis(1500));
    let started = Instant::now();
    let output = interrupt(child);
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_slice(&output.stdout).expect("whole JSON");
    assert_eq!(json["interrupted"], true);
    let items = json["items"].as_array().unwrap();
    assert!(items.iter().any(|item| item["id"] == "fig3"));
    assert!(items.iter().all(|item| item["id"].as_str().unwrap().starts_with("fig3")));
    let page = std::fs::read_to_string(folder.path().join("pages/spa-2018.html")).unwrap();
    assert!(page.contains("stopped early"));
}

#[test]
fn the_exit_code_is_that_of_the_signal() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("long.toml"), LONG).unwrap();
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let child = spawn(&folder, &["sim", "long.toml", "--json"]);
        std::thread::sleep(Duration::from_millis(1000));
        let output = signal(child, name);
        assert_eq!(output.status.code(), Some(code), "{name}");
        // The program ends as on Ctrl-C, with the results so far.
        let json: Value = serde_json::from_slice(&output.stdout).expect("whole JSON");
        assert_eq!(json["interrupted"], true);
    }
}

#[test]
fn files_stay_as_they_were_when_nothing_had_finished() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("long.toml"), LONG).unwrap();
    std::fs::write(folder.path().join("out.csv"), "old").unwrap();
    let child = spawn(&folder, &["sim", "long.toml", "--csv=out.csv", "--json"]);
    std::thread::sleep(Duration::from_millis(1000));
    let output = interrupt(child);
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_slice(&output.stdout).expect("whole JSON");
    assert_eq!(json["results"], Value::Array(Vec::new()));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("no files were written"), "{complaint}");
    assert_eq!(std::fs::read_to_string(folder.path().join("out.csv")).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left behind");
}

#[test]
fn a_capture_that_was_stopped_is_not_kept() {
    let folder = TempDir::new().unwrap();
    let args =
        ["compare", "--traffic=short", "--duration=200s", "--seeds=1", "--scheme=codel", "--json", "--pcap=out.pcapng"];
    let mut child = spawn(&folder, &args);
    // The results are printed before the packets are written.
    let mut json = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut json).unwrap();
    let json: Value = serde_json::from_str(&json).expect("whole JSON");
    assert_eq!(json["interrupted"], false);
    let output = interrupt(child);
    assert_eq!(output.status.code(), Some(130));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("out.pcapng: not written, because the run was interrupted"), "{complaint}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = TempDir::new().unwrap();
    let mut child = spawn(&folder, &["schemes"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.trim_start().starts_with("pfifo"));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

/// Small capture with seven connections.
fn capture() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/data/formats/us.pcap");
    std::fs::read(path).unwrap()
}

/// Command `gentle` with an input that does not end.
fn spawn_with_open_input(folder: &TempDir, args: &[&str], bytes: &[u8]) -> (Child, ChildStdin) {
    let mut child = Command::new(cargo_bin("gentle"))
        .args(args)
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().unwrap();
    input.write_all(bytes).unwrap();
    wait_until_caught(&child);
    while cfg!(target_os = "linux") && rustix::io::ioctl_fionread(&input).unwrap() > 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(1500));
    (child, input)
}

/// Waits until a program has a handler for SIGINT, which a busy machine may delay; where there is no /proc, for nothing.
fn wait_until_caught(child: &Child) {
    let path = format!("/proc/{}/status", child.id());
    let catches = |status: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let ended = status.contains("State:\tZ");
        ended || mask.is_none_or(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
    };
    while std::fs::read_to_string(&path).is_ok_and(|status| !catches(&status)) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_live_capture_that_is_stopped_gives_what_it_had() {
    let folder = TempDir::new().unwrap();
    let args = ["analyze", "--json", "--connections=out.csv", "--flows=flows.csv", "--html=out.html", "-"];
    let (child, input) = spawn_with_open_input(&folder, &args, &capture());
    let output = interrupt(child);
    drop(input);
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_slice(&output.stdout).expect("whole JSON");
    assert_eq!(json["interrupted"], true);
    assert_eq!(json["handshakes"]["attempts"], 7);
    let rows = std::fs::read_to_string(folder.path().join("out.csv")).unwrap();
    assert_eq!(rows.lines().count(), 8);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn nothing_is_compared_when_reading_was_stopped() {
    let folder = TempDir::new().unwrap();
    let args = ["compare", "--from=-", "--rate=1mbit", "--csv=out.csv"];
    let (child, input) = spawn_with_open_input(&folder, &args, &capture());
    let output = interrupt(child);
    drop(input);
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty(), "{output:?}");
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("nothing was compared"), "{complaint}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_stream_that_is_stopped_before_it_begins_gives_nothing() {
    let folder = TempDir::new().unwrap();
    for args in [&["analyze", "-", "--html=out.html"], &["analyze", "-", "--per-file"]] {
        let (child, input) = spawn_with_open_input(&folder, args, &[]);
        let output = interrupt(child);
        drop(input);
        assert_eq!(output.status.code(), Some(130));
        assert!(output.stdout.is_empty(), "{output:?}");
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(complaint.contains("no files were written"), "{complaint}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
