//! The laboratory: runs the experiments of figures and tables.

use crate::memo::Memo;
use crate::paper::Variant;
use crate::results::Results;
use crate::runs::Cached;
use crate::setup::Setup;
use gentle_aqm::Spec;
use gentle_experiment::results::Comparison;
use gentle_experiment::{Backend, DEFAULT_BINS, Observer, Run, RunSpec, Scenario, Settings, compare};
use gentle_runs::Records;
use gentle_sim::{Simulation, Simulator, Stopped, Tap};
use rayon::prelude::*;
use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// Reason for which a figure or table has no results.
#[derive(Debug, Error)]
pub enum Failure {
    /// The call was interrupted.
    #[error("stopped")]
    Stopped,
    /// Variants of assumptions exclude each other.
    #[error("variants of assumptions: {0}")]
    Conflict(String),
    /// The kernel testbed failed.
    #[error("testbed: {0}")]
    Kernel(Box<dyn Error + Send + Sync>),
}

/// Progress callbacks; may be called concurrently.
pub trait Progress: Sync {
    /// Called before the measurement of a figure or table, or of the sensitivity to an assumption.
    fn part(&self, _paper: &str, _part: &str) {}
    /// Called before runs, with their number.
    fn planned(&self, _runs: usize) {}
    /// Called when a run has ended.
    fn finished(&self) {}
}

impl Progress for () {}

/// A [`Backend`] with its type erased.
pub trait Runner: Sync {
    /// [`gentle_experiment::compare`] on the backend.
    ///
    /// # Errors
    /// The backend failed.
    fn compare(
        &self,
        scenario: &Scenario,
        schemes: &[Spec],
        settings: &Settings,
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Comparison, Box<dyn Error + Send + Sync>>;
}

impl<B: Backend> Runner for B
where
    Box<dyn Error + Send + Sync>: From<B::Error>,
{
    fn compare(
        &self,
        scenario: &Scenario,
        schemes: &[Spec],
        settings: &Settings,
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Comparison, Box<dyn Error + Send + Sync>> {
        Ok(compare(self, scenario, schemes, settings, observer, stop)?)
    }
}

/// Runs experiments for figures and tables.
pub struct Lab<'a> {
    quick: bool,
    simulator: Arc<Cached<'a, Simulator>>,
    memo: Arc<Memo>,
    kernel: Option<&'a dyn Runner>,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    variants: Vec<Variant>,
    seeds: Seeds,
}

/// Number of seeds for a figure or table.
#[derive(Debug, Clone, Copy)]
enum Seeds {
    /// The number of a quick call.
    Few,
    /// The number of a full call, times this factor.
    Full(u64),
}

/// Measurements of a run that run records do not hold, collected packet by packet for figures and tables.
pub trait Observation: Tap + Send + Sync + 'static {
    /// The observation of `run` before it begins. It depends on nothing else: figures share it.
    fn of(run: &RunSpec<'_>) -> Self;
}

/// An observed run.
#[derive(Debug, Clone)]
pub struct Watched<T> {
    /// Role of the scheme.
    pub role: &'static str,
    /// The observation.
    pub seen: Arc<T>,
}

impl<'a> Lab<'a> {
    /// A laboratory without a kernel. With `quick`, runs are fewer and shorter. `stop` ends runs when it becomes true.
    pub fn new(quick: bool, progress: &'a dyn Progress, stop: &'a AtomicBool) -> Lab<'a> {
        Lab {
            quick,
            simulator: Arc::new(Cached::new(&Simulator, None)),
            memo: Arc::default(),
            kernel: None,
            progress,
            stop,
            variants: Vec::new(),
            seeds: match quick {
                true => Seeds::Few,
                false => Seeds::Full(1),
            },
        }
    }

    /// The laboratory with a kernel testbed for [`Lab::kernel`].
    #[must_use]
    pub fn with_kernel(self, kernel: &'a dyn Runner) -> Lab<'a> {
        Lab { kernel: Some(kernel), ..self }
    }

    /// The laboratory with records of runs, which are reused.
    #[must_use]
    pub fn with_records(self, records: &'a Records<'a>) -> Lab<'a> {
        Lab { simulator: Arc::new(Cached::new(&Simulator, Some(records))), ..self }
    }

    /// True if everything has to take less than two minutes on two cores.
    pub fn quick(&self) -> bool {
        self.quick
    }

    /// Seeds 1 to `full`, or to a multiple of it if more seeds decide a claim; to `quick` in a quick call and for the
    /// variants of assumptions.
    pub fn seeds(&self, full: u64, quick: u64) -> Vec<u64> {
        let number = match self.seeds {
            Seeds::Few => quick,
            Seeds::Full(times) => full * times,
        };
        (1..=number).collect()
    }

    /// Runs a set-up in the simulator and distinguishes the default ranges of connection sizes.
    ///
    /// # Errors
    /// The call was interrupted.
    pub fn compare(&self, setup: Setup, seeds: &[u64]) -> Result<Results, Failure> {
        self.compare_with_bins(setup, seeds, &DEFAULT_BINS)
    }

    /// Runs a set-up in the simulator. `bins` has the upper ends, ascending, of the ranges of connection sizes in
    /// segments.
    ///
    /// # Errors
    /// The call was interrupted.
    pub fn compare_with_bins(&self, setup: Setup, seeds: &[u64], bins: &[u64]) -> Result<Results, Failure> {
        self.on(&*self.simulator, setup, seeds, bins)
    }

