//! Thousands of changes while packets pass.
//!
//! A program that adds, changes, replaces and deletes qdiscs (`tc -batch`) alternates with one that sends, at random
//! intervals, so that changes meet queues in every state. The sequence is determined by the seed.

use super::guest::{drains, dummy, only_here, run};
use super::laboratory::{Laboratory, number};
use super::packets::{self, Sender};
use super::table::{MODULES, Module};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Number of changes for each place of a module.
const CHANGES: u64 = 2000;

#[test]
fn changes_under_load_lose_count_of_nothing() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::load::within");
    assert_eq!(number(&printed, "changes"), 2 * CHANGES);
    assert!(number(&printed, "sent") > 10 * CHANGES, "{printed}");
    assert!(number(&printed, "refused") > 0, "queues have been full");
}

#[test]
#[ignore = "runs within a machine"]
fn within() {
    only_here();
    let mut load = Load::new();
    // Beneath a shaper, where a queue builds up that the parent counts.
    run("tc qdisc add dev d0 root handle 10: tbf rate 4mbit burst 3000 limit 10000000");
    load.change("parent 10:1");
    run("tc qdisc del dev d0 root");
    // At the root, where spa does not shape but its children may.
    load.change("root");
    load.end();
}

/// Errors of gentle, gsp and redfavor for options that depend on others or on the past.
const DEPENDENT: [&str; 4] = [
    "The number of flows cannot change",
    "threshold in packets is not below limit",
    "threshold in bytes is not below limit_bytes",
    "nodrop mode is only meaningful with ECN",
];

/// Program that reads commands, one per line.
struct Batch {
    child: Child,
}

impl Batch {
    fn new(program: &str) -> Batch {
        let child = Command::new(program)
            .args(["-force", "-batch", "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        Batch { child }
    }

    fn line(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        writeln!(input, "{line}").expect("it listens");
        // In virtual time, the command completes before the clock advances.
        sleep(Duration::from_micros(1));
    }

    /// Checks that only changes in conflict with earlier options were rejected.
    fn end(mut self) {
        drop(self.child.stdin.take());
        let mut words = String::new();
        let mut errors = self.child.stderr.take().expect("a pipe");
        errors.read_to_string(&mut words).expect("text");
        self.child.wait().expect("it ends");
        let count = |text: &str| words.matches(text).count();
        let expected: usize = DEPENDENT.iter().map(|text| count(text)).sum();
        assert_eq!(count("Command failed"), expected, "{words}");
    }
}

/// Frames of every kind that the modules distinguish.
pub(super) fn frames() -> Vec<Vec<u8>> {
    vec![packets::syn(), packets::fin(), packets::data(0), packets::data(500), packets::data(1448), packets::data(1448)]
}

struct Load {
    random: Xoshiro256PlusPlus,
    changes: Changes,
    sender: Sender,
    frames: Vec<Vec<u8>>,
    sent: u64,
    refused: u64,
}

impl Load {
    fn new() -> Load {
        dummy("d0");
        Load {
            random: Xoshiro256PlusPlus::seed_from_u64(4),
            changes: Changes::new(5),
            sender: Sender::new("d0"),
            frames: frames(),
            sent: 0,
            refused: 0,
        }
    }

    /// Makes all changes at one place.
    fn change(&mut self, place: &str) {
        let mut there: Option<&Module> = None;
        for round in 1..=CHANGES {
            there = self.changes.next(place, there);
            for _ in 0..self.random.random_range(0..40) {
                let frame = self.frames.choose(&mut self.random).expect("frames");
                self.sent += 1;
                self.refused += u64::from(!self.sender.send(frame));
            }
            sleep(Duration::from_micros(self.random.random_range(1..30_000)));
            if round % 100 == 0 {
                drains("d0", Duration::from_secs(300), "after changes");
            }
        }
    }

    fn end(self) {
        println!("changes: {}", self.changes.end());
        println!("sent: {}", self.sent);
        println!("refused: {}", self.refused);
    }
}

/// Random changes of the qdisc on the device `d0`.
pub(super) struct Changes {
    random: Xoshiro256PlusPlus,
    tc: Batch,
    ip: Batch,
    /// Handle of the present qdisc; one of another kind needs another handle.
    handle: u32,
    made: u64,
}

impl Changes {
    pub(super) fn new(seed: u64) -> Changes {
        Changes {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            tc: Batch::new("tc"),
            ip: Batch::new("ip"),
            handle: 20,
            made: 0,
        }
    }

    /// Makes a change; returns the module that is present afterwards.
    pub(super) fn next<'a>(&mut self, place: &str, there: Option<&'a Module>) -> Option<&'a Module> {
        self.made += 1;
        let Some(module) = there else {
            return Some(self.replace(place));
        };
        let kind = module.kind;
        match self.random.random_range(0..100) {
            0..50 => {
                let words = module.settings.choose(&mut self.random).expect("settings").words;
                self.tc.line(&format!("qdisc change dev d0 {place} handle {}: {kind} {words}", self.handle));
            }
            50..60 => return Some(self.replace(place)),
            60..85 if kind == "spa" => self.child(),
            60..93 => {
                self.tc.line(&format!("qdisc del dev d0 {place}"));
                return None;
            }
            // A device that is set down empties its queues.
            _ => {
                self.ip.line("link set d0 down");
                sleep(Duration::from_micros(self.random.random_range(1..1000)));
                self.ip.line("link set d0 up");
            }
        }
        there
    }

    fn replace(&mut self, place: &str) -> &'static Module {
        const ALL: &[Module] = &MODULES;
        let module = ALL.choose(&mut self.random).expect("modules");
        let settings: Vec<_> = module.settings.iter().chain(module.fixed).collect();
        let words = settings.choose(&mut self.random).expect("settings").words;
        self.handle = if self.handle == 20 { 30 } else { 20 };
        self.tc.line(&format!("qdisc replace dev d0 {place} handle {}: {} {words}", self.handle, module.kind));
        module
    }

    /// Replaces a child of spa.
    fn child(&mut self) {
        const CHILDREN: [&str; 6] = [
            "pfifo limit 4",
            "fq_codel",
            "gsp limit 20",
            "redfavor adaptive",
            "tbf rate 500kbit burst 2000 limit 20000",
            "spa share 3",
        ];
        let child = CHILDREN.choose(&mut self.random).expect("children");
        let class = self.random.random_range(1..=2);
        let class = format!("{}:{class}", self.handle);
        self.tc.line(&format!("qdisc replace dev d0 parent {class} {child}"));
        if self.random.random() {
            sleep(Duration::from_micros(self.random.random_range(1..3000)));
            self.tc.line(&format!("qdisc del dev d0 parent {class}"));
        }
    }

    /// Waits until the last change has been made; returns the number of changes.
    pub(super) fn end(self) -> u64 {
        self.tc.end();
        self.ip.end();
        self.made
    }
}
