//! The modules in trees of other qdiscs: filters and netem below, every kind of parent above, and trees drawn at random.

use super::far::Far;
use super::guest::{attempt, drains, dummy, only_here, run};
use super::laboratory::{Laboratory, number};
use super::packets::{self, Sender};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::thread::sleep;
use std::time::Duration;

#[test]
fn the_modules_work_in_trees_of_other_qdiscs() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::trees::within");
    assert!(number(&printed, "verdicts") > 0, "{printed}");
    assert_eq!(number(&printed, "parents") as usize, 2 * PARENTS.len() * MODULES.len());
}

/// Trees of one seed: GENTLE_TREES_SEED, else a fixed one; GENTLE_TREES is their number.
#[test]
fn random_trees_lose_count_of_nothing() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let of = |name: &str, default: u64| {
        let value = std::env::var(name);
        value.map_or(default, |value| value.parse().expect("a number"))
    };
    let (seed, trees) = (of("GENTLE_TREES_SEED", 1), of("GENTLE_TREES", 60));
    let plan = format!("GENTLE_TREES_PLAN={seed},{trees}");
    let printed = laboratory.run_with(&[&plan], "modules::trees::random");
    assert_eq!(number(&printed, "trees"), trees, "{printed}");
    assert!(number(&printed, "sent") > 20 * trees, "{printed}");
}

/// Modules with options that keep their queues short.
const MODULES: [(&str, &str); 4] =
    [("spa", ""), ("gsp", "limit 30"), ("redfavor", "limit 30000"), ("gentle", "limit 30")];

/// Parents with a class for all packets, of handle 10 and class 10:1.
const PARENTS: [&[&str]; 11] = [
    &["qdisc add dev d0 root handle 10: tbf rate 1mbit burst 2000 limit 10000000"],
    &["qdisc add dev d0 root handle 10: htb default 1", "class add dev d0 parent 10: classid 10:1 htb rate 1mbit"],
    &[
        "qdisc add dev d0 root handle 10: hfsc default 1",
        "class add dev d0 parent 10: classid 10:1 hfsc ls m2 1mbit ul m2 1mbit",
    ],
    &["qdisc add dev d0 root handle 10: hfsc default 1", "class add dev d0 parent 10: classid 10:1 hfsc rt m2 1mbit"],
    &["qdisc add dev d0 root handle 10: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"],
    &["qdisc add dev d0 root handle 10: ets bands 1 strict 1"],
    &[
        "qdisc add dev d0 root handle 10: drr",
        "class add dev d0 parent 10: classid 10:1 drr",
        "filter add dev d0 parent 10: protocol all matchall flowid 10:1",
    ],
    &[
        "qdisc add dev d0 root handle 10: qfq",
        "class add dev d0 parent 10: classid 10:1 qfq weight 1 maxpkt 2048",
        "filter add dev d0 parent 10: protocol all matchall flowid 10:1",
    ],
    &["qdisc add dev d0 root handle 10: red limit 1000000 avpkt 1000"],
    &["qdisc add dev d0 root handle 10: sfb"],
    &["qdisc add dev d0 root handle 10: netem delay 3ms"],
];

const PRIO: &str = "prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";

/// Qdiscs with filters.
const FILTERED: [&str; 8] = ["fq_codel", "sfq", "prio", "drr", "cake", "ets bands 2", "sfb", "htb"];

#[test]
#[ignore = "runs within a machine"]
fn within() {
    only_here();
    run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
    dummy("d0");
    dummy("d1");
    verdicts_hold();
    netem_below();
    let mut parents = 0;
    for parent in PARENTS {
        for between in [false, true] {
            for module in MODULES {
                below(parent, between, module);
                parents += 1;
            }
        }
    }
    println!("parents: {parents}");
    every_queue_of_a_device();
    hfsc_treats_all_that_push_out_alike();
    merged_packets_on_a_slow_link();
}

fn tc(words: &str) {
    run(&format!("tc {words}"));
}

fn sent(dev: &str) -> u64 {
    let path = format!("/sys/class/net/{dev}/statistics/tx_packets");
    let text = std::fs::read_to_string(path).expect("a counter");
    text.trim().parse().expect("a number")
}

fn load(sender: &mut Sender, times: usize) {
    for _ in 0..times {
        for frame in [packets::syn(), packets::data(1400), packets::fin()] {
            sender.send(&frame);
        }
    }
}

