//! Errors of sweeps.

use crate::batch::BatchError;
use gentle_experiment::ScenarioError;
use gentle_runs::{Store, StoreError};
use thiserror::Error;

/// A point of a grid that is no valid scenario.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct PointError {
    /// Axis that is the cause, if known.
    pub axis: Option<String>,
    /// The problem and the expected values.
    pub problem: String,
}

impl PointError {
    pub(crate) fn of(axis: &str, problem: impl std::fmt::Display) -> PointError {
        PointError { axis: Some(axis.to_owned()), problem: format!("{axis}: {problem}") }
    }

    pub(crate) fn whole(problem: impl Into<String>) -> PointError {
        PointError { axis: None, problem: problem.into() }
    }
}

/// Reason for which a sweep cannot start or continue.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The grid is not valid.
    #[error(transparent)]
    Grid(#[from] ScenarioError),
    /// The backend cannot make the runs.
    #[error("{0}")]
    Backend(String),
    /// A file of the store is not a file of results.
    #[error(
        "{file}: {problem}; expected a Parquet file that a sweep of this version wrote: remove it, and its runs are made again"
    )]
    File {
        /// Name of the file.
        file: String,
        /// The problem.
        problem: String,
    },
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A batch cannot be run.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The finished table cannot be written.
    #[error("{0}")]
    Output(String),
}

impl SweepError {
    /// The error with the place of the file in `store` instead of its name.
    #[must_use]
    pub fn within(self, store: &dyn Store) -> SweepError {
        match self {
            SweepError::File { file, problem } => SweepError::File { file: store.place(&file), problem },
            other => other,
        }
    }
}
