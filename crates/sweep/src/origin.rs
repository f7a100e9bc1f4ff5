//! Identity of the code that makes runs.

use gentle_experiment::{Backend, RECORD_VERSION};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What decides the result of a run besides scenario, scheme and seed: batches are run by the code that made them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Version of gentle.
    pub version: String,
    /// Version of run records.
    pub record: u32,
    /// Identity of the backend's code ([`Backend::engine`]).
    pub engine: String,
}

impl Origin {
    /// The running program's backend.
    pub fn of(backend: &impl Backend) -> Origin {
        Origin { version: env!("CARGO_PKG_VERSION").to_owned(), record: RECORD_VERSION, engine: backend.engine() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = self.engine.get(..8).unwrap_or(&self.engine);
        write!(f, "gentle {} (engine {engine}, records of version {})", self.version, self.record)
    }
}
