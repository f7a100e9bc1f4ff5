//! Concurrent changes, dumps and packets on several processors.
//!
//! Machines in virtual time have one processor, so `kernel/testing/smp/run` boots Debian's kernels with two and runs
//! this test there, in real time. A fault shows as a warning of the kernel, which ends the machine, or in the counters.

use super::guest::{drains, dummy, only_here, qdiscs, run};
use super::load::{Changes, frames};
use super::packets::Sender;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{scope, yield_now};
use std::time::Duration;

/// Number of changes for each place of a module.
const CHANGES: u64 = 4000;

/// Number of sending threads; as many dump statistics at the same time.
const SENDERS: usize = 2;

/// Dumps by one process, which takes longer to start than they do.
const DUMPS: usize = 100;

#[test]
#[ignore = "runs within a machine with several processors"]
fn within() {
    only_here();
    let processors = std::thread::available_parallelism().expect("a number");
    assert!(processors.get() > 1, "one processor shows nothing");
    dummy("d0");
    let counters = Counters::default();
    // Beneath a shaper, where a queue builds up that the parent counts.
    run("tc qdisc add dev d0 root handle 10: tbf rate 4mbit burst 3000 limit 10000000");
    together("parent 10:1", 6, &counters);
    run("tc qdisc del dev d0 root");
    // At the root, where packets bypass an empty queue.
    together("root", 7, &counters);
    counters.check();
}

#[derive(Default)]
struct Counters {
    changes: AtomicU64,
    sent: AtomicU64,
    dumps: AtomicU64,
}

impl Counters {
    /// Checks that every thread has taken part.
    fn check(&self) {
        let [changes, sent, dumps] = [&self.changes, &self.sent, &self.dumps].map(|counter| counter.load(Relaxed));
        println!("changes: {changes}, sent: {sent}, dumps: {dumps}");
        assert_eq!(changes, 2 * CHANGES);
        assert!(sent > 2 * CHANGES, "{sent} packets sent");
        assert!(dumps > 2_000, "{dumps} dumps");
    }
}

/// Sends, changes and dumps concurrently until all changes have been made; then every queue has to drain.
fn together(place: &str, seed: u64, counters: &Counters) {
    let over = AtomicBool::new(false);
    scope(|threads| {
        for first in 0..SENDERS {
            let over = &over;
            threads.spawn(move || {
                let (mut sender, frames) = (Sender::new("d0"), frames());
                for frame in frames.iter().cycle().skip(first) {
                    if over.load(Relaxed) {
                        break;
                    }
                    sender.send(frame);
                    counters.sent.fetch_add(1, Relaxed);
                    yield_now();
                }
            });
            threads.spawn(move || {
                while !over.load(Relaxed) {
                    dump(["qdisc", "class"][first % 2]);
                    counters.dumps.fetch_add(DUMPS as u64, Relaxed);
                }
            });
        }
        let mut changes = Changes::new(seed);
        let mut there = None;
        for _ in 0..CHANGES {
            there = changes.next(place, there);
        }
        counters.changes.fetch_add(changes.end(), Relaxed);
        over.store(true, Relaxed);
    });
    run("ip link set d0 up");
    // 4 Mb/s send more than any queue holds.
    drains("d0", Duration::from_secs(120), "after changes");
    if there_is(place) {
        run(&format!("tc qdisc del dev d0 {place}"));
    }
}

/// Dumps the statistics of the device [`DUMPS`] times. Its qdisc may be deleted meanwhile, which `tc` treats as an error.
fn dump(what: &str) {
    let mut tc = Command::new("tc")
        .args(["-s", "-d", "-force", "-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("tc starts");
    let lines = format!("{what} show dev d0\n").repeat(DUMPS);
    let mut input = tc.stdin.take().expect("a pipe");
    input.write_all(lines.as_bytes()).expect("tc reads");
    drop(input);
    tc.wait().expect("tc ends");
}

/// Whether a qdisc of gentle is at the place.
fn there_is(place: &str) -> bool {
    let parent = place.strip_prefix("parent ");
    qdiscs("d0").iter().any(|qdisc| match parent {
        Some(parent) => qdisc["parent"] == parent,
        None => qdisc["root"] == true && qdisc["kind"] != "noqueue",
    })
}
