//! Learned paths in a file, kept between runs.

use crate::paths::PathRecord;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Version of the file format.
const VERSION: u32 = 1;

/// Error of reading learned paths.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// The text is not valid JSON, or a field is missing.
    #[error("expected what gentle rexmit --learned has written")]
    Form(#[from] serde_json::Error),
    /// The text has another version of the format.
    #[error("it has version {0}, expected {VERSION}; remove it, and it will be written anew")]
    Version(u32),
}

#[derive(Serialize, Deserialize)]
struct Memory {
    version: u32,
    paths: Vec<PathRecord>,
}

/// Serializes learned paths.
#[must_use]
pub fn remember(paths: &[PathRecord]) -> String {
    let memory = Memory {
        version: VERSION,
        paths: paths.to_vec(),
    };
    // Serialization of numbers and prefixes does not fail.
    serde_json::to_string(&memory).unwrap_or_default() + "\n"
}

/// Parses learned paths.
///
/// # Errors
/// If the text is not JSON of the expected structure, or has another version.
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
