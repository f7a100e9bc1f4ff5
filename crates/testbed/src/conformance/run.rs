//! Execution of cases in a machine.

use super::case::{Case, CaseError};
use super::compare::Tally;
use crate::guest::replay_one;
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
    /// Complaints of the kernel: warnings, locking errors, invalid memory accesses, leaks.
    pub complaints: Vec<String>,
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
    /// A case cannot be replayed on the kernel of this computer.
    #[error("{0}")]
    Replay(String),
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
    let folder = folder()?;
    let replays = cases
        .iter()
        .enumerate()
        .map(|(number, case)| case.prepare(folder.path(), number))
        .collect::<Result<Vec<_>, CaseError>>()?;
    machine.files = Some(folder.path().to_owned());
    let outcome = machine.run(ReplayJob { replays }, stop, progress)?;
    let check = |(number, case): (usize, &Case)| case.check(folder.path(), number);
    Ok(CaseResults {
        cases: cases.iter().enumerate().map(check).collect(),
        complaints: outcome.complaints(),
    })
}

/// Replays `case` on the running kernel, through the qdisc that `commands` (programs with arguments) set up at the root of
/// the device `replay0`, and compares the decisions with the model. The case's own scheme for the kernel is not used.
///
/// This is for qdiscs in BPF, which Linux in virtual time cannot run. The kernel needs the module `gentle_replay`, which
/// gives such a qdisc the time of the schedule. A device `replay0` must not exist; it is created, and deleted at the end.
///
/// # Errors
/// The files cannot be written, a command fails, or the module is missing. A difference between the queues is no error but a
/// result.
pub fn run_case_here(
    case: &Case,
    commands: &[&[&str]],
) -> Result<Result<Tally, CaseError>, ConformanceError> {
    let folder = folder()?;
    let owned = |words: &&[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let commands = commands.iter().map(owned).collect();
    let replay = case.prepare_with(folder.path(), 0, commands)?;
    replay_one(&replay, folder.path())
        .map_err(|error| ConformanceError::Replay(error.to_string()))?;
    Ok(case.check(folder.path(), 0))
}

fn folder() -> Result<tempfile::TempDir, ConformanceError> {
    tempfile::Builder::new()
        .prefix("gentle-decisions-")
        .tempdir()
        .map_err(|source| ConformanceError::Folder { source })
}
