//! Errors of evaluating a run.

use std::path::PathBuf;
use thiserror::Error;

/// A run could not be evaluated.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// The packet capture cannot be read.
    #[error("{path}: {problem}")]
    Packets {
        /// Path of the capture.
        path: PathBuf,
        /// Reason.
        problem: String,
    },
    /// The taps missed packets, so losses cannot be determined.
    #[error(
        "the taps missed {packets} packets, so that losses cannot be told; lower the rate, or run fewer machines at a time"
    )]
    Missed {
        /// Number of missed packets.
        packets: u64,
    },
}
