//! Assembly of a comparison from records of runs.

use crate::direction::Direction;
use crate::measure::over_seeds::{Parts, scheme_result};
use crate::metrics::record::RunRecord;
use crate::results::{Comparison, HEADLINE, LinkSummary, SCHEMA, ScenarioSummary, SchemeResult, TESTED};
use crate::scenario::Scenario;
use gentle_aqm::Spec;
use gentle_units::Nanos;
use std::collections::BTreeSet;

/// Builds the comparison of runs of `scenario`. `by_scheme` has a list per scheme with an entry per seed; `None` for a run
/// that did not finish.
///
/// # Panics
/// A record does not [fit](RunRecord::fits) the scenario.
pub fn assemble(
    scenario: &Scenario,
    schemes: &[Spec],
    seeds: &[u64],
    mut by_scheme: Vec<Vec<Option<RunRecord>>>,
) -> Comparison {
    let groups: Vec<String> = scenario.groups().into_iter().map(str::to_owned).collect();
    let parts = Parts { groups: &groups, applications: &scenario.applications() };
    let scenario = summary(scenario, seeds);
    let interrupted = by_scheme.iter().flatten().any(Option::is_none);
    let (compared, seeds) = complete(&by_scheme);
    let results: Vec<SchemeResult> = compared
        .iter()
        .map(|scheme| {
            let runs = &mut by_scheme[*scheme];
            let records: Vec<RunRecord> = seeds.iter().filter_map(|seed| runs[*seed].take()).collect();
            scheme_result(&schemes[*scheme], parts, &records)
        })
        .collect();
    let reference = results.first().map(|result| result.label.clone());
    let mut comparison = Comparison {
        version: SCHEMA,
        gentle: env!("CARGO_PKG_VERSION").to_owned(),
        command: None,
        interrupted,
        left_out: (schemes.iter().enumerate())
            .filter(|(index, _)| !compared.contains(index))
            .map(|(_, scheme)| scheme.to_string())
            .collect(),
        seeds: seeds.iter().map(|seed| scenario.seeds[*seed]).collect(),
        scenario,
        reference: None,
        headline: HEADLINE,
        results,
    };
    if let Some(first) = reference {
        comparison.set_reference(&first);
    }
    comparison
}

/// Indices of the schemes that can be compared, and of the seeds that each of them has finished: all schemes if they
/// have finished a seed in common, else the schemes that have finished the seed that most have.
fn complete<T>(by_scheme: &[Vec<Option<T>>]) -> (Vec<usize>, Vec<usize>) {
    let seeds = by_scheme.first().map_or(0, Vec::len);
    let having = |seed: usize| -> Vec<usize> {
        let schemes = 0..by_scheme.len();
        schemes.filter(|scheme| by_scheme[*scheme][seed].is_some()).collect()
    };
    // Of several such seeds the first: the order is reversed because `max_by_key` returns the last.
    let most = (0..seeds).rev().map(having).max_by_key(Vec::len);
    let compared = most.unwrap_or_default();
    let seeds = match compared.is_empty() {
        true => Vec::new(),
        false => (0..seeds).filter(|seed| compared.iter().all(|scheme| by_scheme[*scheme][*seed].is_some())).collect(),
    };
    (compared, seeds)
}

/// The description of `scenario` in results that cover `seeds`.
fn summary(scenario: &Scenario, seeds: &[u64]) -> ScenarioSummary {
    ScenarioSummary {
        name: scenario.name.clone(),
        title: scenario.title.clone(),
        source: scenario.source.clone(),
        profile: scenario.profile_name.clone(),
        tcp: scenario.knobs.clone(),
        initial_rto_s: initial_rtos(scenario),
        duration_s: scenario.duration.as_secs_f64(),
        warmup_s: scenario.warmup.as_secs_f64(),
        drain_s: scenario.drain.as_secs_f64(),
        seeds: seeds.to_vec(),
        replayed: scenario.replays(),
        down: link_summary(scenario, Direction::Down),
        up: link_summary(scenario, Direction::Up),
        workloads: scenario.workloads.iter().map(ToString::to_string).collect(),
        assumptions: scenario.assumptions.clone(),
    }
}

/// The initial RTOs (RFC 6298, section 2) of the hosts that connect, ascending and without duplicates.
fn initial_rtos(scenario: &Scenario) -> Vec<f64> {
    let workloads = scenario.workloads.iter();
    let rtos = workloads.map(|workload| scenario.profiles(workload)[0].initial_rto);
    let rtos: BTreeSet<Nanos> = rtos.collect();
    rtos.into_iter().map(|rto| rto.as_secs_f64()).collect()
}

