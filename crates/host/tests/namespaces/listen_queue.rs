//! Accept queues that are full.

use crate::network::{Machine, of, only};
use gentle_host::{FindingKind, Source};
use std::net::TcpStream;
use std::time::Duration;

/// Time in which a SYN is sent twice.
const TWO_SYNS: Duration = Duration::from_millis(1_500);

/// Fills the queue of a listening socket with a backlog of 1, which accepts two connections.
fn fill(machine: &Machine, address: &str) -> Vec<TcpStream> {
    let connect = |_| machine.connect(address, Duration::from_secs(10)).expect("a connection");
    (0..2).map(connect).collect()
}

#[test]
fn an_overflow_has_its_socket() {
    let Some(machine) = Machine::new() else { return };
    let _listener = machine.listen("127.0.0.1:8080", 1);
    let _other = machine.listen("127.0.0.1:8081", 1);
    let (mut host, found) = machine.counters();
    assert!(found.is_empty(), "{found:#?}");
    assert!(host.missing().iter().all(|missing| missing.source == Source::DropReasons), "{:#?}", host.missing());
    let retransmitted = host.counter("TCPSynRetrans").expect("a counter");

    let _connections = fill(&machine, "127.0.0.1:8080");
    machine.connect("127.0.0.1:8080", TWO_SYNS).expect_err("a full queue");
    let found = host.read();
    let overflow = only(&found, FindingKind::ListenQueueOverflow);
    assert_eq!(overflow.place, "127.0.0.1:8080");
    assert!(overflow.count >= 2 && overflow.cumulative == overflow.count, "{overflow:?}");
    assert_eq!(overflow.sentence, format!("the listen queue of 127.0.0.1:8080 overflowed {} times", overflow.count));
    assert_eq!(overflow.check, "ss -ltn 'sport = :8080'");
    let full = only(&found, FindingKind::ListenQueueFull);
    assert_eq!((full.place.as_str(), full.count), ("127.0.0.1:8080", 1));
    assert!(full.sentence.ends_with("2 connections wait for accept(2), and the backlog is 1"), "{full:?}");
    assert!(only(&found, FindingKind::SynRetransmitted).count >= 1);
    assert!(host.counter("TCPSynRetrans").expect("a counter") > retransmitted);
    assert!(of(&found, FindingKind::ListenDrop).is_empty(), "{found:#?}");

    let first = overflow.count;
    machine.connect("127.0.0.1:8080", TWO_SYNS).expect_err("a full queue");
    let found = host.read();
    let overflow = only(&found, FindingKind::ListenQueueOverflow);
    assert_eq!(overflow.cumulative, first + overflow.count);
    assert_eq!(only(&found, FindingKind::ListenQueueFull).cumulative, 2);
}

#[test]
fn overflows_of_several_sockets_have_their_sockets() {
    let Some(machine) = Machine::new() else { return };
    let addresses = ["127.0.0.1:8080", "[::1]:8080"];
    let _listeners = addresses.map(|address| machine.listen(address, 1));
    let (mut host, _) = machine.counters();
    let _connections = addresses.map(|address| fill(&machine, address));
    for address in addresses {
        machine.connect(address, TWO_SYNS).expect_err("a full queue");
    }
    let found = host.read();
    let mut places: Vec<&str> =
        of(&found, FindingKind::ListenQueueOverflow).iter().map(|finding| finding.place.as_str()).collect();
    places.sort_unstable();
    assert_eq!(places, addresses, "{found:#?}");
}

#[test]
fn a_queue_that_is_full_at_the_baseline_is_a_finding() {
    let Some(machine) = Machine::new() else { return };
    let _listener = machine.listen("127.0.0.1:8080", 1);
    let _connections = fill(&machine, "127.0.0.1:8080");
    let (_host, found) = machine.counters();
    let kinds: Vec<FindingKind> = found.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::ListenQueueFull], "{found:#?}");
}
