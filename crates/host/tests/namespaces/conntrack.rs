//! Connection tracking that drops SYNs.

use crate::network::{Network, SERVER, only};
use gentle_host::{FindingKind, Source};
use std::time::Duration;

/// Whether the kernel of this host has NAT, which the test needs.
fn has_nat(network: &Network) -> bool {
    let rule = "nft add table ip nat && nft 'add chain ip nat leaving { type nat hook postrouting priority 100; }' && \
                nft add rule ip nat leaving oif eth0 tcp dport 80 snat to 192.0.2.1:1000";
    network.client.namespace.run(move || {
        let output = std::process::Command::new("sh").args(["-ec", rule]).output().expect("a shell");
        if !output.status.success() {
            eprintln!("skipped: NAT: {}", String::from_utf8_lossy(&output.stderr));
        }
        output.status.success()
    })
}

#[test]
fn a_nat_without_a_free_port_drops_syns() {
    let Some(network) = Network::new() else { return };
    let _listener = network.server.listen("0.0.0.0:80", 16);
    if !has_nat(&network) {
        return;
    }
    let (mut host, _) = network.client.counters();
    assert!(host.missing().iter().all(|missing| missing.source == Source::DropReasons), "{:#?}", host.missing());
    let _connection = network.client.connect(SERVER, Duration::from_secs(10)).expect("the port of the NAT");
    network.client.connect(SERVER, Duration::from_millis(300)).expect_err("no other port");
    let found = host.read();
    let clash = only(&found, FindingKind::ConntrackClash);
    assert!(clash.count >= 1 && clash.sentence.contains("the same addresses and ports"), "{clash:?}");
}
