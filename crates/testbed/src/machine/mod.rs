//! Boots a kernel as a process, runs a task in it, and collects the results.

mod console;
mod error;
mod instance;
mod memory;
mod pool;

pub use console::Console;
pub use error::MachineError;
pub use memory::{NoMemory, Unfit};
pub use pool::run_all;

use crate::build::Kernel;
use crate::job::Task;
use instance::Instance;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Configuration of a machine; can be started any number of times.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Kernel to boot.
    pub kernel: Kernel,
    /// Program that runs as init.
    pub program: GuestProgram,
    /// Clock of the machine.
    pub clock: Clock,
    /// Memory in MiB, at least 64. The host allocates only the pages that are touched.
    pub memory_mib: u32,
    /// Modules loaded before the task begins, in this order.
    pub modules: Vec<PathBuf>,
    /// Plug-ins of `tc` (`TC_LIB_DIR`). Any plug-in here replaces all plug-ins of the host.
    pub plugins: Vec<PathBuf>,
    /// Directory of the host that the task may read and write ([`JobContext::files`](crate::guest::JobContext::files)).
    pub files: Option<PathBuf>,
    /// Seed of the kernel's random numbers: two runs of the same task with the same seed in virtual time give the same
    /// answer. `None`: random numbers of the host.
    pub seed: Option<u64>,
    /// Limit of the run in wall-clock time, boot and shutdown included.
    pub time_limit: Duration,
}

/// Program that calls [`guest::main`](crate::guest::main), both on the host and in the machine.
#[derive(Debug, Clone)]
pub struct GuestProgram {
    /// Path of the program.
    pub path: PathBuf,
    /// Arguments before the stage; without white space.
    pub arguments: Vec<String>,
}

/// Clock of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Virtual time: jumps over idle time and stands still while code runs; starts on 1 January 2026.
    Virtual,
    /// The host's time.
    Real,
}

/// Results of a run of a machine.
#[derive(Debug)]
pub struct Outcome<A> {
    /// Answer of the task.
    pub answer: A,
    /// Console output of the kernel.
    pub console: Console,
    /// Report of kmemleak; empty if it found nothing, `None` if the kernel was built without it.
    pub leaks: Option<String>,
}

impl<A> Outcome<A> {
    /// All warnings of the kernel: warnings, locking errors, invalid memory accesses, leaks.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.console.warnings();
        warnings.extend(self.leaks.clone().filter(|leaks| !leaks.is_empty()));
        warnings
    }
}

impl Machine {
    /// Machine with virtual time, 512 MiB of memory, no modules, random numbers of the host, and a time limit of ten
    /// minutes.
    pub fn new(kernel: Kernel, program: GuestProgram) -> Machine {
        Machine {
            kernel,
            program,
            clock: Clock::Virtual,
            memory_mib: 512,
            modules: Vec::new(),
            plugins: Vec::new(),
            files: None,
            seed: None,
            time_limit: Duration::from_secs(600),
        }
    }

    /// Boots, runs `task`, and shuts down. Stops early when `stop` becomes true; calls `progress` with the fraction
    /// that the task reports as done, 0 to 1.
    ///
    /// No process or file of the machine is left when this returns, or when the calling process ends for any reason.
    ///
    /// # Errors
    /// The machine cannot be started, exceeds its time limit, is stopped, or ends without an answer; or the task fails
    /// in it.
    pub fn run<T: Task>(
        &self,
        task: T,
        stop: &AtomicBool,
        progress: &dyn Fn(f64),
    ) -> Result<Outcome<T::Answer>, MachineError> {
        let instance = Instance::prepare(self, &task.into())?;
        instance.run(stop, progress)
    }
}
