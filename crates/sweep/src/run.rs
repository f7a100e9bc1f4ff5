//! Execution of a sweep on the threads of this machine.

use crate::batch::{Batch, BatchError, run_batch};
use crate::error::SweepError;
use crate::store::Stores;
use crate::sweep::{Survey, Sweep};
use gentle_experiment::Backend;
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of a sweep; called by several threads.
pub trait Progress: Sync {
    /// Called before the first batch, and again when more seeds turn out to be needed.
    fn planned(&self, survey: &Survey);
    /// Called when the runs of a batch are in the store.
    fn finished(&self, runs: usize);
}

/// No-op progress.
impl Progress for () {
    fn planned(&self, _: &Survey) {}
    fn finished(&self, _: usize) {}
}

/// Outcome of a call of [`run()`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Runs of the sweep that the store had before.
    pub found: u64,
    /// Runs that were made.
    pub made: u64,
    /// True if the sweep was stopped before its end.
    pub interrupted: bool,
}

/// Reads what `stores` have, and makes the runs that are missing on `backend`, the one that the sweep was made for, and the
/// threads of the current rayon pool. Results are in the store when their batch has ended; if `stop` becomes true, batches under way are lost.
///
/// # Errors
/// The grid or a file of the store is not valid, or a file cannot be written. What was written stays.
pub fn run<B: Backend>(
    sweep: &Sweep,
    backend: &B,
    stores: Stores<'_>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Outcome, SweepError>
where
    B::Error: std::fmt::Display,
{
    for name in stores.names()? {
        let added = sweep.add(&name, stores.runs.get(&name)?);
        added.map_err(|error| error.within(stores.runs))?;
    }
    let mut outcome = Outcome::default();
    let mut first = true;
    loop {
        let survey = sweep.survey()?;
        if first {
            outcome.found = survey.runs - survey.missing;
            first = false;
        }
        progress.planned(&survey);
        if survey.missing == 0 || stop.load(Ordering::Relaxed) {
            outcome.interrupted = survey.missing > 0;
            return Ok(outcome);
        }
        let made = AtomicU64::new(0);
        let mut batches = sweep.batches(survey.seconds, rayon::current_num_threads());
        let failed: Mutex<Option<SweepError>> = Mutex::new(None);
        let has_failed = AtomicBool::new(false);
        let fail = |error: SweepError| {
            has_failed.store(true, Ordering::Relaxed);
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        };
        let next = || {
            if has_failed.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed) {
                return None;
            }
            batches.next(sweep).unwrap_or_else(|error| {
                fail(error.into());
                None
            })
        };
        std::iter::from_fn(next).par_bridge().for_each(|batch| match one(sweep, backend, stores, &batch, stop) {
            Ok(()) => {
                made.fetch_add(batch.runs() as u64, Ordering::Relaxed);
                progress.finished(batch.runs());
            }
            Err(SweepError::Batch(BatchError::Stopped)) => {}
            Err(error) => fail(error),
        });
        outcome.made += made.into_inner();
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
    }
}

fn one<B: Backend>(
    sweep: &Sweep,
    backend: &B,
    stores: Stores<'_>,
    batch: &Batch,
    stop: &AtomicBool,
) -> Result<(), SweepError>
where
    B::Error: std::fmt::Display,
{
    let bytes = batch.to_json();
    let name = Batch::file_name(&bytes);
    let results = run_batch(backend, &bytes, sweep.inputs(), stop)?;
    stores.put(&name, &results)?;
    sweep.add(&name, results.runs)?;
    Ok(())
}
