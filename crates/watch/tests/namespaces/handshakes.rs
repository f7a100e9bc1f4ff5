//! Handshakes: prompt, slow and failed ones.

use crate::network::{Network, PORT, SERVER, SERVER_V6, Watching, config};
use gentle_host::FindingKind;
use gentle_trace::Options;
use gentle_trace::names::GivenNames;
use gentle_trace::results::CauseKind;
use gentle_watch::Config;
use std::net::IpAddr;
use std::sync::Arc;

const CONNECTS: usize = 40;

/// Rule of nft: packets with these flags are dropped one out of `every` times.
fn drop_some(flags: &str, every: u32) -> String {
    format!("nft 'add rule inet loss arriving tcp flags & (syn|ack) == {flags} numgen inc mod {every} 0 drop'")
}

#[test]
fn clean_connects_are_prompt_and_counted() {
    let Some(network) = Network::new() else { return };
    network.server.serve(PORT);
    let watches = [Watching::start(&network.client, config()), Watching::start(&network.server, config())];
    assert_eq!((network.connect(SERVER, CONNECTS), network.connect(SERVER_V6, CONNECTS)), (CONNECTS, CONNECTS));
    for watch in watches {
        watch.expect_attempts(2 * CONNECTS);
        let seen = watch.stop();
        assert_eq!(seen.attempts.len(), 2 * CONNECTS);
        assert_eq!(seen.count(|attempt| attempt.slow || attempt.has_failed()), 0, "{:#?}", seen.attempts);
        assert_eq!(seen.count(|attempt| attempt.server.is_ipv6()), CONNECTS);
        assert_eq!(seen.count(|attempt| (attempt.syns, attempt.synacks) == (1, 1)), 2 * CONNECTS);
        let last = seen.summaries.last().expect("a summary");
        assert_eq!((last.counts.missed, last.counts.forgotten, last.counts.sample), (0, 0, 1.0));
        assert!(seen.notes.is_empty(), "{:?}", seen.notes);
    }
}

#[test]
fn all_devices_count_each_attempt_once() {
    let Some(network) = Network::new() else { return };
    // The server's packets pass eth0, a bridge above it, and a VLAN device above that.
    network.server.sh("ip link add br0 type bridge && ip link set eth0 master br0 && ip link set br0 up; \
         ip address flush dev eth0; ip address add 192.0.2.2/24 dev br0; ip address add 2001:db8::2/64 dev br0 nodad");
    network.client.sh("ip neighbour flush dev eth0");
    network.resolve();
    network.server.serve(PORT);
    let all = Config { device: None, ..config() };
    let watches = [Watching::start(&network.client, all.clone()), Watching::start(&network.server, all)];
    // The server's namespace also has connects over its loopback device.
    let local = network.server.run(|| crate::network::connect_once("127.0.0.1:80".parse().expect("an address")));
    assert!(local.is_some());
    assert_eq!((network.connect(SERVER, CONNECTS), network.connect(SERVER_V6, CONNECTS)), (CONNECTS, CONNECTS));
    for (watch, local) in watches.into_iter().zip([0, 1]) {
        watch.expect_attempts(2 * CONNECTS + local);
        let seen = watch.stop();
        assert_eq!(seen.attempts.len(), 2 * CONNECTS + local);
        assert_eq!(seen.count(|attempt| attempt.client.ip() == IpAddr::from([127, 0, 0, 1])), local);
        assert_eq!(seen.count(|attempt| attempt.slow || attempt.has_failed()), 0, "{:#?}", seen.attempts);
        assert_eq!(seen.summaries.last().expect("a summary").seconds.attempts, seen.attempts.len() as u64);
    }
}

