//! What makes a run worthless.

use gentle_capture::CaptureError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a run could not be measured.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// The capture of the run cannot be read.
    #[error(transparent)]
    Read(#[from] CaptureError),
    /// A part of the capture cannot be written.
    #[error("{path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
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
