//! Many runs: every scheme under every seed, on all cores, and the same result on any number of them.

use crate::direction::Direction;
use crate::engine::tap::Silence;
use crate::engine::{Stopped, World};
use crate::metrics::aggregate;
use crate::metrics::record::RunRecord;
use crate::results::{Comparison, HEADLINE, LinkSummary, SCHEMA, ScenarioSummary, SchemeResult};
use crate::scenario::Scenario;
use gentle_aqm::Spec;
use gentle_units::Nanos;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a comparison is run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// One run a scheme for each.
    pub seeds: Vec<u64>,
    /// Upper ends, ascending, of the ranges of sizes that results distinguish.
    pub bins: Vec<u64>,
}

/// One of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Place of the scheme in the list.
    pub scheme: usize,
    /// Place of the seed in the list.
    pub seed: usize,
}

/// Told how far the runs have come, from several threads at once.
pub trait Observer: Sync {
    /// A run has begun.
    fn started(&self, run: Run);
    /// A run has come so far, 0 to 1.
    fn reached(&self, run: Run, fraction: f64);
    /// A run has ended.
    fn finished(&self, run: Run);
}

/// For those who do not want to know.
impl Observer for () {
    fn started(&self, _: Run) {}
    fn reached(&self, _: Run, _: f64) {}
    fn finished(&self, _: Run) {}
}

/// Runs `scenario` under each scheme with each seed.
///
/// Runs are independent and their results are put together in order, so the outcome does not depend on the number of
/// threads of the current rayon pool. When `stop` becomes true, what has finished by then is returned, marked
/// `interrupted`: the seeds that every scheme has finished, or, before there is one, the schemes that have finished the first.
/// The reference is the first scheme; [`Comparison::refer_to`] changes it.
pub fn compare(
    scenario: &Scenario,
    schemes: &[Spec],
    settings: &Settings,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Comparison {
    let runs = in_order(schemes.len(), settings, |run| {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        observer.started(run);
        let end = (scenario.duration + scenario.drain).as_secs_f64();
        let spec = &schemes[run.scheme];
        let seed = settings.seeds[run.seed];
        let world = World::new(scenario, spec, seed, &settings.bins, &mut Silence).run(|now| {
            observer.reached(run, now.as_secs_f64() / end);
            !stop.load(Ordering::Relaxed)
        });
        observer.finished(run);
        let record = match world {
            Ok(record) => record,
            Err(Stopped) => return None,
        };
        Some(thin_out(run.seed, record))
    });
    put_together(scenario, schemes, settings, runs)
}

/// Has `make` make every run, as many at a time as the current rayon pool has threads. They begin seed by seed, so that an
/// interrupted comparison has whole seeds. The outcomes come back by scheme, each in the order of the seeds.
pub fn in_order<T: Send>(
    schemes: usize,
    settings: &Settings,
    make: impl Fn(Run) -> T + Sync,
) -> Vec<Vec<T>> {
    let runs = (0..settings.seeds.len())
        .flat_map(|seed| (0..schemes).map(move |scheme| Run { scheme, seed }));
    // A bridge hands them out one at a time in this order; a split list would begin in several places.
    let mut outcomes: Vec<(Run, T)> = runs.par_bridge().map(|run| (run, make(run))).collect();
    outcomes.sort_unstable_by_key(|(run, _)| (run.scheme, run.seed));
    let mut by_scheme: Vec<Vec<T>> = (0..schemes).map(|_| Vec::new()).collect();
    for (run, outcome) in outcomes {
        by_scheme[run.scheme].push(outcome);
    }
    by_scheme
}

/// Takes out of the record of the `index`th seed what results show of the first seed only: there may be many seeds.
pub(crate) fn thin_out(index: usize, mut record: RunRecord) -> RunRecord {
    if index > 0 {
        record.timeline.clear();
    }
    record
}

/// The results over all runs: `by_scheme` has a list for each scheme with a place for each seed, empty where the run did not
/// come to its end.
pub(crate) fn put_together(
    scenario: &Scenario,
    schemes: &[Spec],
    settings: &Settings,
    mut by_scheme: Vec<Vec<Option<RunRecord>>>,
) -> Comparison {
    let groups = scenario.groups();
    let interrupted = by_scheme.iter().flatten().any(Option::is_none);
    let (compared, seeds) = complete(&by_scheme);
    let results: Vec<SchemeResult> = compared
        .iter()
        .map(|scheme| {
            let runs = &mut by_scheme[*scheme];
            let records: Vec<RunRecord> =
                seeds.iter().filter_map(|seed| runs[*seed].take()).collect();
            aggregate::scheme_result(&schemes[*scheme], &groups, &records)
        })
        .collect();
    let reference = results.first().map(|result| result.label.clone());
    let mut comparison = Comparison {
        version: SCHEMA,
        gentle: env!("CARGO_PKG_VERSION").to_owned(),
        command: None,
        scenario: summary(scenario, &settings.seeds),
        interrupted,
        left_out: (schemes.iter().enumerate())
            .filter(|(index, _)| !compared.contains(index))
            .map(|(_, scheme)| scheme.to_string())
            .collect(),
        seeds: seeds.iter().map(|seed| settings.seeds[*seed]).collect(),
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
        choices: scenario.choices.clone(),
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