#[test]
fn repeated_syns_are_those_of_the_kernel() {
    let Some(network) = Network::new() else { return };
    network.server.serve(PORT);
    let retransmitted = network.client.counter("TCPSynRetrans");
    network.server.sh(&drop_some("syn", 3));
    let watch = Watching::start(&network.client, config());
    let connected = network.connect(SERVER, CONNECTS);
    watch.expect_attempts(CONNECTS);
    let seen = watch.stop();
    let repeated = network.client.counter("TCPSynRetrans") - retransmitted;
    assert!(repeated >= CONNECTS as u64 / 3, "{repeated}");
    assert_eq!(seen.repeated(), (repeated, 0), "{:#?}", seen.attempts);
    assert_eq!(seen.attempts.len() - seen.count(|attempt| attempt.has_failed()), connected);
    assert_eq!(seen.count(|attempt| attempt.slow), seen.count(|attempt| attempt.syns > 1 && !attempt.has_failed()));
    for attempt in seen.attempts.iter().filter(|attempt| attempt.slow) {
        assert!(attempt.waited_s > 0.8 && attempt.connect_s.is_some_and(|took| took > 0.8), "{attempt:?}");
    }
    assert_eq!(seen.events(FindingKind::SynRetransmitted), repeated, "{:#?}", seen.found);
}

#[test]
fn repeated_synacks_are_those_of_the_kernel() {
    let Some(network) = Network::new() else { return };
    network.server.serve(PORT);
    let counts = || [&network.client, &network.server].map(|host| host.counter("TCPSynRetrans"));
    let before = counts();
    network.client.sh(&drop_some("(syn|ack)", 3));
    let watch = Watching::start(&network.server, config());
    let connected = network.connect(SERVER, CONNECTS);
    watch.expect_attempts(CONNECTS);
    let seen = watch.stop();
    let after = counts();
    let [syns, synacks] = [after[0] - before[0], after[1] - before[1]];
    assert!(synacks >= CONNECTS as u64 / 3, "{synacks}");
    assert_eq!(connected, CONNECTS);
    assert_eq!(seen.count(|attempt| attempt.has_failed()), 0, "{:#?}", seen.attempts);
    assert_eq!(seen.repeated().0, syns, "{:#?}", seen.attempts);
    // The kernel does not count all answers to repeated SYNs.
    let (least, most) = (synacks, synacks + syns);
    assert!((least..=most).contains(&seen.repeated().1), "{:?}, {syns} and {synacks}", seen.repeated());
    assert_eq!(seen.count(|attempt| attempt.slow), seen.count(|attempt| attempt.syns > 1), "{:#?}", seen.attempts);
    assert_eq!(seen.events(FindingKind::SynRetransmitted), synacks, "{:#?}", seen.found);
}

#[test]
fn refused_and_unanswered_attempts_fail() {
    let Some(network) = Network::new() else { return };
    network.server.serve(PORT);
    network.server.sh("nft add rule inet loss arriving tcp dport 81 drop");
    let watch = Watching::start(&network.client, config());
    assert_eq!(network.connect("192.0.2.2:9", CONNECTS), 0);
    assert_eq!(network.connect("192.0.2.2:81", CONNECTS), 0);
    assert_eq!(network.connect(SERVER, CONNECTS), CONNECTS);
    watch.expect_attempts(3 * CONNECTS);
    let seen = watch.stop();
    assert_eq!(seen.attempts.len(), 3 * CONNECTS);
    let failed = |port: u16| seen.count(|attempt| attempt.has_failed() && attempt.server.port() == port);
    assert_eq!((failed(9), failed(81), failed(PORT)), (CONNECTS, CONNECTS, 0));
    let refused = seen.count(|attempt| attempt.cause == Some(CauseKind::Refused));
    assert_eq!(refused, CONNECTS, "{:#?}", seen.attempts);
    let last = &seen.summaries.last().expect("a summary").hour;
    assert!(last.attempts <= seen.attempts.len() as u64);
    assert_eq!(seen.repeated().0, network.client.counter("TCPSynRetrans"));
}

#[test]
fn given_names_are_in_attempts_and_windows() {
    let Some(network) = Network::new() else { return };
    let mut names = GivenNames::default();
    names.read("192.0.2.2 shop\n192.0.2.0/24 office\n").expect("names");
    let options = Options { names: Arc::new(names), ..config().options };
    let watch = Watching::start(&network.client, Config { options, ..config() });
    assert_eq!(network.connect("192.0.2.2:9", 1), 0);
    watch.expect_attempts(1);
    let seen = watch.stop();
    let [attempt] = seen.attempts.as_slice() else { panic!("{:#?}", seen.attempts) };
    assert_eq!([&attempt.client_name, &attempt.name].map(Option::as_deref), [Some("office"), Some("shop")]);
    assert_eq!(seen.summaries.last().expect("a summary").seconds.names.of("192.0.2.2:9"), Some("shop"));
}