    /// Runs a set-up on the kernel testbed; `None` unless requested, and for variants of assumptions.
    ///
    /// # Errors
    /// The call was interrupted, or the testbed failed.
    pub fn kernel(&self, setup: Setup, seeds: &[u64]) -> Result<Option<Results>, Failure> {
        match self.kernel.filter(|_| self.variants.is_empty()) {
            Some(kernel) => self.on(kernel, setup, seeds, &DEFAULT_BINS).map(Some),
            None => Ok(None),
        }
    }

    fn on(&self, runner: &dyn Runner, setup: Setup, seeds: &[u64], bins: &[u64]) -> Result<Results, Failure> {
        let setup = possible(self.varied(setup))?;
        let schemes: Vec<Spec> = setup.schemes.iter().map(|(_, spec)| spec.clone()).collect();
        let settings = Settings { seeds: seeds.to_vec(), bins: bins.to_vec() };
        self.progress.planned(schemes.len() * seeds.len());
        let observer = Counting(self.progress);
        let comparison =
            runner.compare(&setup.scenario, &schemes, &settings, &observer, self.stop).map_err(Failure::Kernel)?;
        if comparison.interrupted {
            return Err(Failure::Stopped);
        }
        let roles = setup.schemes.iter();
        let roles: Vec<_> = roles.map(|(role, spec)| (*role, spec.to_string())).collect();
        Ok(Results::new(comparison, &roles))
    }

    /// Simulates each scheme of a set-up with each seed and observes the runs. Returns them by scheme, then seed.
    ///
    /// # Errors
    /// The call was interrupted.
    pub fn watch<T: Observation>(&self, setup: &Setup, seeds: &[u64]) -> Result<Vec<Watched<T>>, Failure> {
        let setup = possible(self.varied(setup.clone()))?;
        let runs: Vec<_> =
            (setup.schemes.iter()).flat_map(|(_, scheme)| seeds.iter().map(move |seed| (scheme, *seed))).collect();
        let seen = self.map(&setup.scenario, runs, |&(scheme, seed)| {
            let run = RunSpec { scenario: &setup.scenario, scheme, seed, bins: &DEFAULT_BINS, keep_connections: false };
            let mut seen = T::of(&run);
            let outcome = Simulation::new(&run, &mut seen).run(|_| !self.is_stopped());
            outcome.map_err(|Stopped| Failure::Stopped)?;
            Ok(seen)
        })?;
        let roles = setup.schemes.iter().map(|(role, _)| *role);
        let roles = roles.flat_map(|role| std::iter::repeat_n(role, seeds.len()));
        let watched = roles.zip(seen).map(|(role, seen)| Watched { role, seen });
        Ok(watched.collect())
    }

    /// Calls `work` for each input in parallel; results keep the order of the inputs. They are kept for other figures:
    /// the result of `work` may depend only on its input, on `context` and on the type of the result.
    ///
    /// # Errors
    /// The first error of `work`, or the call was interrupted.
    pub fn map<C, I, T>(
        &self,
        context: &C,
        inputs: Vec<I>,
        work: impl Fn(&I) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<Arc<T>>, Failure>
    where
        C: Debug + Sync,
        I: Debug + Send,
        T: Send + Sync + 'static,
    {
        self.progress.planned(inputs.len());
        let one = |input| {
            if self.is_stopped() {
                return Err(Failure::Stopped);
            }
            let from = format!("{context:?} {input:?}");
            let outcome = self.memo.once(from, || work(&input));
            self.progress.finished();
            outcome
        };
        inputs.into_par_iter().map(one).collect()
    }

    /// True if the call was interrupted.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// `setup` with the variants of assumptions that are being measured.
    pub(crate) fn varied(&self, mut setup: Setup) -> Setup {
        for variant in &self.variants {
            (variant.change)(&mut setup);
        }
        setup
    }

    /// A laboratory that knows all results so far and forgets those that are added when it ends.
    pub(crate) fn temporary(&self) -> Lab<'a> {
        Lab {
            simulator: Arc::clone(&self.simulator),
            memo: Arc::new(Memo::within(&self.memo)),
            variants: self.variants.clone(),
            ..*self
        }
    }

    /// A temporary laboratory that applies `variants`, in this order, to every set-up.
    pub(crate) fn with_variants(&self, variants: Vec<Variant>) -> Lab<'a> {
        Lab { variants, ..self.temporary() }
    }

    /// The laboratory with as few seeds as in a quick call.
    pub(crate) fn with_few_seeds(self) -> Lab<'a> {
        Lab { seeds: Seeds::Few, ..self }
    }

    /// The laboratory of a quick call.
    pub(crate) fn made_quick(self) -> Lab<'a> {
        Lab { quick: true, ..self }
    }

    /// The laboratory with `times` as many seeds as in a full call, unless it has few.
    pub(crate) fn with_more_seeds(&self, times: u64) -> Lab<'a> {
        Lab {
            memo: Arc::clone(&self.memo),
            seeds: match self.seeds {
                Seeds::Few => Seeds::Few,
                Seeds::Full(_) => Seeds::Full(times),
            },
            ..self.temporary()
        }
    }

    pub(crate) fn begin(&self, paper: &str, part: &str) {
        self.progress.part(paper, part);
    }
}

/// The set-up, unless options of a scheme in it exclude each other.
fn possible(setup: Setup) -> Result<Setup, Failure> {
    match setup.conflict {
        Some(conflict) => Err(Failure::Conflict(conflict)),
        None => Ok(setup),
    }
}

/// Counts runs.
struct Counting<'a>(&'a dyn Progress);

impl Observer for Counting<'_> {
    fn started(&self, _: Run) {}
    fn reached(&self, _: Run, _: f64) {}
    fn finished(&self, _: Run) {
        self.0.finished();
    }
}
