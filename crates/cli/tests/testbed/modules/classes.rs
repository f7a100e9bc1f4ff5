//! Classes of spa, and the modules as classes of other qdiscs.

use super::guest::{drains, dummy, only_here, qdiscs, refused, run};
use super::laboratory::{Laboratory, number};
use super::packets::{self, Sender};
use serde_json::Value;
use std::time::{Duration, Instant};

#[test]
fn queues_of_spa_can_be_any_qdisc() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::classes::within");
    assert_eq!(number(&printed, "children"), CHILDREN.len() as u64);
}

/// Longer than any queue here takes to drain.
const PATIENCE: Duration = Duration::from_secs(30);

/// Replacements for pfifo: qdiscs without state, with fair queues, with classes, with timers, with a shaper, and
/// gentle's own.
const CHILDREN: [&str; 11] = [
    "pfifo limit 5",
    "bfifo limit 20000",
    "fq_codel",
    "sfq perturb 1",
    "pie",
    "tbf rate 50kbit burst 2000 limit 30000",
    "netem delay 3ms",
    "gentle memory_limit 20kb",
    "gsp",
    "redfavor adaptive",
    "spa",
];

#[test]
#[ignore = "runs within a machine"]
fn within() {
    only_here();
    dummy("d0");
    run("tc qdisc add dev d0 root handle 10: tbf rate 1mbit burst 2000 limit 10000000");
    run("tc qdisc add dev d0 parent 10:1 handle 1: spa");
    let mut sender = Sender::new("d0");
    two_classes_and_no_more();
    for child in CHILDREN {
        a_child(child, &mut sender);
    }
    println!("children: {}", CHILDREN.len());
    run("tc qdisc add dev d0 parent 1:1 handle 2: gsp");
    run("tc qdisc add dev d0 parent 1:2 handle 3: spa");
    run("tc qdisc add dev d0 parent 3:2 handle 4: redfavor");
    load(&mut sender);
    run("tc qdisc del dev d0 root");
    assert!(qdiscs("d0").iter().all(|qdisc| qdisc["handle"] == "0:"));
    under_others(&mut sender);
    an_empty_queue_takes_every_syn(&mut sender);
}

/// After a flood of nothing but SYNs, a burst and then twice as many as the link sends, which leaves no tokens of the share.
fn an_empty_queue_takes_every_syn(sender: &mut Sender) {
    for module in ["spa share 1", "redfavor limit 30000 share 1"] {
        run("tc qdisc add dev d0 root handle 10: tbf rate 1mbit burst 2000 limit 10000000");
        run(&format!("tc qdisc add dev d0 parent 10:1 handle 1: {module}"));
        let mut send = |times: usize| {
            for _ in 0..times {
                sender.send(&packets::syn());
            }
        };
        send(400);
        for _ in 0..1000 {
            send(2);
            std::thread::sleep(Duration::from_micros(500));
        }
        for _ in 0..3 {
            drains("d0", PATIENCE, module);
            let before = sent();
            send(1);
            drains("d0", PATIENCE, module);
            assert_eq!(sent(), before + 1, "{module}");
        }
        run("tc qdisc del dev d0 root");
    }
}

fn two_classes_and_no_more() {
    let classes = spa_classes();
    assert_eq!(classes.len(), 2, "{classes:?}");
    for (class, name) in classes.iter().zip(["1:1", "1:2"]) {
        assert!(class.starts_with(&format!("class spa {name} parent 1:")), "{class}");
    }
    for command in ["add", "change"] {
        refused(&format!("tc class {command} dev d0 parent 1: classid 1:3 spa"), "");
    }
    refused("tc class del dev d0 classid 1:1", "");
    for class in ["1:3", "1:ffff"] {
        refused(&format!("tc qdisc add dev d0 parent {class} pfifo"), "");
    }
    refused("tc filter add dev d0 parent 1: protocol ip u32 match u32 0 0 flowid 1:1", "");
}

/// Classes of spa, one per line; tc of iproute2 6.1 has no JSON for classes. Only classes of spa are listed: a list of
/// all ends at a netem without a child queue.
fn spa_classes() -> Vec<String> {
    let text = run("tc class show dev d0 parent 1:");
    let lines = text.lines().filter(|line| line.starts_with("class spa 1:"));
    lines.map(str::to_owned).collect()
}