fn link_summary(scenario: &Scenario, direction: Direction) -> LinkSummary {
    let link = scenario.link(direction);
    LinkSummary {
        rate_bps: link.rate.bits_per_second(),
        delay_s: link.delay.as_secs_f64(),
        qdisc: match link.as_down {
            true => TESTED.to_owned(),
            false => link.qdisc.to_string(),
        },
        load: scenario.load(direction),
        long_flows: scenario.long_flows(direction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::class::Class;
    use crate::metrics::recorder::Recorder;
    use crate::metrics::tally::Ending;
    use crate::run::RunSpec;
    use gentle_aqm::DropReason;
    use gentle_tcp::{Stats, Waits};
    use gentle_units::Instant;

    #[test]
    fn what_is_observed_comes_out() {
        let mut scenario = Scenario::builtin("real").unwrap();
        scenario.set_duration(Nanos::from_secs(10));
        scenario.warmup = Nanos::from_secs(1);
        let codel = "codel".parse().unwrap();
        let run = RunSpec { scenario: &scenario, scheme: &codel, seed: 1, bins: &[3], keep_connections: true };
        let mut run = Recorder::new(&run, "a test", "none");
        assert!(!run.offered(Instant::ZERO, Direction::Down, Class::Syn));
        let at = Instant::from_secs(2);
        for class in [Class::Syn, Class::Data, Class::Data] {
            assert!(run.offered(at, Direction::Down, class));
        }
        run.dropped(Direction::Down, Class::Data, Some(DropReason::Aqm));
        let delay = Nanos::from_millis(5);
        let done = Instant::from_millis(2_905);
        run.left(at + delay, Direction::Down, delay);
        // A tenth of what 2.4 Mb/s carry in 9 s.
        run.carried(Direction::Down, at + delay, done, 270_000);
        run.sent(Direction::Down);
        let mut waits = Waits::default();
        // A window of two segments that wait at the same time, one of them until after the end.
        waits.add(at, at + Nanos::from_millis(200));
        waits.add(at + Nanos::from_millis(50), at + Nanos::from_millis(350));
        let stats = Stats {
            segments_sent: 4,
            segments_retransmitted: 1,
            rtt_samples: 1,
            rtt_sum: Nanos::from_millis(94),
            waits,
            ..Stats::default()
        };
        let response = Ending::Completed(Nanos::from_millis(300));
        let handshake = Some(Nanos::from_millis(94));
        run.connection(0, at, 2, response, handshake, &[&stats]);
        let schemes = [codel, "pie".parse().unwrap()];
        let all = assemble(&scenario, &schemes, &[1], vec![vec![Some(run.finish())], vec![None]]);
        assert!(all.interrupted);
        assert_eq!(all.results.len(), 1);
        let codel = &all.results[0];
        assert_eq!(codel.response_time_s.mean, Some(0.3));
        assert_eq!(codel.loss.data, Some(0.5));
        assert_eq!(codel.loss.syn, Some(0.0));
        assert_eq!(codel.drops["aqm"], 1);
        assert_eq!(codel.rtt_s.mean, Some(0.094));
        assert_eq!(codel.retransmission.packet_probability, Some(0.25));
        assert_eq!(codel.retransmission.delay_mean_s, Some(0.3));
        assert_eq!(codel.retransmission.delay_sum_mean_s, Some(0.5));
        assert_eq!(codel.queue_delay_s.mean, Some(0.005));
        assert_eq!(codel.utilization, Some(0.1));
    }

    #[test]
    fn what_is_compared_has_the_same_seeds() {
        let finished = |list: &[&str]| -> (Vec<usize>, Vec<usize>) {
            let run = |c| (c == 'x').then_some(());
            let by_scheme: Vec<Vec<Option<()>>> = list.iter().map(|seeds| seeds.chars().map(run).collect()).collect();
            complete(&by_scheme)
        };
        assert_eq!(finished(&["xxx", "xxx"]), (vec![0, 1], vec![0, 1, 2]));
        assert_eq!(finished(&["xxx", "xx.", "x.x"]), (vec![0, 1, 2], vec![0]));
        assert_eq!(finished(&["x..", "...", "x.."]), (vec![0, 2], vec![0]));
        assert_eq!(finished(&["x.x", "..x", "..x"]), (vec![0, 1, 2], vec![2]));
        assert_eq!(finished(&["...", "..."]), (vec![], vec![]));
        assert_eq!(finished(&[]), (vec![], vec![]));
    }
}
