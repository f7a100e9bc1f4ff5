//! Errors of evaluating a run.

use gentle_capture::CaptureError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A run could not be evaluated, or its capture could not be copied.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// The capture of the run cannot be read.
    #[error(transparent)]
    Read(#[from] CaptureError),
    /// A part of the capture cannot be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The taps missed packets, so losses cannot be determined.
    #[error(
        "the taps missed {packets} packets, so losses are not known; lower the rate, or run fewer machines at a time"
    )]
    Missed {
        /// Number of missed packets.
        packets: u64,
    },
}
