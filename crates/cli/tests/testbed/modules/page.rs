//! Commands of "Set up a queue on a router" (docs/guides/router.md), exactly as on the page.

use super::guest::{attempt, only_here, qdisc, qdiscs, run, unload};
use super::laboratory::{Laboratory, number};
use super::packets::{self, Sender};
use std::process::{Command, Output};
use std::time::Duration;

const PAGE: &str = include_str!("../../../../../docs/guides/router.md");
const UNIT: &str = include_str!("../../../../../deploy/systemd/gentle-qdisc@.service");

/// Purpose of a line of the page.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// Command to run.
    Here(&'static str),
    /// Command that runs until it is interrupted.
    Watch(&'static str),
    /// Line of the unit's configuration: the unit's arguments of `gentle qdisc apply`, which precede those on the page.
    Unit(&'static str, &'static str),
}

/// All lines of code blocks, and the complete commands within sentences.
fn lines() -> Vec<Line> {
    let blocks = PAGE.lines().filter_map(|line| line.strip_prefix("    "));
    let within = PAGE.split('`').skip(1).step_by(2).filter(|code| code.contains(" eth0 ") && !code.contains('\n'));
    blocks.chain(within).map(line).collect()
}

fn line(text: &'static str) -> Line {
    let (first, rest) = text.split_once([' ', '=']).unwrap_or((text, ""));
    match first {
        "gentle" if text.contains("--watch") => Line::Watch(text),
        "gentle" | "ethtool" => Line::Here(text),
        "EGRESS" => Line::Unit("", rest),
        "INGRESS" => Line::Unit("--ingress", rest),
        _ => panic!("docs/guides/router.md has a command that this test does not know: {text}"),
    }
}

#[test]
fn commands_of_the_page_work_as_they_stand() {
    let kinds = |wanted: fn(&Line) -> bool| lines().iter().filter(|line| wanted(line)).count();
    assert!(kinds(|line| matches!(line, Line::Here(_))) >= 6);
    assert_eq!(kinds(|line| matches!(line, Line::Watch(_))), 1);
    assert_eq!(kinds(|line| matches!(line, Line::Unit(..))), 2);
    // Command line as the unit composes it.
    assert!(UNIT.contains("gentle qdisc apply"), "{UNIT}");
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::page::within");
    assert_eq!(number(&printed, "lines"), 2 * lines().len() as u64);
}

#[test]
#[ignore = "runs within a machine"]
fn within() {
    only_here();
    run("ip link add eth0 type veth peer name modem");
    run("ip link set eth0 up");
    run("ip link set modem up");
    let mut done = the_page("spa");
    for scheme in ["spa", "gsp", "gentle", "redfavor"] {
        unload(scheme);
    }
    done += the_page("prio");
    println!("lines: {done}");
}

/// Runs the page from top to bottom; `kind` is the qdisc that implements spa.
fn the_page(kind: &str) -> usize {
    let before = run("tc qdisc show dev eth0");
    let lines = lines();
    for line in &lines {
        match *line {
            Line::Here(command) => {
                succeeds(command);
                if command.contains("apply eth0 spa") {
                    applied(command, kind);
                }
                if command.contains("show eth0") {
                    shown();
                }
                if command.contains("remove eth0") {
                    assert_eq!(run("tc qdisc show dev eth0"), before);
                    assert!(!run("ip link show").contains("in-eth0"));
                }
            }
            Line::Watch(command) => {
                let output = gentle("timeout", &format!("-s INT 3 {command}"));
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(text.matches(kind).count() >= 2, "{output:?}");
            }
            Line::Unit(direction, words) => {
                succeeds(&format!("gentle qdisc apply eth0 {direction} {words}"));
            }
        }
    }
    succeeds("gentle qdisc remove eth0");
    lines.len()
}

/// Runs a program with `gentle` from this build in the path.
fn gentle(program: &str, arguments: &str) -> Output {
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_gentle")).parent();
    let path = std::env::var("PATH").expect("a path");
    let path = format!("{}:{path}", folder.expect("a folder").display());
    let program = if program == "gentle" { env!("CARGO_BIN_EXE_gentle") } else { program };
    Command::new(program)
        .args(arguments.split_whitespace())
        .env("PATH", path)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn succeeds(command: &str) -> String {
    let (program, arguments) = command.split_once(' ').expect("arguments");
    let output = gentle(program, arguments);
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn applied(command: &str, kind: &str) {
    let dev = if command.contains("--ingress") { "in-eth0" } else { "eth0" };
    assert!(qdisc(dev, kind).is_some(), "{command}: {:?}", qdiscs(dev));
    let queues = run("tc qdisc show");
    assert!(succeeds(command).contains("nothing to do"), "{command}");
    assert_eq!(run("tc qdisc show"), queues, "running it again changes nothing");
}

/// Checks that `show` counts SYNs as handshakes, and that it marks the queues of incoming packets as `ingress`.
fn shown() {
    let count = || {
        let text = succeeds("gentle qdisc show eth0 --json");
        let shown: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let list = shown["qdiscs"].as_array().expect("a list").clone();
        assert!(list.iter().any(|row| row["direction"] == "ingress"), "{text}");
        let handshakes = list.iter().find(|row| row["direction"] == "egress" && row["role"] == "handshakes");
        handshakes.and_then(|row| row["packets"].as_u64()).expect("a row of handshakes")
    };
    let before = count();
    let mut sender = Sender::new("eth0");
    for packet in [packets::syn(), packets::syn(), packets::data(1000)] {
        sender.send(&packet);
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(count(), before + 2);
    assert!(attempt("tc -s qdisc show dev eth0").status.success());
}
