//! Cases through the queues of a machine.

use super::case::{Case, CaseError};
use super::compare::Tally;
use super::task::Decisions;
use crate::machine::{Machine, MachineError};
use std::io;
use std::sync::atomic::AtomicBool;
use thiserror::Error;

/// What came of cases.
#[derive(Debug)]
pub struct Decided {
    /// Of each case: what was compared until its end, or why it is no proof of equality.
    pub cases: Vec<Result<Tally, CaseError>>,
    /// What the kernel complained about.
    pub complaints: Vec<String>,
}

/// Why nothing was compared.
#[derive(Debug, Error)]
pub enum DecideError {
    /// No directory for the schedules.
    #[error("{}: no directory for the packets: {problem}", std::env::temp_dir().display())]
    Folder {
        /// What the system says.
        problem: io::Error,
    },
    /// A case cannot be put to the kernel.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The machine failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// Puts `cases` through the queues of `machine`, one after the other, and compares what comes of each.
///
/// The machine needs the module `gentle_replay` (`kernel/testing/replay`), and for schemes that Linux does not have
/// their modules and plug-ins for `tc`.
///
/// # Errors
/// Why there was nothing to compare; that queues differ is no error.
pub fn decide(
    mut machine: Machine,
    cases: &[Case],
    stop: &AtomicBool,
    progress: &dyn Fn(f64),
) -> Result<Decided, DecideError> {
    let folder = tempfile::Builder::new()
        .prefix("gentle-decisions-")
        .tempdir()
        .map_err(|problem| DecideError::Folder { problem })?;
    let replays = cases
        .iter()
        .enumerate()
        .map(|(number, case)| case.prepare(folder.path(), number))
        .collect::<Result<Vec<_>, CaseError>>()?;
    machine.files = Some(folder.path().to_owned());
    let outcome = machine.run(Decisions { replays }, stop, progress)?;
    let check = |(number, case): (usize, &Case)| case.check(folder.path(), number);
    Ok(Decided {
        cases: cases.iter().enumerate().map(check).collect(),
        complaints: outcome.complaints(),
    })
}
