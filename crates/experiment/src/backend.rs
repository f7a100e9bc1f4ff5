//! The interface of backends, and the loop over the runs of a comparison.

use crate::comparison::assemble;
use crate::metrics::record::RunRecord;
use crate::results::Comparison;
use crate::run::RunSpec;
use crate::scenario::Scenario;
use gentle_aqm::Spec;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Settings of a comparison.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Seeds; each scheme has one run per seed.
    pub seeds: Vec<u64>,
    /// Upper ends, ascending, of the ranges of connection sizes in segments that results distinguish.
    pub bins: Vec<u64>,
}

/// Cancellation and progress of a run.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Set to true to cancel the run.
    pub stop: &'a AtomicBool,
    /// Callback with the completed fraction of the run, 0 to 1.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

impl Watch<'_> {
    /// Reports the completed fraction of the run, 0 to 1; false if the run has been cancelled.
    pub fn reached(&self, fraction: f64) -> bool {
        (self.progress)(fraction);
        !self.stop.load(Ordering::Relaxed)
    }
}

/// Reason for which a run has no record.
#[derive(Debug)]
pub enum Aborted<E> {
    /// The run was cancelled: [`Watch::stop`] became true.
    Stopped,
    /// The backend failed.
    Failed(E),
}

impl<E> From<E> for Aborted<E> {
    fn from(error: E) -> Aborted<E> {
        Aborted::Failed(error)
    }
}

/// An implementation that executes runs: a simulator, or a testbed.
pub trait Backend: Sync {
    /// Error of a failed run.
    type Error: Send;

    /// Name, as in [`RunRecord::backend`]; backends with different results have different names.
    fn name(&self) -> String;

    /// Identity of the code that makes the runs, as in [`RunRecord::engine`]: results of other code are not reused.
    fn engine(&self) -> String;

    /// Rough estimate of the time that a run of `scenario` takes one core, in seconds: for dividing runs among workers.
    fn cost(scenario: &Scenario) -> f64
    where
        Self: Sized,
    {
        let _ = scenario;
        1.0
    }

    /// Returns the `schemes` that this backend can run, in the same order. Assumptions of this backend are added to
    /// [`Scenario::assumptions`].
    ///
    /// # Errors
    /// The backend can run none of the schemes, or not the scenario.
    fn prepare(
        &self,
        scenario: &mut Scenario,
        schemes: &[Spec],
        settings: &Settings,
    ) -> Result<Vec<Spec>, Self::Error> {
        let _ = (scenario, settings);
        Ok(schemes.to_vec())
    }

    /// True if concurrent runs would disturb each other, so that [`compare`] runs one at a time.
    fn is_sequential(&self) -> bool {
        false
    }

    /// Executes one run, independently of all other runs.
    ///
    /// # Errors
    /// The run was cancelled, or failed.
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
    /// Called when a run starts.
    fn started(&self, run: Run);
    /// Called during a run with its completed fraction, 0 to 1.
    fn reached(&self, run: Run, fraction: f64);
    /// Called when a run has ended: completed, cancelled or failed.
    fn finished(&self, run: Run);
}

/// No-op observer.
impl Observer for () {
    fn started(&self, _: Run) {}
    fn reached(&self, _: Run, _: f64) {}
    fn finished(&self, _: Run) {}
}

/// Runs `scenario` on `backend` under each scheme with each seed, on the threads of the current rayon pool.
///
/// Runs are independent and results are aggregated in a fixed order, so the outcome does not depend on the number of
/// threads. If `stop` becomes true, the comparison is marked `interrupted` and covers the seeds that every scheme has
/// finished or, if no seed is finished by all, the schemes that have finished the most common seed. The reference is
/// the first scheme; [`Comparison::set_reference`] changes it.
///
/// # Errors
/// The error of the first failed run in order of schemes and seeds. No run starts after a failure.
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
    let failed = AtomicBool::new(false);
    let one = |run: Run| -> Result<Option<RunRecord>, B::Error> {
        if failed.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        observer.started(run);
        let scheme = &schemes[run.scheme];
        let spec = RunSpec {
            scenario: &scenario.under(scheme),
            scheme,
            seed: settings.seeds[run.seed],
            bins: &settings.bins,
            keep_connections: false,
        };
        let watch = Watch { stop, progress: &|fraction| observer.reached(run, fraction) };
        let outcome = backend.run(&spec, &watch);
        observer.finished(run);
        match outcome {
            Ok(mut record) => {
                // Results show the time line of the first seed only: free the memory of the others.
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
    let outcomes = run_all(schemes.len(), settings.seeds.len(), backend.is_sequential(), one);
    let by_scheme: Result<Vec<Vec<Option<RunRecord>>>, B::Error> =
        outcomes.into_iter().map(|runs| runs.into_iter().collect()).collect();
    Ok(assemble(&scenario, &schemes, &settings.seeds, by_scheme?))
}

/// Calls `make` for every run, one at a time if `sequential`, else on the threads of the current rayon pool. Runs start
/// seed by seed, so that an interrupted comparison has complete seeds. Outcomes are returned by scheme in order of
/// seeds.
fn run_all<T: Send>(schemes: usize, seeds: usize, sequential: bool, make: impl Fn(Run) -> T + Sync) -> Vec<Vec<T>> {
    let runs = (0..seeds).flat_map(|seed| (0..schemes).map(move |scheme| Run { scheme, seed }));
    let mut outcomes: Vec<(Run, T)> = match sequential {
        true => runs.map(|run| (run, make(run))).collect(),
        // A parallel bridge starts runs in this order; a parallel iterator over a list would split it and start in
        // several places.
        false => runs.par_bridge().map(|run| (run, make(run))).collect(),
    };
    outcomes.sort_unstable_by_key(|(run, _)| (run.scheme, run.seed));
    let mut by_scheme: Vec<Vec<T>> = (0..schemes).map(|_| Vec::new()).collect();
    for (run, outcome) in outcomes {
        by_scheme[run.scheme].push(outcome);
    }
    by_scheme
}
