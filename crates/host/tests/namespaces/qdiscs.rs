//! Drops of queue disciplines.

use crate::network::{Network, SERVER, only};
use gentle_host::FindingKind;
use std::time::Duration;

/// Connects to the server, which does not see the SYN.
fn lose_a_syn(network: &Network) {
    network.client.connect(SERVER, Duration::from_millis(100)).expect_err("a dropped SYN");
}

#[test]
fn a_queue_without_space_drops_and_so_does_the_next() {
    let Some(network) = Network::new() else { return };
    let client = &network.client.namespace;
    client.sh("tc qdisc add dev eth0 root pfifo limit 0");
    lose_a_syn(&network);
    let (mut host, found) = network.client.counters();
    assert!(found.is_empty(), "{found:#?}");
    lose_a_syn(&network);
    let found = host.read();
    let dropped = only(&found, FindingKind::QdiscDrop);
    assert_eq!(dropped.place, "eth0 pfifo");
    assert!(dropped.count >= 1 && dropped.sentence.starts_with("the queue pfifo of eth0 dropped"), "{dropped:?}");
    let first = dropped.cumulative;

    // The counters of a qdisc that replaces another start at 0.
    client.sh("tc qdisc del dev eth0 root; tc qdisc add dev eth0 root bfifo limit 0");
    lose_a_syn(&network);
    let found = host.read();
    assert_eq!(only(&found, FindingKind::QdiscDrop).place, "eth0 bfifo");

    client.sh("tc qdisc del dev eth0 root; tc qdisc add dev eth0 root pfifo limit 0");
    lose_a_syn(&network);
    let found = host.read();
    let dropped = only(&found, FindingKind::QdiscDrop);
    assert_eq!((dropped.place.as_str(), dropped.cumulative), ("eth0 pfifo", first + dropped.count));

    client.sh("tc qdisc del dev eth0 root");
    assert!(!host.read().iter().any(|finding| finding.kind == FindingKind::QdiscDrop));
}

#[test]
fn the_drops_of_a_class_count_once() {
    let Some(network) = Network::new() else { return };
    network.client.namespace.sh(
        "tc qdisc add dev eth0 root handle 1: htb default 10; tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit; \
         tc qdisc add dev eth0 parent 1:10 handle 20: pfifo limit 0",
    );
    let (mut host, _) = network.client.counters();
    lose_a_syn(&network);
    let found = host.read();
    assert_eq!(only(&found, FindingKind::QdiscDrop).place, "eth0 pfifo");
}
