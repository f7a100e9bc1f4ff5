//! Built-in scenarios: the set-ups of Braud, Heusse and Duda, "The Virtue of Gentleness" (IFIP Networking 2018), Table
//! III, and traffic of today.

use super::{Scenario, file};
use crate::direction::Direction;
use crate::initiator::Initiator;
use crate::traffic::{Flow, Replay, Traffic};
use crate::workload::{TcpChanges, Workload};
use gentle_units::Nanos;

/// Texts of the scenarios by name. Some files are links to those in `papers/spa-2018`.
const FILES: [(&str, &str); 8] = [
    ("real", include_str!("../../scenarios/real.toml")),
    ("real-reverse", include_str!("../../scenarios/real-reverse.toml")),
    ("short", include_str!("../../scenarios/short.toml")),
    ("10m", include_str!("../../scenarios/10m.toml")),
    ("home-evening", include_str!("../../scenarios/home-evening.toml")),
    ("office", include_str!("../../scenarios/office.toml")),
    ("calls", include_str!("../../scenarios/calls.toml")),
    ("rrul", include_str!("../../scenarios/rrul.toml")),
];

/// Names of the built-in scenarios: the types of `spa-2018`, Table III, then traffic of today.
pub const BUILTIN: [&str; 8] = ["real", "real-reverse", "short", "10m", "home-evening", "office", "calls", "rrul"];

pub(super) fn text(name: &str) -> Option<&'static str> {
    let (_, text) = FILES.iter().find(|(known, _)| *known == name)?;
    Some(text)
}

pub(super) fn find(name: &str) -> Option<Scenario> {
    let text = text(name)?;
    let file = format!("scenarios/{name}.toml");
    let scenario = file::parse(&file, text, &|_| Err(std::io::Error::from(std::io::ErrorKind::NotFound)));
    Some(scenario.unwrap_or_else(|error| panic!("built-in scenario: {error}")))
}

/// A scenario that replays `flows` over two links with the rate of the link under test of `real` and without delay: a
/// list of flows has its own round-trip times and does not imply a slower reverse link.
pub(super) fn replay(path: &str, flows: Vec<Flow>) -> Scenario {
    let mut scenario = find("real").expect("real is built in");
    let rtt = scenario.link_rtt();
    let rate = scenario.link(Direction::Down).rate;
    for link in &mut scenario.links {
        link.delay = Nanos::ZERO;
        link.rate = rate;
    }
    let last = flows.last().map_or(Nanos::ZERO, |flow| flow.at);
    scenario.name = file::stem(path);
    scenario.title = format!("{} connections replayed from {path}", flows.len());
    scenario.source = path.to_owned();
    scenario.duration = last + Nanos::from_secs(1);
    scenario.warmup = Nanos::ZERO;
    scenario.assumptions = Vec::new();
    if flows.iter().any(|flow| flow.rtt.is_none()) {
        scenario.assumptions.push(format!(
            "Flows without a listed round-trip time get {rtt}, as in Table III of Braud, Heusse and Duda 2018."
        ));
    }
    scenario.workloads = vec![Workload {
        traffic: Traffic::Replay(Replay { flows: flows.into() }),
        direction: Direction::Down,
        initiator: Initiator::Sender,
        rtt: Some((rtt, rtt)),
        tcp: TcpChanges::default(),
        initiator_tcp: TcpChanges::default(),
        group: None,
        dscp: 0,
        host: None,
        tunnel: 0,
    }];
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_scenario_reads() {
        assert_eq!(FILES.map(|(name, _)| name), BUILTIN);
        for name in BUILTIN {
            let scenario = find(name).unwrap();
            assert_eq!(scenario.name, name);
            assert!(scenario.warnings.is_empty(), "{:?}", scenario.warnings);
        }
        for name in &BUILTIN[..4] {
            // The 14 schemes of the paper, cake, dualpi2 and gentle.
            assert_eq!(find(name).unwrap().schemes.len(), 17, "{name}");
        }
    }
}
