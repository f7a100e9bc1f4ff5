//! What makes a run worthless.

use std::path::PathBuf;
use thiserror::Error;

/// Why a run could not be measured.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// The file of packets cannot be read.
    #[error("{path}: {problem}")]
    Packets {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The taps were too slow.
    #[error(
        "the taps missed {packets} packets, so that losses cannot be told; lower the rate, or run fewer machines at a time"
    )]
    Missed {
        /// How many.
        packets: u64,
    },
}
