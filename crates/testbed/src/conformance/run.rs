//! Execution of cases in a machine.

use super::case::{Case, CaseError};
use super::compare::Tally;
use crate::job::ReplayJob;
use crate::machine::{Machine, MachineError};
use std::io;
use std::sync::atomic::AtomicBool;
use thiserror::Error;

/// Results of cases.
#[derive(Debug)]
pub struct CaseResults {
    /// Result of each case: the calls compared, or the reason why both queues were not found equal.
    pub cases: Vec<Result<Tally, CaseError>>,
    /// Warnings of the kernel: warnings, locking errors, invalid memory accesses, leaks.
    pub warnings: Vec<String>,
}

/// Errors that prevent any comparison.
#[derive(Debug, Error)]
pub enum ConformanceError {
    /// The directory for the schedules cannot be created.
    #[error("{}: no directory for the packets: {source}", std::env::temp_dir().display())]
    Folder {
        /// Error of the operating system.
        source: io::Error,
    },
    /// A case cannot be set up on the kernel.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The machine failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// Replays `cases` in `machine`, one after the other, and compares the decisions of each with the model.
///
/// The machine needs the module `gentle_replay` (`kernel/testing/replay`), and for schemes that Linux does not have
/// their modules and plug-ins for `tc`.
///
/// # Errors
/// A case cannot be set up, or the machine fails. A difference between the queues is no error but a result.
pub fn run_cases(
    mut machine: Machine,
    cases: &[Case],
    stop: &AtomicBool,
    progress: &dyn Fn(f64),
) -> Result<CaseResults, ConformanceError> {
    let folder = tempfile::Builder::new()
        .prefix("gentle-decisions-")
        .tempdir()
        .map_err(|source| ConformanceError::Folder { source })?;
    let replays = cases
        .iter()
        .enumerate()
        .map(|(number, case)| case.prepare(folder.path(), number))
        .collect::<Result<Vec<_>, CaseError>>()?;
    machine.files = Some(folder.path().to_owned());
    let outcome = machine.run(ReplayJob { replays }, stop, progress)?;
    let check = |(number, case): (usize, &Case)| case.check(folder.path(), number);
    Ok(CaseResults { cases: cases.iter().enumerate().map(check).collect(), warnings: outcome.warnings() })
}
