//! Command `gentle qdisc` over set-ups of other origin: each is restored exactly, or refused before anything has changed.
//!
//! They are compared as `tc` shows them, for every parent and with all chains.

mod random;
mod table;

use super::guest::{only_here, run};
use super::laboratory::{Laboratory, number};
use super::packets::{self, Sender};
use std::collections::BTreeSet;
use std::process::{Command, Output};
use table::{Expected, FUNCTIONS, Row, TABLE};

const GENTLE: &str = env!("CARGO_BIN_EXE_gentle");

#[test]
fn a_setup_of_other_origin_is_restored_exactly_or_refused() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::foreign::within");
    assert_eq!(number(&printed, "set-ups"), TABLE.len() as u64, "{printed}");
}

#[test]
#[ignore = "runs within a machine"]
fn within() {
    only_here();
    run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
    let mut done = 0;
    for row in TABLE {
        done += u32::from(tried(row));
    }
    println!("set-ups: {done}");
    assert!(done * 10 > TABLE.len() as u32 * 9, "a kernel that lacks as much shows nothing");
}

/// Tries a set-up; returns whether this kernel has what it needs.
fn tried(row: &Row) -> bool {
    let name = row.name;
    run("ip link add wan numtxqueues 4 numrxqueues 4 type veth peer name peer numtxqueues 4 numrxqueues 4");
    run("ip link set wan up");
    run("ip link set peer up");
    let made = shell(&format!("{FUNCTIONS}\n{}", row.commands));
    let there = made.status.success();
    if there {
        let before = look();
        let (well, words) = gentle(&format!("apply wan bfifo {} --rate 20mbit", row.direction));
        assert!(!well && words.contains("--replace"), "{name}: {words}");
        assert_eq!(look(), before, "{name}: refused without --replace");
        // Counters and times are no part of a set-up.
        pass_packets();
        let (well, words) = gentle(&format!("apply wan bfifo {} --rate 20mbit --replace", row.direction));
        match row.expected {
            Expected::Restored => {
                assert!(well, "{name}: {words}");
                assert_ne!(look(), before, "{name}: it was replaced");
                pass_packets();
                let (well, words) = gentle("remove wan");
                assert!(well && words.contains("restored"), "{name}: {words}");
            }
            Expected::Refused(why) => {
                assert!(!well && words.contains(why), "{name}: no '{why}' in: {words}");
                assert!(words.contains("nothing was changed"), "{name}: {words}");
            }
        }
        assert_eq!(look(), before, "{name}");
        let links = run("ip link show");
        assert!(!links.contains("in-wan") && !links.contains("scratch"), "{name}: {links}");
    } else {
        println!("{name}: not made: {}", said(&made));
    }
    run("ip link del wan");
    shell("ip link del ifb4wan 2>/dev/null; :");
    there
}

fn shell(script: &str) -> Output {
    Command::new("sh").args(["-ec", script]).output().expect("a shell")
}

fn said(output: &Output) -> String {
    let text = [output.stdout.clone(), output.stderr.clone()].concat();
    String::from_utf8_lossy(&text).into_owned()
}

fn gentle(arguments: &str) -> (bool, String) {
    let output = Command::new(GENTLE).arg("qdisc").args(arguments.split_whitespace()).output().expect("it runs");
    (output.status.success(), said(&output))
}

/// Sends packets in both directions.
fn pass_packets() {
    for dev in ["wan", "peer"] {
        let mut sender = Sender::new(dev);
        for packet in [packets::syn(), packets::data(1400), packets::fin()] {
            sender.send(&packet);
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(100));
}

/// Qdiscs whose classes are created one by one. Classes of others are numbers of queues, or flows that have packets.
const WITH_CLASSES: [&str; 4] = ["htb", "hfsc", "drr", "qfq"];

/// Everything on `wan`, as `tc` shows it. The order of qdiscs and classes depends on a hash table and its history.
fn look() -> String {
    let qdiscs = run("tc -d qdisc show dev wan");
    let mut lines: Vec<String> = qdiscs.lines().map(without_counter).collect();
    for qdisc in qdiscs.lines() {
        // A list of all classes ends at the first that the kernel cannot show, such as one of sfb.
        let mut words = qdisc.split_whitespace().skip(1);
        if let (Some(kind), Some(handle)) = (words.next(), words.next())
            && WITH_CLASSES.contains(&kind)
        {
            let classes = run(&format!("tc -d class show dev wan parent {handle}"));
            lines.extend(classes.lines().map(str::to_owned));
        }
    }
    lines.sort_unstable();
    let parents: BTreeSet<&str> = lines
        .iter()
        .filter(|line| line.starts_with("qdisc ") || line.starts_with("class "))
        .filter_map(|line| line.split_whitespace().nth(2))
        .filter(|handle| *handle != "0:")
        .collect();
    // One process for all questions: a process costs more than an answer. A parent without filters answers with an error.
    let questions: String = ["root", "ingress", "egress"]
        .into_iter()
        .map(str::to_owned)
        .chain(parents.iter().map(|parent| format!("parent {parent}")))
        .flat_map(|parent| ["filter", "chain"].map(|what| format!("{what} show dev wan {parent}\n")))
        .collect();
    let filters = shell(&format!("tc -d -force -batch - <<'END' 2>&1 || :\n{questions}END\n"));
    format!("{}\n{}", lines.join("\n"), said(&filters))
}

/// A line of `tc` without the counter that htb shows among its options.
fn without_counter(line: &str) -> String {
    match line.split_once(" direct_packets_stat ") {
        Some((before, after)) => {
            let rest = after.split_once(' ').map_or("", |(_, rest)| rest);
            format!("{before} {rest}")
        }
        None => line.to_owned(),
    }
}
