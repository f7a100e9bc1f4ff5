//! Version of the program, as far as it decides results.

use gentle_experiment::RECORD_VERSION;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What decides the result of a run besides scenario, scheme and seed: batches are run by the version that made them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Version of gentle.
    pub version: String,
    /// Version of run records.
    pub record: u32,
    /// Commit of the source; `None` if the build was not told (environment variable `GENTLE_COMMIT`).
    pub commit: Option<String>,
}

impl Origin {
    /// The running program.
    pub fn here() -> Origin {
        Origin {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            record: RECORD_VERSION,
            commit: option_env!("GENTLE_COMMIT").map(str::to_owned),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "gentle {} (records of version {}",
            self.version, self.record
        )?;
        if let Some(commit) = &self.commit {
            write!(f, ", commit {commit}")?;
        }
        f.write_str(")")
    }
}
