//! Stores of a sweep.

use crate::batch::Results;
use gentle_runs::{Folder, Store, StoreError};
use std::collections::HashSet;
use std::path::Path;

/// Stores of the results of batches.
#[derive(Clone, Copy)]
pub struct Stores<'a> {
    /// A row per run.
    pub runs: &'a dyn Store,
    /// A row per connection, where connections are wanted.
    pub connections: Option<&'a dyn Store>,
}

/// Extension of files of results.
const ENDING: &str = "parquet";

/// The runs of sweeps in a directory: `DIR/runs/*.parquet`.
///
/// # Errors
/// The directory cannot be created.
pub fn runs_in(directory: &Path) -> Result<Folder, StoreError> {
    Folder::open(directory, "runs", ENDING)
}

/// The connections of runs in a directory: `DIR/connections/*.parquet`.
///
/// # Errors
/// The directory cannot be created.
pub fn connections_in(directory: &Path) -> Result<Folder, StoreError> {
    Folder::open(directory, "connections", ENDING)
}

impl Stores<'_> {
    /// Names of the files of runs, sorted; those only that have a file of connections, where they are wanted.
    pub(crate) fn names(&self) -> Result<Vec<String>, StoreError> {
        let mut names = self.runs.names()?;
        if let Some(connections) = self.connections {
            let complete: HashSet<String> = connections.names()?.into_iter().collect();
            names.retain(|name| complete.contains(name));
        }
        Ok(names)
    }

    /// Writes the results of a batch: connections first, so that runs which are there have theirs.
    pub(crate) fn put(&self, name: &str, results: &Results) -> Result<(), StoreError> {
        if let (Some(store), Some(connections)) = (self.connections, &results.connections) {
            store.put(name, connections)?;
        }
        self.runs.put(name, &results.runs)
    }
}
