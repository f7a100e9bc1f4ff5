//! Control and errors of a running analysis.

use gentle_capture::CaptureError;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64};
use thiserror::Error;

/// Errors of an analysis.
#[derive(Debug, Error)]
pub enum AnalysisError {
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// An interface to be analysed is in none of the captures.
    #[error("no interface '{name}' in the captures: {files}")]
    NoInterface {
        /// Name or number that was given.
        name: String,
        /// Interfaces of each capture.
        files: String,
    },
    /// A row cannot be written.
    #[error("cannot write connections: {0}")]
    Rows(io::Error),
    /// A capture was changed while it was analysed for a record.
    #[error("{0}: changed while it was read; analyse it again when the program that writes it has ended")]
    Changed(String),
    /// The analysis for a record was stopped.
    #[error("interrupted before the captures were read completely")]
    Stopped,
}

/// State shared with a running analysis: a stop request and the progress; and how it runs.
#[derive(Debug)]
pub struct Control {
    /// Stops the analysis early when set; the result then covers the part that has been read.
    pub stop: AtomicBool,
    /// Bytes of the files consumed so far.
    pub consumed: AtomicU64,
    /// Whether the thread that calls does all the work, as it has to where there are no threads (WebAssembly, where this
    /// is the default). Four threads take less time and give the same result.
    pub one_thread: bool,
}

impl Default for Control {
    fn default() -> Self {
        Control { stop: AtomicBool::new(false), consumed: AtomicU64::new(0), one_thread: cfg!(target_family = "wasm") }
    }
}
