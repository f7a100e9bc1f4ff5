//! Learned paths in a file, kept between runs.

use crate::paths::PathRecord;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Version of the file format.
const VERSION: u32 = 1;

/// Error of reading learned paths.
#[derive(Debug, Error)]
pub enum LearnedError {
    /// The text is not valid JSON, or a field is missing.
    #[error("expected a file that gentle rexmit --learned has written")]
    Syntax(#[from] serde_json::Error),
    /// The text has another version of the format.
    #[error("format version {0}, expected {VERSION}; remove the file, and gentle rexmit starts a new one")]
    Version(u32),
}

/// Content of the file.
#[derive(Serialize, Deserialize)]
struct LearnedFile {
    version: u32,
    paths: Vec<PathRecord>,
}

/// Formats learned paths as the text of a file for [`parse_learned`].
#[must_use]
pub fn format_learned(paths: &[PathRecord]) -> String {
    let file = LearnedFile { version: VERSION, paths: paths.to_vec() };
    // Serialization of numbers and prefixes does not fail.
    serde_json::to_string(&file).unwrap_or_default() + "\n"
}

/// Parses learned paths from the text of a file.
///
/// # Errors
/// If the text is not JSON of the expected structure, or has another version.
pub fn parse_learned(text: &str) -> Result<Vec<PathRecord>, LearnedError> {
    let file: LearnedFile = serde_json::from_str(text)?;
    match file.version {
        VERSION => Ok(file.paths),
        version => Err(LearnedError::Version(version)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_formatted_is_parsed() {
        let paths = vec![PathRecord {
            prefix: "2001:db8::/48".parse().expect("a prefix"),
            srtt_us: 12_345,
            rttvar_us: 678,
            tail_us: 23_456,
            samples: 9,
            measured_ns: 1_700_000_000_000_000_000,
        }];
        assert_eq!(parse_learned(&format_learned(&paths)).expect("valid"), paths);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "{\"version\":1}", "{\"version\":1,\"paths\":[{\"prefix\":\"x\"}]}"] {
            assert!(matches!(parse_learned(text), Err(LearnedError::Syntax(_))), "{text}");
        }
        let later = parse_learned("{\"version\":2,\"paths\":[]}");
        assert!(matches!(later, Err(LearnedError::Version(2))), "{later:?}");
    }
}
