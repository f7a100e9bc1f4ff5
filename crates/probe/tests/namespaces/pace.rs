//! Rates, counts and limits.

use crate::network::{Network, PORT, SERVER};
use gentle_probe::Outcome;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(30);

#[test]
fn many_targets_are_probed_at_their_rate() {
    let Some(network) = Network::new() else { return };
    let ports = PORT..PORT + 50;
    ports.clone().for_each(|port| network.server.serve(port));
    let targets: Vec<String> = ports.map(|port| format!("192.0.2.2:{port}")).collect();
    let begin = Instant::now();
    let report = network.probe(&targets, 10.0, 20, TIMEOUT);
    // The last of 20 starts is due 19 intervals after the first.
    assert!(begin.elapsed() >= Duration::from_millis(1_900));
    assert_eq!(report.connects.len() as u64 + report.skipped, 1_000);
    for summary in &report.summaries {
        assert_eq!((summary.connected + summary.skipped, summary.failed()), (20, 0), "{summary:?}");
    }
    // Starts are spread: the targets do not start together.
    let mut starts: Vec<f64> = report.connects.iter().map(|connect| connect.time).collect();
    starts.sort_by(f64::total_cmp);
    let first: Vec<f64> = starts.iter().copied().take(50).collect();
    assert!(first.last().zip(first.first()).is_some_and(|(last, first)| last - first > 0.05), "{first:?}");
}

#[test]
fn at_most_sixteen_connects_of_a_target_are_under_way() {
    let Some(network) = Network::new() else { return };
    network.server.sh("nft add rule inet loss arriving tcp dport 80 drop");
    let report = network.probe(&[SERVER.to_owned()], 100.0, 60, Duration::from_secs(3));
    assert_eq!(report.connects.len(), 16);
    assert_eq!((report.skipped, report.summaries[0].skipped), (44, 44));
    assert!(report.connects.iter().all(|connect| connect.outcome == Outcome::TimedOut));
}
