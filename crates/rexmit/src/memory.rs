//! What was learned, from run to run.

use crate::paths::PathRecord;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Of the form of the text.
const VERSION: u32 = 1;

/// Why a text is not what was learned.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// It is not JSON, or something is missing.
    #[error("expected what gentle rexmit --learned has written")]
    Form(#[from] serde_json::Error),
    /// Written by another version.
    #[error("it has version {0}, expected {VERSION}; remove it, and it will be written anew")]
    Version(u32),
}

#[derive(Serialize, Deserialize)]
struct Memory {
    version: u32,
    paths: Vec<PathRecord>,
}

/// As text.
#[must_use]
pub fn remember(paths: &[PathRecord]) -> String {
    let memory = Memory {
        version: VERSION,
        paths: paths.to_vec(),
    };
    // Numbers and prefixes: there is nothing that JSON could not say.
    serde_json::to_string(&memory).unwrap_or_default() + "\n"
}

/// Back from text.
///
/// # Errors
/// What is wrong with it.
pub fn recall(text: &str) -> Result<Vec<PathRecord>, MemoryError> {
    let memory: Memory = serde_json::from_str(text)?;
    match memory.version {
        VERSION => Ok(memory.paths),
        version => Err(MemoryError::Version(version)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_recalled() {
        let paths = vec![PathRecord {
            prefix: "2001:db8::/48".parse().expect("a prefix"),
            srtt_us: 12_345,
            rttvar_us: 678,
            tail_us: 23_456,
            samples: 9,
            measured_ns: 1_700_000_000_000_000_000,
        }];
        assert_eq!(recall(&remember(&paths)).expect("ours"), paths);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "{\"version\":1}",
            "{\"version\":1,\"paths\":[{\"prefix\":\"x\"}]}",
        ] {
            assert!(matches!(recall(text), Err(MemoryError::Form(_))), "{text}");
        }
        let later = recall("{\"version\":2,\"paths\":[]}");
        assert!(matches!(later, Err(MemoryError::Version(2))), "{later:?}");
    }
}