/// A filter's verdict on a packet is final.
fn verdicts_hold() {
    let mut sender = Sender::new("d0");
    let mut verdicts = 0;
    for child in FILTERED {
        for (action, elsewhere) in [("drop", 0), ("mirred egress redirect dev d1", 30)] {
            tc("qdisc add dev d0 root handle 1: spa fin priority");
            for class in [1, 2] {
                tc(&format!("qdisc add dev d0 parent 1:{class} handle 2{class}: {child}"));
                tc(&format!("filter add dev d0 parent 2{class}: protocol all matchall action {action}"));
            }
            let before = (sent("d0"), sent("d1"));
            load(&mut sender, 10);
            drains("d0", Duration::from_secs(1), child);
            let went = (sent("d0") - before.0, sent("d1") - before.1);
            assert_eq!(went, (0, elsewhere), "{child}: {action}");
            tc("qdisc del dev d0 root");
            verdicts += 1;
        }
    }
    println!("verdicts: {verdicts}");
}

/// A bridge br0 whose ports d0 and d2 forward at once. One that snoops joins the group of all snoopers, whose IGMP report would be
/// a packet more.
fn bridge() {
    run("ip link add br0 type bridge forward_delay 0 mcast_snooping 0");
    for line in ["d0 master br0", "d2 master br0", "br0 up"] {
        run(&format!("ip link set {line}"));
    }
}

/// netem loses, duplicates, corrupts and reorders, also packets that two devices share.
fn netem_below() {
    dummy("d2");
    bridge();
    let mut sender = Sender::new("br0");
    for (netem, least, most) in [
        ("netem loss 100%", 0, 0),
        ("netem duplicate 100%", 60, 60),
        ("netem corrupt 100% limit 1 delay 200ms", 1, 2),
        ("netem delay 3ms reorder 50% gap 2", 30, 30),
    ] {
        tc("qdisc add dev d0 root handle 1: spa");
        tc(&format!("qdisc add dev d0 parent 1:2 handle 22: {netem}"));
        let before = sent("d0");
        for _ in 0..10 {
            for frame in [packets::data(100), packets::data(1400), packets::fin()] {
                sender.send(&frame);
            }
        }
        drains("d0", Duration::from_secs(5), netem);
        let went = sent("d0") - before;
        assert!((least..=most).contains(&went), "{netem}: {went}");
        tc("qdisc del dev d0 root");
    }
    run("ip link del br0");
    run("ip link del d2");
}

/// Everything that a queue takes leaves it again, whatever is above.
fn below(parent: &[&str], between: bool, (module, options): (&str, &str)) {
    let what = format!("{module} below {} (prio between: {between})", parent[0]);
    parent.iter().copied().for_each(tc);
    let place = if between {
        tc(&format!("qdisc add dev d0 parent 10:1 handle 20: {PRIO}"));
        "20:1"
    } else {
        "10:1"
    };
    // hfsc forgets a class that a packet on arrival empties, if a qdisc is between: see below.
    let forgets = between && parent[0].contains("hfsc");
    let options = if forgets { "" } else { options };
    tc(&format!("qdisc add dev d0 parent {place} handle 30: {module} {options}"));
    let mut sender = Sender::new("d0");
    for round in 0..3 {
        let before = sent("d0");
        load(&mut sender, 12);
        drains("d0", Duration::from_secs(20), &what);
        // sfb keeps its state in a part of the packet that children overwrite: it then drops what it should not.
        let passes = sent("d0") > before || parent[0].ends_with("sfb");
        assert!(passes, "{what}: round {round}");
    }
    tc("qdisc del dev d0 root");
}

