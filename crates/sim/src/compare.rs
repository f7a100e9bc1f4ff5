//! Many runs: every scheme under every seed, on all cores, and the same result on any number of them.

use crate::direction::Direction;
use crate::engine::tap::Silence;
use crate::engine::{Stopped, World};
use crate::metrics::aggregate;
use crate::metrics::record::RunRecord;
use crate::results::{Comparison, LinkSummary, SCHEMA, ScenarioSummary};
use crate::scenario::{LinkConfig, Scenario};
use gentle_aqm::Spec;
use rayon::prelude::*;
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
/// `interrupted`; schemes without a finished run are left out.
pub fn compare(
    scenario: &Scenario,
    schemes: &[Spec],
    settings: &Settings,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Comparison {
    // Seed by seed, so that an interrupted comparison has something of every scheme.
    let runs: Vec<Run> = (0..settings.seeds.len())
        .flat_map(|seed| (0..schemes.len()).map(move |scheme| Run { scheme, seed }))
        .collect();
    let records: Vec<Result<RunRecord, Stopped>> = runs
        .par_iter()
        // One at a time: runs differ in length, and a thread that took several would end last.
        .with_max_len(1)
        .map(|run| {
            if stop.load(Ordering::Relaxed) {
                return Err(Stopped);
            }
            observer.started(*run);
            let end = (scenario.duration + scenario.drain).as_secs_f64();
            let spec = &schemes[run.scheme];
            let seed = settings.seeds[run.seed];
            let world = World::new(scenario, spec, seed, &settings.bins, &mut Silence).run(|now| {
                observer.reached(*run, now.as_secs_f64() / end);
                !stop.load(Ordering::Relaxed)
            });
            observer.finished(*run);
            world.map(|record| thin_out(run.seed, record))
        })
        .collect();
    let interrupted = records.iter().any(Result::is_err);
    let mut by_scheme: Vec<Vec<RunRecord>> = schemes.iter().map(|_| Vec::new()).collect();
    for (run, record) in runs.iter().zip(records) {
        if let Ok(record) = record {
            by_scheme[run.scheme].push(record);
        }
    }
    put_together(scenario, schemes, settings, by_scheme, interrupted)
}

/// Takes out of the record of the `index`th seed what results show of the first seed only: there may be many seeds.
pub(crate) fn thin_out(index: usize, mut record: RunRecord) -> RunRecord {
    if index > 0 {
        record.timeline.clear();
    }
    record
}

/// The results over all runs: `by_scheme` has a list for each scheme, in order of seeds.
pub(crate) fn put_together(
    scenario: &Scenario,
    schemes: &[Spec],
    settings: &Settings,
    by_scheme: Vec<Vec<RunRecord>>,
    interrupted: bool,
) -> Comparison {
    let groups = scenario.groups();
    let results = schemes
        .iter()
        .zip(by_scheme)
        .filter(|(_, records)| !records.is_empty())
        .map(|(spec, records)| aggregate::scheme_result(spec, &groups, &records))
        .collect();
    Comparison {
        version: SCHEMA,
        gentle: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: summary(scenario, &settings.seeds),
        interrupted,
        results,
    }
}

fn summary(scenario: &Scenario, seeds: &[u64]) -> ScenarioSummary {
    ScenarioSummary {
        name: scenario.name.clone(),
        title: scenario.title.clone(),
        source: scenario.source.clone(),
        profile: scenario.profile_name.clone(),
        tcp: scenario.knobs.clone(),
        duration_s: scenario.duration.as_secs_f64(),
        warmup_s: scenario.warmup.as_secs_f64(),
        drain_s: scenario.drain.as_secs_f64(),
        seeds: seeds.to_vec(),
        down: link_summary(scenario.link(Direction::Down)),
        up: link_summary(scenario.link(Direction::Up)),
        workloads: scenario.workloads.iter().map(ToString::to_string).collect(),
        choices: scenario.choices.clone(),
    }
}

fn link_summary(link: &LinkConfig) -> LinkSummary {
    LinkSummary {
        rate_bps: link.rate.bits_per_second(),
        delay_s: link.delay.as_secs_f64(),
        qdisc: link.qdisc.to_string(),
    }
}
