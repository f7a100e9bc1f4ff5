//! Losses on either side.

use crate::network::{Network, PORT, Report, SERVER, SERVER_V6, after_change, all_connected, lose};
use gentle_probe::{Connect, Outcome};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Number of ports, each a target.
const PORTS: u16 = 4;

/// Connects to each target: some without loss, some that a busy machine skips, and at least 8 with losses.
const COUNT: u64 = 20;

/// Connects per second and target: slow enough that fewer than 16 are under way.
const RATE: f64 = 8.0;

/// Probes four targets, three of IPv4 and one of IPv6, and loses the first packets of each connection.
fn with_losses(network: &Network, syns: u32, synacks: u32) -> Report {
    let targets: Vec<String> = (PORT..PORT + PORTS)
        .map(|port| match port == PORT {
            true => SERVER_V6.to_owned(),
            false => format!("192.0.2.2:{port}"),
        })
        .collect();
    (PORT..PORT + PORTS).for_each(|port| network.server.serve(port));
    let report = probe(network, targets, syns, synacks);
    assert_eq!(report.connects.len() as u64 + report.skipped, COUNT * u64::from(PORTS));
    assert!(report.connects.iter().take(report.before_change).all(|connect| !connect.has_loss()));
    report
}

/// Probes targets, and loses the first packets of each connection once all targets have been connected to.
fn probe(network: &Network, targets: Vec<String>, syns: u32, synacks: u32) -> Report {
    let lose = lose(network, syns, synacks);
    let given = targets.clone();
    network.probe_with(&given, RATE, COUNT, TIMEOUT, move |connects| all_connected(connects, &targets), lose)
}

/// Lost packets: SYNs, SYN/ACKs, side unknown.
fn lost(connect: &Connect) -> (u32, u32, u32) {
    (connect.lost_syns, connect.lost_synacks, connect.lost_unknown)
}

/// Checks that each connect has lost the packets that were dropped; returns the number of connects.
#[track_caller]
fn expect(report: &Report, expected: (u32, u32, u32)) {
    let connects = after_change(report);
    // Connects that were under way when the rules were added have lost nothing.
    let unaffected = connects.iter().filter(|connect| connect.syns == 1 && !connect.has_loss()).count();
    assert!(unaffected <= 2 * usize::from(PORTS), "{unaffected} of {}", connects.len());
    let affected: Vec<_> = connects.iter().filter(|connect| connect.syns > 1 || connect.has_loss()).collect();
    assert!(affected.len() >= 30, "{}", affected.len());
    for connect in affected {
        assert_eq!(lost(connect), expected, "{connect:?}");
        assert!(!connect.late, "{connect:?}");
        assert!(connect.connect_s > 0.9, "{connect:?}");
    }
    let summed = report.summaries.iter().fold((0, 0, 0), |sum, summary| {
        assert!(summary.loss_cost_s.is_some_and(|cost| cost > 0.9), "{summary:?}");
        (sum.0 + summary.lost_syns, sum.1 + summary.lost_synacks, sum.2 + summary.lost_unknown)
    });
    let n = report.summaries.iter().map(|summary| summary.with_loss).sum::<u64>();
    assert_eq!(summed, (n * u64::from(expected.0), n * u64::from(expected.1), n * u64::from(expected.2)));
}

#[test]
fn nothing_is_lost() {
    let Some(network) = Network::new() else { return };
    let report = with_losses(&network, 0, 0);
    for connect in &report.connects {
        assert_eq!((connect.outcome, connect.syns, lost(connect)), (Outcome::Connected, 1, (0, 0, 0)), "{connect:?}");
        assert!(connect.rtt_s.is_some(), "{connect:?}");
    }
}

#[test]
fn one_syn_is_lost() {
    let Some(network) = Network::new() else { return };
    expect(&with_losses(&network, 1, 0), (1, 0, 0));
}

#[test]
fn two_syns_are_lost() {
    let Some(network) = Network::new() else { return };
    expect(&with_losses(&network, 2, 0), (2, 0, 0));
}

#[test]
fn one_synack_is_lost() {
    let Some(network) = Network::new() else { return };
    expect(&with_losses(&network, 0, 1), (0, 1, 0));
}

/// The server retransmits its SYN/ACK on its own timer and again for the retransmitted SYN, so two lost SYN/ACKs can cost one
/// or two retransmissions of the SYN.
#[test]
fn two_synacks_are_lost() {
    let Some(network) = Network::new() else { return };
    let report = with_losses(&network, 0, 2);
    let connects = after_change(&report);
    let affected: Vec<_> = connects.iter().filter(|connect| connect.syns > 1).collect();
    assert!(affected.len() >= 30, "{}", affected.len());
    for connect in affected {
        assert!(matches!(lost(connect), (0, 1..=2, 0)), "{connect:?}");
    }
}

#[test]
fn a_syn_and_then_a_synack_are_lost() {
    let Some(network) = Network::new() else { return };
    expect(&with_losses(&network, 1, 1), (1, 1, 0));
}

#[test]
fn rtos_double_without_linear_timeouts() {
    let Some(network) = Network::new() else { return };
    let setting = "/proc/sys/net/ipv4/tcp_syn_linear_timeouts";
    network.client.sh(&format!("if [ -e {setting} ]; then echo 0 > {setting}; fi"));
    expect(&with_losses(&network, 2, 0), (2, 0, 0));
}

#[test]
fn without_timestamps_the_side_is_unknown() {
    for (syns, synacks) in [(1, 0), (0, 1)] {
        let Some(network) = Network::new() else { return };
        network.server.sh("echo 0 > /proc/sys/net/ipv4/tcp_timestamps");
        network.server.serve(PORT);
        let targets = vec![SERVER.to_owned()];
        let report = probe(&network, targets, syns, synacks);
        let connects = after_change(&report);
        let retransmitted: Vec<_> = connects.iter().filter(|connect| connect.syns > 1).collect();
        assert!(!retransmitted.is_empty());
        for connect in retransmitted {
            assert_eq!((lost(connect), connect.rtt_s), ((0, 0, 1), None), "{connect:?}");
        }
    }
}