/// Qdisc with this handle.
fn with_handle(handle: &str) -> Value {
    let mut list = qdiscs("d0").into_iter();
    list.find(|qdisc| qdisc["handle"] == handle).expect("it is there")
}

fn has_child(class: &str) -> bool {
    let name = format!("class spa {class} ");
    let mut classes = spa_classes().into_iter();
    let class = classes.find(|class| class.starts_with(&name));
    class.expect("it is there").contains(" leaf ")
}

/// Compares the statistics of a class with the statistics of its qdisc, read while no packet leaves.
fn counts_as_its_child(class: &str, handle: &str) {
    let began = Instant::now();
    let counters = |child: &Value| [child["packets"].clone(), child["qlen"].clone()];
    let (list, child) = loop {
        let child = with_handle(handle);
        let list = run("tc -s class show dev d0 parent 1:");
        if counters(&with_handle(handle)) == counters(&child) {
            break (list, child);
        }
        assert!(began.elapsed() < PATIENCE, "{class} never rests");
    };
    let mut classes = list.split("class spa ");
    let text = classes.find(|text| text.starts_with(&format!("{class} ")));
    let text = text.unwrap_or_else(|| panic!("no {class}: {list}"));
    let sent = format!(
        "Sent {} bytes {} pkt (dropped {}, overlimits {} requeues {})",
        child["bytes"], child["packets"], child["drops"], child["overlimits"], child["requeues"]
    );
    assert!(text.contains(&sent), "{sent}: {text}");
    let packets = format!("{}p requeues", child["qlen"]);
    assert!(text.contains(&packets), "{packets}: {text}");
}

/// Tests a child in both classes: adding, using, replacing by itself, deleting.
fn a_child(child: &str, sender: &mut Sender) {
    let before = sent();
    for (class, handle) in [("1:1", "21:"), ("1:2", "22:")] {
        load(sender);
        run(&format!("tc qdisc add dev d0 parent {class} handle {handle} {child}"));
        load(sender);
        let classes = spa_classes();
        let leaf = format!("class spa {class} parent 1: leaf {handle}");
        assert!(classes.iter().any(|class| class.starts_with(&leaf)), "{classes:?}");
        assert!(has_child(class));
        counts_as_its_child(class, handle);
        run(&format!("tc qdisc replace dev d0 parent {class} handle 3{handle} {child}"));
        load(sender);
    }
    drains("d0", PATIENCE, child);
    assert!(sent() > before, "{child}: packets leave");
    for class in ["1:1", "1:2"] {
        load(sender);
        run(&format!("tc qdisc del dev d0 parent {class}"));
        assert!(!has_child(class));
    }
    // All counters up to the root are zero.
    drains("d0", PATIENCE, child);
}

fn sent() -> u64 {
    with_handle("1:")["packets"].as_u64().expect("a number")
}

/// Sends more packets of each kind than leave at once.
fn load(sender: &mut Sender) {
    for _ in 0..12 {
        for packet in [packets::data(1400), packets::syn(), packets::fin()] {
            sender.send(&packet);
        }
    }
}

fn under_others(sender: &mut Sender) {
    for root in ["htb default 1", "prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "drr"] {
        run(&format!("tc qdisc add dev d0 root handle 10: {root}"));
        match root.split(' ').next() {
            Some("htb") => drop(run("tc class add dev d0 parent 10: classid 10:1 htb rate 1mbit")),
            Some("drr") => {
                run("tc class add dev d0 parent 10: classid 10:1 drr");
                run("tc filter add dev d0 parent 10: protocol all matchall flowid 10:1");
            }
            _ => {}
        }
        for (handle, kind, changed) in
            [(20, "gsp", "limit 2"), (30, "redfavor", "limit 3000"), (40, "gentle", "limit 2"), (50, "spa", "share 1")]
        {
            run(&format!("tc qdisc replace dev d0 parent 10:1 handle {handle}: {kind}"));
            load(sender);
            // A queue is shortened while its parent has it on the list of active classes.
            run(&format!("tc qdisc change dev d0 parent 10:1 handle {handle}: {kind} {changed}"));
            drains("d0", PATIENCE, root);
        }
        run("tc qdisc del dev d0 root");
    }
}
