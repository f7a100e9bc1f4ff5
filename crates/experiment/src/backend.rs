//! Backends, and the loop over the runs of a comparison that all of them share.

use crate::comparison;
use crate::metrics::record::RunRecord;
use crate::results::Comparison;
use crate::scenario::Scenario;
use gentle_aqm::Spec;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Settings of a comparison.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Seeds; every scheme has one run for each.
    pub seeds: Vec<u64>,
    /// Upper ends, ascending, of the ranges of connection sizes that results distinguish.
    pub bins: Vec<u64>,
}

/// One run: a scenario under one scheme with one seed.
#[derive(Debug, Clone, Copy)]
pub struct RunSpec<'a> {
    /// Links, hosts and traffic.
    pub scenario: &'a Scenario,
    /// Queue under test, on the link of [`Direction::Down`](crate::Direction::Down).
    pub scheme: &'a Spec,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Ranges of connection sizes: see [`Settings::bins`].
    pub bins: &'a [u64],
}

/// Connection of a run under way to whoever asked for it.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Becomes true when the run is to be given up.
    pub stop: &'a AtomicBool,
    /// Called with the fraction of the run that is done, 0 to 1.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

impl Watch<'_> {
    /// Reports progress; false: the run is to be given up.
    pub fn reached(&self, fraction: f64) -> bool {
        (self.progress)(fraction);
        !self.stop.load(Ordering::Relaxed)
    }
}

/// Why a run has no record.
#[derive(Debug)]
pub enum Aborted<E> {
    /// [`Watch::stop`] became true.
    Stopped,
    /// The backend failed.
    Failed(E),
}

impl<E> From<E> for Aborted<E> {
    fn from(error: E) -> Aborted<E> {
        Aborted::Failed(error)
    }
}

/// A machine that carries out runs.
pub trait Backend: Sync {
    /// Why a run failed.
    type Error: Send;

    /// Checks what can be run and returns those of `schemes`, in their order. Assumptions that this backend adds to the
    /// scenario go into [`Scenario::assumptions`].
    ///
    /// # Errors
    /// Nothing can be run.
    fn prepare(
        &self,
        scenario: &mut Scenario,
        schemes: &[Spec],
        settings: &Settings,
    ) -> Result<Vec<Spec>, Self::Error> {
        let _ = (scenario, settings);
        Ok(schemes.to_vec())
    }

    /// Whether runs would disturb each other, so that they are made one after the other.
    fn runs_alone(&self) -> bool {
        false
    }

    /// Carries out one run, which no other run may influence.
    ///
    /// # Errors
    /// The run was stopped, or failed.
    fn run(&self, run: &RunSpec<'_>, watch: &Watch<'_>) -> Result<RunRecord, Aborted<Self::Error>>;
}

/// Index of a run in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Index of the scheme.
    pub scheme: usize,
    /// Index of the seed.
    pub seed: usize,
}

/// Progress callbacks; may be called concurrently.
pub trait Observer: Sync {
    /// The runs are about to begin: `scenario` with the backend's assumptions, under `schemes`.
    fn planned(&self, _scenario: &Scenario, _schemes: &[Spec]) {}
    /// A run has begun.
    fn started(&self, run: Run);
    /// A fraction of a run is done, 0 to 1.
    fn reached(&self, run: Run, fraction: f64);
    /// A run has come to its end with a record.
    fn recorded(&self, _run: Run, _record: &RunRecord) {}
    /// A run has ended, with or without a record.
    fn finished(&self, run: Run);
}

/// No-op observer.
impl Observer for () {
    fn started(&self, _: Run) {}
    fn reached(&self, _: Run, _: f64) {}
    fn finished(&self, _: Run) {}
}

/// Has `backend` run `scenario` under each scheme with each seed, on the threads of the current rayon pool.
///
/// Runs are independent and their results are put together in order, so the outcome does not depend on the number of
/// threads. When `stop` becomes true, the comparison covers what has finished by then and is marked `interrupted`: the
/// seeds that every scheme has finished, or, before there is one, the schemes that have finished the first. The reference is
/// the first scheme; [`Comparison::refer_to`] changes it.
///
/// # Errors
/// The error of the first run, in order of schemes and seeds, that failed; no run is begun after a failure.
pub fn compare<B: Backend>(
    backend: &B,
    scenario: &Scenario,
    schemes: &[Spec],
    settings: &Settings,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Comparison, B::Error> {
    let mut scenario = scenario.clone();
    let schemes = backend.prepare(&mut scenario, schemes, settings)?;
    observer.planned(&scenario, &schemes);
    let failed = AtomicBool::new(false);
    let one = |run: Run| -> Result<Option<RunRecord>, B::Error> {
        if failed.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        observer.started(run);
        let spec = RunSpec {
            scenario: &scenario,
            scheme: &schemes[run.scheme],
            seed: settings.seeds[run.seed],
            bins: &settings.bins,
        };
        let watch = Watch {
            stop,
            progress: &|fraction| observer.reached(run, fraction),
        };
        let outcome = backend.run(&spec, &watch);
        if let Ok(record) = &outcome {
            observer.recorded(run, record);
        }
        observer.finished(run);
        match outcome {
            Ok(mut record) => {
                // Results show the first seed's only, and there may be many seeds.
                if run.seed > 0 {
                    record.timeline.clear();
                }
                Ok(Some(record))
            }
            Err(Aborted::Stopped) => Ok(None),
            Err(Aborted::Failed(error)) => {
                failed.store(true, Ordering::Relaxed);
                Err(error)
            }
        }
    };
    let outcomes = in_order(
        schemes.len(),
        settings.seeds.len(),
        backend.runs_alone(),
        one,
    );
    let by_scheme: Result<Vec<Vec<Option<RunRecord>>>, B::Error> = outcomes
        .into_iter()
        .map(|runs| runs.into_iter().collect())
        .collect();
    let groups: Vec<String> = scenario.groups().into_iter().map(str::to_owned).collect();
    let summary = comparison::summary(&scenario, &settings.seeds);
    Ok(comparison::put_together(
        summary, &groups, &schemes, by_scheme?,
    ))
}

/// Calls `make` for every run, as many at a time as the current rayon pool has threads, or `alone`. Runs begin seed by seed,
/// so that an interrupted comparison has whole seeds. Outcomes are returned by scheme, each in the order of the seeds.
fn in_order<T: Send>(
    schemes: usize,
    seeds: usize,
    alone: bool,
    make: impl Fn(Run) -> T + Sync,
) -> Vec<Vec<T>> {
    let runs = (0..seeds).flat_map(|seed| (0..schemes).map(move |scheme| Run { scheme, seed }));
    let mut outcomes: Vec<(Run, T)> = match alone {
        true => runs.map(|run| (run, make(run))).collect(),
        // A bridge hands them out one at a time in this order; a split list would begin in several places.
        false => runs.par_bridge().map(|run| (run, make(run))).collect(),
    };
    outcomes.sort_unstable_by_key(|(run, _)| (run.scheme, run.seed));
    let mut by_scheme: Vec<Vec<T>> = (0..schemes).map(|_| Vec::new()).collect();
    for (run, outcome) in outcomes {
        by_scheme[run.scheme].push(outcome);
    }
    by_scheme
}
