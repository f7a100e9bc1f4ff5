//! Dry runs compared with runs that send copies: the same losses, on Linux.

use crate::engine::{Running, paper};
use crate::network::{Losses, Network, SERVER_V4, SERVER_V6};
use gentle_rexmit::{Config, Counters};
use std::time::Duration;

/// Time after which nothing more is learned of a handshake with one loss.
const SETTLED: Duration = Duration::from_millis(2_500);

/// Tolerance of a time saved per handshake, milliseconds: timers of one second are rounded up by up to 80 ms, and the
/// machine is busy.
const LATE: u64 = 150;

/// Counters of the engine and of its host.
#[derive(Debug)]
struct Numbers {
    engine: Counters,
    /// `TCPSynRetrans`: SYNs and SYN/ACKs that the host retransmitted itself.
    syn_retransmissions: u64,
    /// `RetransSegs` of TCP.
    segments: u64,
}

/// Opens a connection with each of these losses, between others without loss.
fn measure(client: bool, server: &str, pattern: &[Losses], dry_run: bool) -> Option<Numbers> {
    let network = Network::new()?;
    let host = if client { &network.client } else { &network.server };
    let kernel = || ["TCPSynRetrans", "RetransSegs"].map(|name| host.counter(name));
    let before = kernel();
    let engine = Running::start(host, "eth0", Config { dry_run, ..paper(client, !client) });
    let connect = |losses: Losses| {
        network.lose(losses);
        network.connect(server)
    };
    for _ in 0..3 {
        connect(Losses::default());
    }
    for losses in pattern {
        connect(*losses);
        // The wait for a second answer, and a handshake that decides.
        std::thread::sleep(SETTLED);
        connect(Losses::default());
    }
    let after = kernel();
    let engine = engine.end().counters;
    Some(Numbers { engine, syn_retransmissions: after[0] - before[0], segments: after[1] - before[1] })
}

/// Compares a dry run on the client's or the server's side with a run that sends copies.
fn compare(client: bool, server: &str, pattern: &[(u32, u32)]) {
    // A second SYN/ACK that answers a SYN is retransmitted with that of the timer, so it shares its number.
    let losses =
        |(syns, synacks): &(u32, u32)| Losses { syns: *syns, synacks: *synacks, later_syns: !client && *synacks > 1 };
    let pattern: Vec<Losses> = pattern.iter().map(losses).collect();
    let of = |dry_run| measure(client, server, &pattern, dry_run);
    let (Some(real), Some(dry)) = (of(false), of(true)) else {
        return;
    };
    let numbers = |c: &Counters| (c.syns, c.synacks, c.copies, c.answered, c.answered_after_copy, c.spurious);
    assert_eq!(numbers(&dry.engine), numbers(&real.engine), "{dry:?} {real:?}");
    assert_eq!(dry.engine.rescued, pattern.len() as u64, "{dry:?}");
    let saved = |c: &Counters| c.saved_ms + c.saved_undecided_ms;
    let difference = saved(&dry.engine).abs_diff(saved(&real.engine));
    assert!(difference <= LATE * pattern.len() as u64, "{dry:?} {real:?}");
    // The host retransmits each lost packet itself in a dry run, and none of them otherwise.
    let handshakes = dry.engine.stack_retransmissions;
    assert!((1..=pattern.len() as u64).contains(&handshakes), "{dry:?}");
    assert!(dry.syn_retransmissions >= handshakes, "{dry:?}");
    assert!(dry.segments >= dry.syn_retransmissions, "{dry:?}");
    assert_eq!((real.engine.stack_retransmissions, real.syn_retransmissions), (0, 0), "{real:?}");
}

/// Losses of SYNs, of a SYN/ACK, and of both.
const OF_A_CLIENT: [(u32, u32); 5] = [(1, 0), (0, 1), (2, 0), (1, 1), (0, 1)];
/// Losses of SYN/ACKs.
const OF_A_SERVER: [(u32, u32); 3] = [(0, 1), (0, 2), (0, 1)];

#[test]
fn a_clients_dry_run_has_the_numbers_of_a_real_run() {
    compare(true, SERVER_V4, &OF_A_CLIENT);
}

#[test]
fn a_clients_dry_run_has_them_over_ipv6() {
    compare(true, SERVER_V6, &OF_A_CLIENT);
}

#[test]
fn a_servers_dry_run_has_the_numbers_of_a_real_run() {
    compare(false, SERVER_V4, &OF_A_SERVER);
}

#[test]
fn a_servers_dry_run_has_them_over_ipv6() {
    compare(false, SERVER_V6, &OF_A_SERVER);
}
