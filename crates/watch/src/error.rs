//! Errors of a watch.

use gentle_packets::PacketError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Error that prevents a watch from starting, or ends it.
#[derive(Debug, Error)]
pub enum WatchError {
    /// Packets cannot be received.
    #[error(transparent)]
    Packets(#[from] PacketError),
    /// The folder for captures cannot be used.
    #[error("{}: cannot keep captures there", path.display())]
    Ring {
        /// Path of the folder.
        path: PathBuf,
        /// Error of the operation.
        source: io::Error,
    },
    /// Waiting for packets failed.
    #[error("ppoll")]
    Wait(#[source] io::Error),
}
