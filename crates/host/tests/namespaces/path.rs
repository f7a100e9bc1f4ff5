//! Packets that the receiving host drops on their way to TCP.

use crate::network::{Network, SERVER, only};
use gentle_host::FindingKind;
use std::time::Duration;

#[test]
fn the_reverse_path_filter_drops_syns() {
    let Some(network) = Network::new() else { return };
    network.server.namespace.sh("echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter");
    // The server has no route to this address.
    network
        .client
        .namespace
        .sh("ip address add 198.51.100.1/32 dev lo; ip route replace 192.0.2.0/24 dev eth0 src 198.51.100.1");
    let _listener = network.server.listen("0.0.0.0:80", 16);
    let (mut host, found) = network.server.counters();
    assert!(found.is_empty(), "{found:#?}");
    network.client.connect(SERVER, Duration::from_millis(300)).expect_err("a dropped SYN");
    let found = host.read();
    let dropped = only(&found, FindingKind::ReversePathFilter);
    assert!(dropped.count >= 1 && dropped.sentence.starts_with("the reverse path filter dropped"), "{dropped:?}");
}

#[test]
fn a_refused_handshake_is_an_effect() {
    let Some(network) = Network::new() else { return };
    let (mut host, _) = network.client.counters();
    network.client.connect("192.0.2.2:9", Duration::from_secs(10)).expect_err("a closed port");
    let found = host.read();
    let failed = only(&found, FindingKind::AttemptFailed);
    assert_eq!(failed.sentence, "1 handshake failed, by refusal, reset or timeout");
    assert!(failed.kind.is_effect());
    assert!(host.read().is_empty());
}
