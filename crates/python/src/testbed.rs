//! Comparisons on a Linux kernel in virtual time.

use crate::comparison::{Asked, Comparison, Fractions, Wanted, on_threads};
use crate::error::{failed, invalid};
use crate::scenario::Scenario;
use crate::work::interruptible;
use gentle_deploy::Backing;
use gentle_testbed::build::{self, Cache, Flavour, Observer, Request, Source, Stage};
use gentle_testbed::guest;
use gentle_testbed::machine::{GuestProgram, Machine};
use gentle_testbed::runs::{Kernel, Testbed};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Least memory of a machine, MiB: Linux does not boot with less.
const LEAST_MEMORY: u32 = 64;

/// Runs a stage of the machine's program, for an interpreter that is started as this program. True if it succeeded.
#[pyfunction]
pub(crate) fn testbed_guest(arguments: Vec<OsString>) -> bool {
    guest::main(&arguments) == ExitCode::SUCCESS
}

/// Completed fraction of a build.
#[derive(Default)]
struct Fraction(Mutex<f64>);

impl Fraction {
    fn set(&self, fraction: f64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = fraction;
    }

    fn get(&self) -> f64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Fraction {
    fn began(&self, _: Stage) {
        self.set(0.0);
    }
    fn reached(&self, fraction: f64) {
        self.set(fraction);
    }
    fn note(&self, _: &str) {}
}

/// Builds the kernel unless one is in the cache; its version and the path of its program.
#[pyfunction]
#[pyo3(signature = (source=None, progress=None))]
pub(crate) fn testbed_build(
    py: Python<'_>,
    source: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, PathBuf)> {
    let source = source.as_deref().map(Source::named).transpose();
    let request = Request {
        flavour: Flavour::Plain,
        source: source.map_err(invalid)?,
        force: false,
        jobs: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
    };
    let cache = Cache::of_user().map_err(failed)?;
    let built = Fraction::default();
    let kernel = interruptible(py, progress, || built.get(), |stop| build::build(&request, &cache, &built, stop))?;
    let kernel = kernel.map_err(failed)?;
    Ok((kernel.version, kernel.linux))
}

/// Settings of the machines, from any object with these attributes.
#[derive(FromPyObject)]
pub(crate) struct Machines {
    /// Program, with arguments, that calls [`testbed_guest`].
    guest: (PathBuf, Vec<String>),
    modules: Option<PathBuf>,
    memory_mib: u32,
    time_limit_s: f64,
}

impl Machines {
    /// The testbed with the cached kernel; builds gentle's modules if they are wanted and not in the cache.
    pub(crate) fn testbed(self, keep: Option<PathBuf>, stop: &AtomicBool) -> PyResult<Testbed> {
        if self.memory_mib < LEAST_MEMORY {
            return Err(invalid(format!("memory_mib: expected {LEAST_MEMORY} or more")));
        }
        let time_limit = Duration::try_from_secs_f64(self.time_limit_s)
            .ok()
            .filter(|limit| !limit.is_zero())
            .ok_or_else(|| invalid("time_limit_s: expected seconds above 0"))?;
        let cache = Cache::of_user().map_err(failed)?;
        let kernel = cache.kernel(Flavour::Plain).ok_or_else(|| {
            failed("no kernel has been built yet; call gentle.testbed.build() or run: gentle testbed build")
        })?;
        let (path, arguments) = self.guest;
        let mut machine = Machine::new(kernel, GuestProgram { path, arguments });
        machine.memory_mib = self.memory_mib;
        machine.time_limit = time_limit;
        if let Some(source) = &self.modules {
            let modules = build::modules(&machine.kernel, source, &cache, stop);
            machine.modules = modules.map_err(failed)?;
            machine.plugins = build::plugins(source, &cache, stop).map_err(failed)?;
        }
        Ok(Testbed {
            kernel: Kernel::Machine(Box::new(machine)),
            backing: match self.modules {
                Some(_) => Backing::Native,
                None => Backing::Stock,
            },
            rexmit: None,
            keep,
        })
    }
}

/// Runs a scenario under each scheme with each seed on the cached kernel.
#[pyfunction]
#[pyo3(signature = (scenario, schemes, seeds, bins, reference, harm, threads, machines, keep, store=None, progress=None))]
pub(crate) fn testbed_compare(
    py: Python<'_>,
    scenario: &Scenario,
    schemes: Vec<Asked>,
    seeds: Vec<u64>,
    bins: Vec<u64>,
    reference: Option<&str>,
    harm: bool,
    threads: Option<usize>,
    machines: Machines,
    keep: Option<PathBuf>,
    store: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    let wanted = Wanted::new(scenario, schemes, seeds, bins, reference, harm, store)?;
    if let Some(queue) = wanted.queues.first() {
        return Err(invalid(format!(
            "'{}' is a queue in Python, which runs only in the simulator (gentle.compare); expected schemes of gentle",
            queue.get().spec
        )));
    }
    if harm && keep.is_some() {
        return Err(invalid(
            "keep: runs of single parts would overwrite the runs of the whole; leave out keep or harm",
        ));
    }
    let fractions = Fractions::default();
    let fraction = || fractions.of(wanted.plan.runs());
    interruptible(py, progress, fraction, |stop| {
        let testbed = machines.testbed(keep, stop)?;
        on_threads(threads, || wanted.run(&testbed, &fractions, stop))?.map_err(failed)?
    })?
}
