//! Queues of half-open connections that are full: the client drops the SYN/ACKs.

use crate::network::{Network, SERVER, of, only};
use gentle_host::{Finding, FindingKind};
use std::time::Duration;

/// Findings of the server after five connects that stay half open, with this value of net.ipv4.tcp_syncookies.
fn five_half_open(syn_cookies: u8) -> Option<Vec<Finding>> {
    let network = Network::new()?;
    network.server.namespace.sh(&format!("echo {syn_cookies} > /proc/sys/net/ipv4/tcp_syncookies"));
    network.client.namespace.sh("nft 'add rule inet loss arriving tcp flags & (syn|ack) == (syn|ack) drop'");
    let _listener = network.server.listen("0.0.0.0:80", 1);
    let (mut host, _) = network.server.counters();
    for _ in 0..5 {
        network.client.connect(SERVER, Duration::from_millis(100)).expect_err("a lost SYN/ACK");
    }
    Some(host.read())
}

#[test]
fn without_cookies_syns_are_dropped() {
    let Some(found) = five_half_open(0) else { return };
    let dropped = only(&found, FindingKind::SynQueueDrop);
    assert_eq!(dropped.place, "0.0.0.0:80");
    assert!(dropped.count >= 1 && dropped.sentence.contains("queue of half-open connections was full"), "{dropped:?}");
    assert!(of(&found, FindingKind::SynCookiesSent).is_empty(), "{found:#?}");
}

#[test]
fn with_cookies_syns_are_answered() {
    let Some(found) = five_half_open(1) else { return };
    let answered = only(&found, FindingKind::SynCookiesSent);
    assert!(answered.count >= 1, "{answered:?}");
    assert!(answered.sentence.ends_with("(the queue of half-open connections was full)"), "{answered:?}");
    assert!(of(&found, FindingKind::SynQueueDrop).is_empty(), "{found:#?}");
}

#[test]
fn cookies_for_all_have_another_reason() {
    let Some(found) = five_half_open(2) else { return };
    let answered = only(&found, FindingKind::SynCookiesSent);
    assert!(answered.count >= 5 && answered.sentence.contains("tcp_syncookies=2"), "{answered:?}");
}
