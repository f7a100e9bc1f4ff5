//! The module `sch_gentle` with packets in its queue: changed, as default qdisc, and beneath a shaper.

use super::far::Far;
use super::flows::udp;
use super::guest::{attempt, dummy, only_here, qdisc, qdiscs, run};
use super::laboratory::{Laboratory, number};
use super::packets::Sender;
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

#[test]
fn the_queue_of_gentle_survives_its_operators() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::gentle::within");
    assert_eq!(number(&printed, "changes"), CHANGES.len() as u64);
}

#[test]
#[ignore = "runs within a machine"]
fn within() {
    only_here();
    run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
    dummy("d0");
    for change in CHANGES {
        changed_while_packets_wait(change);
    }
    println!("changes: {}", CHANGES.len());
    default_qdisc();
    merged_packets_beneath_a_shaper();
}

/// Packets and flows that wait when options change.
const WAITING: u64 = 400;
const FLOWS: u16 = 40;

/// Options, and the most packets that wait afterwards.
const CHANGES: [(&str, u64); 7] = [
    ("limit 100", 100),
    ("limit 1", 1),
    // A packet of a thousand bytes takes about two thousand.
    ("memory_limit 50kb", 40),
    ("memory_limit 0", 0),
    ("hosts src", WAITING),
    ("hosts dst limit 30", 30),
    ("noecn target 1ms interval 10ms", WAITING),
];

fn changed_while_packets_wait((words, most): (&str, u64)) {
    run("tc qdisc add dev d0 root handle 1: tbf rate 8kbit burst 1600 limit 1000000");
    run("tc qdisc add dev d0 parent 1:1 handle 2: gentle");
    // A sender waits if too much of what it has sent waits.
    let mut senders = [(); 8].map(|()| Sender::new("d0"));
    for number in 0..WAITING {
        let sender = &mut senders[number as usize % 8];
        assert!(sender.send(&udp(1000 + number as u16 % FLOWS)));
    }
    run(&format!("tc qdisc change dev d0 parent 1:1 gentle {words}"));
    let [shaper, gentle] = ["tbf", "gentle"].map(|kind| qdisc("d0", kind).expect("it is there"));
    let count = |of: &Value, name: &str| of[name].as_u64().expect("a number");
    // The shaper has taken one packet, which it holds.
    assert!(count(&gentle, "qlen") <= most + 1, "{words}: {gentle}");
    // CoDel has dropped some before.
    let dropped = count(&gentle, "drop_overlimit");
    assert!(dropped <= count(&gentle, "drops"), "{words}: {gentle}");
    assert_eq!(dropped > 0, most < WAITING, "{words}: {gentle}");
    for name in ["qlen", "backlog"] {
        assert_eq!(shaper[name], gentle[name], "{words}: {shaper}");
    }
    assert!(count(&gentle, "memory_used") <= count(&gentle, "qlen") * 4096);
    let sum = count(&gentle, "qlen") + count(&gentle, "drops") + count(&shaper, "packets");
    assert_eq!(sum, WAITING, "{words}: {gentle} {shaper}");
    drains(words);
    run(&format!("tc qdisc change dev d0 parent 1:1 gentle hosts none {words}"));
    assert!(senders[0].send(&udp(7)));
    drains(words);
    run("tc qdisc del dev d0 root");
}

/// Without memory, as default qdisc and otherwise: nothing is set up, and the kernel continues (`faults/nomem.c`).
#[test]
fn gentle_without_memory_is_not_set_up() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.with_modules("testing/faults").run("modules::gentle::within_without_memory");
    // Flows, and hosts.
    assert_eq!(number(&printed, "as default qdisc"), 2);
    assert_eq!(number(&printed, "at the root"), 2);
    assert_eq!(number(&printed, "changed"), 1);
}