fn every_queue_of_a_device() {
    run("ip link add d4 numtxqueues 4 type dummy");
    run("ip link set d4 up");
    let mut sender = Sender::new("d4");
    for (module, _) in MODULES {
        std::fs::write("/proc/sys/net/core/default_qdisc", "pfifo_fast").expect("it is set");
        tc("qdisc replace dev d4 root handle 10: mq");
        for class in 1..=4 {
            tc(&format!("qdisc add dev d4 parent 10:{class} {module}"));
        }
        let before = sent("d4");
        load(&mut sender, 10);
        assert_eq!(sent("d4") - before, 30, "{module}");
        drains("d4", Duration::ZERO, module);
        tc("qdisc del dev d4 root");
        // As what every device gets.
        std::fs::write("/proc/sys/net/core/default_qdisc", module).expect("it is set");
        if module == "redfavor" {
            // tc computes its options, so that it cannot be made without.
            assert!(!attempt("tc qdisc replace dev d4 root handle 10: mq").status.success());
            continue;
        }
        dummy("d5");
        tc("qdisc replace dev d4 root handle 10: mq");
        for dev in ["d4", "d5"] {
            let mut sender = Sender::new(dev);
            let before = sent(dev);
            load(&mut sender, 10);
            assert_eq!(sent(dev) - before, 30, "{module} as default");
        }
        tc("qdisc del dev d4 root");
        run("ip link del d5");
    }
    std::fs::write("/proc/sys/net/core/default_qdisc", "pfifo_fast").expect("it is set");
    run("ip link del d4");
}

/// A class of hfsc stalls if an arrival pushes out the last packet below another qdisc (upstream/hfsc). As long as that
/// is so for Linux's fq_codel it is for redfavor; the manual warns of it.
fn hfsc_treats_all_that_push_out_alike() {
    let stalls = |leaf: &str, first: Vec<u8>| {
        tc("qdisc add dev d0 root handle 10: hfsc default 1");
        tc("class add dev d0 parent 10: classid 10:1 hfsc ls m2 8kbit ul m2 8kbit");
        tc(&format!("qdisc add dev d0 parent 10:1 handle 20: {PRIO}"));
        tc(&format!("qdisc add dev d0 parent 20:1 handle 30: {leaf}"));
        let mut sender = Sender::new("d0");
        sender.send(&packets::data(1400));
        sleep(Duration::from_millis(300));
        sender.send(&packets::data(1400));
        sender.send(&first);
        let before = sent("d0");
        // Longer than a packet of this size takes.
        sleep(Duration::from_secs(10));
        let stalled = sent("d0") == before;
        tc("qdisc del dev d0 root");
        stalled
    };
    let of_linux = stalls("fq_codel limit 1", packets::syn());
    let ours = stalls("redfavor limit 1550 min 50000 max 150000 ewma 9", packets::syn());
    println!("hfsc stalls: {}", u8::from(of_linux));
    assert!(of_linux || !ours, "redfavor stalls below hfsc, fq_codel does not");
}

/// Packets that the kernel puts together from many segments are longer than a slow link sends in a target.
fn merged_packets_on_a_slow_link() {
    let far = Far::new();
    for (module, options) in MODULES {
        tc("qdisc add dev near0 root handle 10: htb default 1");
        tc("class add dev near0 parent 10: classid 10:1 htb rate 2mbit");
        let options = if module == "redfavor" { "limit 200000" } else { options };
        tc(&format!("qdisc add dev near0 parent 10:1 handle 20: {module} {options}"));
        far.send(300_000);
        drains("near0", Duration::from_secs(5), module);
        tc("qdisc del dev near0 root");
    }
}

/// Kinds that have children, with the classes that exist at once.
const INNER: [(&str, &[&str]); 9] = [
    ("tbf rate 2mbit burst 3000 limit 1000000", &["1"]),
    ("prio bands 3", &["1", "2", "3"]),
    ("ets bands 3 strict 1 quanta 2000 3000", &["1", "2", "3"]),
    ("red limit 300000 avpkt 1000", &["1"]),
    ("sfb", &["1"]),
    ("netem delay 2ms loss 5%", &["1"]),
    ("netem duplicate 20%", &[]),
    ("spa", &["1", "2"]),
    ("spa fin priority maxlen 0 share 5", &["1", "2"]),
];

const LEAVES: [&str; 16] = [
    "pfifo limit 3",
    "bfifo limit 3000",
    "codel limit 4",
    "fq_codel limit 4 flows 4",
    "fq_codel memory_limit 5000",
    "sfq limit 4",
    "pie limit 4",
    "choke limit 8 min 1 max 4 avpkt 1000 bandwidth 10mbit burst 2",
    "gsp limit 4 threshold 1p",
    "gsp threshold 1ms",
    "redfavor limit 4000",
    "redfavor limit 20000 min 2000 max 6000 share 100",
    "gentle limit 4",
    "gentle memory_limit 6000 flows 8 hosts src",
    "gentle",
    "netem delay 5ms limit 3",
];

