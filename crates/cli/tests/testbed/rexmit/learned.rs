//! Wire engine with learned delays, and in a dry run.

use super::engine::Engine;
use super::inside;
use super::network::{Loses, Network};
use std::time::Duration;

const NOTHING: Loses = Loses { syns: 0, syn_acks: 0 };
const ONE_SYN: Loses = Loses { syns: 1, syn_acks: 0 };
/// Number of handshakes until the variation of the estimate has settled.
const LESSONS: usize = 20;

#[test]
fn a_path_of_10_ms_recovers_in_less_than_60_ms() {
    if !inside("rexmit::learned::a_path_of_10_ms_recovers_in_less_than_60_ms") {
        return;
    }
    let rtt = Duration::from_millis(10);
    let network = Network::with_rtt(rtt);
    let engine = Engine::start(&network, "client", &["-c"]);
    for _ in 0..LESSONS {
        network.connect(NOTHING);
        assert_eq!(network.seen(), (1, 1));
    }
    let took = network.connect(ONE_SYN);
    println!("| 10 ms | {took:?} |");
    assert!(took < Duration::from_millis(60), "{took:?}");
    engine.stop();
}

#[test]
fn a_path_of_600_ms_sees_nothing_twice() {
    if !inside("rexmit::learned::a_path_of_600_ms_sees_nothing_twice") {
        return;
    }
    let network = Network::with_rtt(Duration::from_millis(600));
    let engines = [("client", "-c"), ("server", "-s")].map(|(host, side)| Engine::start(&network, host, &[side]));
    // Starting with the first handshake, when nothing is known.
    for _ in 0..LESSONS {
        network.connect(NOTHING);
        assert_eq!(network.seen(), (1, 1));
    }
    for engine in engines {
        engine.stop();
    }
}

#[test]
fn a_dry_run_reports_and_sends_nothing() {
    if !inside("rexmit::learned::a_dry_run_reports_and_sends_nothing") {
        return;
    }
    let network = Network::with_rtt(Duration::from_millis(60));
    let engine = Engine::start(&network, "client", &["-c", "-d", "200", "--dry-run"]);
    let took = network.connect(ONE_SYN);
    assert!(took > Duration::from_secs(1), "{took:?}");
    // Only the two SYNs of the client itself.
    assert_eq!(network.seen(), (2, 1));
    let status = engine.status();
    assert_eq!(status[0]["dry_run"], true, "{status}");
    assert_eq!(status[0]["counters"]["copies"], 1, "{status}");
    let said = engine.stop();
    assert!(said.contains("would have been sent"), "{said}");
}