#[test]
#[ignore = "runs within a machine"]
fn within_without_memory() {
    only_here();
    let (link, unlink) = ("ip link add i0 up type ifb", "ip link del i0");
    let (add, delete) = ("tc qdisc add dev d0 root gentle", "tc qdisc del dev d0 root");
    let change = "tc qdisc change dev d0 root gentle hosts src";
    run("sysctl -qw net.core.default_qdisc=gentle");
    println!("as default qdisc: {}", failures(&[link, unlink], "gentle_init"));
    run("sysctl -qw net.core.default_qdisc=pfifo_fast");
    dummy("d0");
    println!("at the root: {}", failures(&[add, delete], "gentle_init"));
    println!("changed: {}", failures(&[add, change, delete], "gentle_change"));
}

/// Runs the last command but one with the first allocation failing, the second, and so on, between the others. Returns the
/// number of allocations of `function` that have failed.
fn failures(lines: &[&str], function: &str) -> usize {
    const NOMEM: &str = "/proc/gentle_nomem";
    let (undo, lines) = lines.split_last().expect("two commands");
    let (line, before) = lines.split_last().expect("two commands");
    let mut found = 0;
    for number in 1..20 {
        before.iter().for_each(|line| drop(run(line)));
        std::fs::write(NOMEM, number.to_string()).expect("the module is there");
        let succeeded = attempt(line).status.success();
        std::fs::write(NOMEM, "0").expect("it is there");
        let asked = std::fs::read_to_string(NOMEM).expect("it is there");
        if asked.split(' ').next() == Some(function) {
            found += 1;
            // Where no default qdisc can be made, a device does without.
            assert!(!succeeded || line.starts_with("ip"), "{line}");
        }
        attempt(undo);
    }
    found
}

/// Everything leaves, and every counter says so.
fn drains(words: &str) {
    sleep(Duration::from_secs(600));
    for qdisc in qdiscs("d0") {
        let left = (&qdisc["qlen"], &qdisc["backlog"]);
        assert_eq!(left, (&0.into(), &0.into()), "{words}: {qdisc}");
    }
    let gentle = qdisc("d0", "gentle").expect("it is there");
    assert_eq!(gentle["flows_len"], 0, "{words}: {gentle}");
    assert_eq!(gentle["memory_used"], 0, "{words}: {gentle}");
}

fn default_qdisc() {
    run("sysctl -qw net.core.default_qdisc=gentle");
    run("ip link add many numtxqueues 4 type veth peer name other numrxqueues 4");
    run("ip link set many up");
    run("ip link set other up");
    let made = qdiscs("many");
    let gentle = made.iter().filter(|qdisc| qdisc["kind"] == "gentle");
    assert_eq!(gentle.count(), 0, "veth has no queue: {made:?}");
    run("tc qdisc add dev many root handle 66: mq");
    let mut sender = Sender::new("many");
    for number in 0..100 {
        assert!(sender.send(&udp(1000 + number % FLOWS)));
    }
    sleep(Duration::from_secs(1));
    let made = qdiscs("many");
    let gentle = made.iter().filter(|qdisc| qdisc["kind"] == "gentle");
    let sent: Vec<u64> = gentle.map(|qdisc| qdisc["packets"].as_u64().unwrap()).collect();
    assert_eq!((sent.len(), sent.iter().sum()), (4, 100), "{made:?}");
    run("ip link del many");
    run("sysctl -qw net.core.default_qdisc=pfifo_fast");
}

/// On a link where a merged packet takes most of a second, a connection alone completes, and so do ten after each
/// other.
fn merged_packets_beneath_a_shaper() {
    let far = Far::new();
    run("tc qdisc add dev near0 root handle 1: htb default 1");
    run("tc class add dev near0 parent 1: classid 1:1 htb rate 500kbit burst 1600 cburst 1600");
    run("tc qdisc add dev near0 parent 1:1 handle 2: gentle");
    for _ in 0..10 {
        far.send(200_000);
        sleep(Duration::from_secs(1));
    }
    let gentle = qdisc("near0", "gentle").expect("it is there");
    assert_eq!(gentle["drop_overlimit"], 0, "{gentle}");
    let packets = gentle["packets"].as_u64().expect("a number");
    assert!(packets > 10 * 200_000 / 1460, "segments are counted: {gentle}");
    assert_eq!(gentle["qlen"], 0, "{gentle}");
    run("tc qdisc del dev near0 root");
}