struct Trees {
    random: Xoshiro256PlusPlus,
    handle: u32,
    /// Classes that can have a qdisc.
    places: Vec<String>,
    commands: Vec<String>,
}

impl Trees {
    /// Runs `tc`, which may refuse what the kernel does not allow in this tree.
    fn try_tc(&mut self, words: &str) -> bool {
        let done = attempt(&format!("tc {words}")).status.success();
        self.commands.push(format!("{words}{}", if done { "" } else { " (refused)" }));
        done
    }

    fn add(&mut self, place: &str, depth: u32) {
        self.handle += 1;
        let handle = self.handle;
        let inner = depth < 3 && self.random.random_bool(if depth == 0 { 0.9 } else { 0.5 });
        let (kind, classes) = if inner {
            *INNER.choose(&mut self.random).expect("kinds")
        } else {
            (*LEAVES.choose(&mut self.random).expect("kinds"), &[][..])
        };
        if !self.try_tc(&format!("qdisc replace dev d0 {place} handle {handle:x}: {kind}")) {
            return;
        }
        for class in classes {
            let place = format!("parent {handle:x}:{class}");
            self.places.push(place.clone());
            if self.random.random_bool(0.8) {
                self.add(&place, depth + 1);
            }
        }
        if self.random.random_bool(0.2) {
            let actions = ["drop", "mirred egress redirect dev d1", "pass"];
            let action = actions.choose(&mut self.random).expect("actions");
            let size = self.random.random_range(0..3);
            // Of all packets, or of packets of one length.
            let matches = ["matchall", "u32 match u16 0x0034 0xffff at 2", "u32 match u8 6 0xff at 9"];
            self.try_tc(&format!(
                "filter add dev d0 parent {handle:x}: protocol all prio 1 {} action {action}",
                matches[size]
            ));
        }
    }

    /// A change of the tree while packets wait.
    fn change(&mut self) {
        let Some(place) = self.places.choose(&mut self.random).cloned() else {
            return;
        };
        match self.random.random_range(0..4) {
            0 => {
                self.try_tc(&format!("qdisc del dev d0 {place}"));
            }
            1 => {
                run("ip link set d0 down");
                run("ip link set d0 up");
            }
            _ => self.add(&place, 2),
        }
    }
}

/// A frame of any kind, now and then cut off or of noise.
fn any_frame(random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut frame = match random.random_range(0..5) {
        0 => packets::syn(),
        1 => packets::fin(),
        2 => packets::data(random.random_range(0..40)),
        _ => packets::data(random.random_range(40..1448)),
    };
    if random.random_bool(0.1) {
        frame.truncate(random.random_range(15..frame.len()));
    }
    if random.random_bool(0.1) {
        let at = random.random_range(14..frame.len());
        frame[at] = random.random();
    }
    frame
}

#[test]
#[ignore = "runs within a machine"]
fn random() {
    only_here();
    let plan = std::env::var("GENTLE_TREES_PLAN").expect("seed and number");
    let (seed, number) = plan.split_once(',').expect("seed and number");
    let (seed, number): (u64, u64) = (seed.parse().unwrap(), number.parse().unwrap());
    run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
    for dev in ["d0", "d1", "d2"] {
        dummy(dev);
    }
    bridge();
    let mut frames = 0;
    for tree in 0..number {
        let mut trees = Trees {
            random: Xoshiro256PlusPlus::seed_from_u64(seed << 32 | tree),
            handle: 0x10,
            places: Vec::new(),
            commands: Vec::new(),
        };
        trees.add("root", 0);
        // Through the bridge both devices get the same packet, a clone.
        let mut senders = [Sender::new("d0"), Sender::new("br0")];
        for _ in 0..trees.random.random_range(1..8) {
            for _ in 0..trees.random.random_range(1..40) {
                let frame = any_frame(&mut trees.random);
                let way = usize::from(trees.random.random_bool(0.3));
                senders[way].send(&frame);
                frames += 1;
            }
            sleep(Duration::from_micros(trees.random.random_range(0..20_000)));
            if trees.random.random_bool(0.4) {
                trees.change();
            }
        }
        // A reset device has an empty queue that works.
        drains("d0", Duration::from_secs(100), &format!("tree {tree} of seed {seed}: {:#?}", trees.commands));
        attempt("tc qdisc del dev d0 root");
    }
    println!("trees: {number}");
    println!("sent: {frames}");
}
