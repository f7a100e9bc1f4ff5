//! Boots a kernel as a process, has a task done in it, and collects what came of it.

mod console;
mod error;
mod instance;
mod memory;
mod pool;
mod setup;

pub use console::Console;
pub use error::MachineError;
pub use pool::run_all;
pub(crate) use setup::Setup;

use crate::Task;
use crate::build::Kernel;
use instance::Instance;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A machine that can be started, any number of times.
#[derive(Debug, Clone)]
pub struct Machine {
    /// What it boots.
    pub kernel: Kernel,
    /// What it runs.
    pub program: GuestProgram,
    /// How its clock goes.
    pub clock: Clock,
    /// Its memory in MiB, at least 64. It takes what it touches, not all of that.
    pub memory_mib: u32,
    /// Modules that are loaded before the task begins, in this order.
    pub modules: Vec<PathBuf>,
    /// Plug-ins of `tc`: all that it finds there (`TC_LIB_DIR`) if there are any, else those of the host.
    pub plugins: Vec<PathBuf>,
    /// A directory of the host that the task may read and write ([`Place::files`](crate::guest::Place::files)).
    pub files: Option<PathBuf>,
    /// How long it may take by the clock on the wall, boot and end included.
    pub time_limit: Duration,
}

/// The program that leads to [`guest::main`](crate::guest::main), both on the host and in the machine.
#[derive(Debug, Clone)]
pub struct GuestProgram {
    /// The program.
    pub path: PathBuf,
    /// The arguments that come before the stage; no white space in them.
    pub arguments: Vec<String>,
}

/// How a machine's clock goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// It jumps over idle time and stands still while code runs; begins on 1 January 2026.
    Virtual,
    /// As the host's.
    Real,
}

/// What a machine left behind.
#[derive(Debug)]
pub struct Outcome<A> {
    /// The task's answer.
    pub answer: A,
    /// What the kernel said.
    pub console: Console,
    /// What kmemleak found, in kernels that have it; empty if nothing.
    pub leaks: Option<String>,
}

impl<A> Outcome<A> {
    /// Everything that the kernel complained about: warnings, lock trouble, bad memory accesses, leaks.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = self.console.complaints();
        complaints.extend(self.leaks.clone().filter(|leaks| !leaks.is_empty()));
        complaints
    }
}

impl Machine {
    /// A machine with virtual time, 512 MiB, no modules, and ten minutes.
    pub fn new(kernel: Kernel, program: GuestProgram) -> Machine {
        Machine {
            kernel,
            program,
            clock: Clock::Virtual,
            memory_mib: 512,
            modules: Vec::new(),
            plugins: Vec::new(),
            files: None,
            time_limit: Duration::from_secs(600),
        }
    }

    /// Boots, does `task`, ends. Stops early when `stop` becomes true; `progress` hears how far the task says it has come,
    /// 0 to 1.
    ///
    /// Nothing of the machine is left when this returns or when the calling process ends, however it ends.
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
