//! Records of runs put together to a comparison.

use crate::direction::Direction;
use crate::metrics::aggregate;
use crate::metrics::record::RunRecord;
use crate::results::{Comparison, HEADLINE, LinkSummary, SCHEMA, ScenarioSummary, SchemeResult};
use crate::scenario::Scenario;
use gentle_aqm::Spec;
use gentle_units::Nanos;
use std::collections::BTreeSet;

/// The results over all runs: `by_scheme` has a list for each scheme with an entry for each of the summary's seeds, `None`
/// where the run did not come to its end.
pub(crate) fn put_together(
    scenario: ScenarioSummary,
    groups: &[String],
    schemes: &[Spec],
    mut by_scheme: Vec<Vec<Option<RunRecord>>>,
) -> Comparison {
    let interrupted = by_scheme.iter().flatten().any(Option::is_none);
    let (compared, seeds) = complete(&by_scheme);
    let results: Vec<SchemeResult> = compared
        .iter()
        .map(|scheme| {
            let runs = &mut by_scheme[*scheme];
            let records: Vec<RunRecord> =
                seeds.iter().filter_map(|seed| runs[*seed].take()).collect();
            aggregate::scheme_result(&schemes[*scheme], groups, &records)
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
        comparison.refer_to(&first);
    }
    comparison
}

/// What can be compared: places of schemes, and of the seeds that each of them has finished. All schemes, if there is a seed that
/// all have finished; else those that have finished the seed that most have.
fn complete<T>(by_scheme: &[Vec<Option<T>>]) -> (Vec<usize>, Vec<usize>) {
    let seeds = by_scheme.first().map_or(0, Vec::len);
    let having = |seed: usize| -> Vec<usize> {
        let schemes = 0..by_scheme.len();
        schemes
            .filter(|scheme| by_scheme[*scheme][seed].is_some())
            .collect()
    };
    // The earliest of those that equally many have finished.
    let most = (0..seeds).rev().map(having).max_by_key(Vec::len);
    let compared = most.unwrap_or_default();
    let seeds = match compared.is_empty() {
        true => Vec::new(),
        false => (0..seeds)
            .filter(|seed| {
                compared
                    .iter()
                    .all(|scheme| by_scheme[*scheme][*seed].is_some())
            })
            .collect(),
    };
    (compared, seeds)
}

/// The description of `scenario` in results that cover `seeds`.
pub(crate) fn summary(scenario: &Scenario, seeds: &[u64]) -> ScenarioSummary {
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

/// The initial timeouts of the hosts that connect (RFC 6298, section 2), each once.
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
        qdisc: link.qdisc.to_string(),
        load: scenario.load(direction),
        long_flows: scenario.long_flows(direction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compared_has_the_same_seeds() {
        let finished = |list: &[&str]| -> (Vec<usize>, Vec<usize>) {
            let run = |c| (c == 'x').then_some(());
            let by_scheme: Vec<Vec<Option<()>>> = list
                .iter()
                .map(|seeds| seeds.chars().map(run).collect())
                .collect();
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
