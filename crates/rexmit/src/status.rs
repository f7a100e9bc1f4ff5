//! Status reported by a running engine.

use crate::counters::Counters;
use crate::paths::PathRecord;
use serde::{Deserialize, Serialize};

/// Version of the format of [`Status`]: raised when a field changes its meaning or is removed.
pub const STATUS_VERSION: u32 = 2;

/// Answer to `gentle rexmit status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the format, [`STATUS_VERSION`].
    pub version: u32,
    /// Name of the engine: `wire`.
    pub engine: String,
    /// The network device.
    pub interface: String,
    /// Process identifier.
    pub pid: u32,
    /// Start of the engine, Unix time in seconds.
    pub started_s: u64,
    /// Whether copies are only counted and not sent.
    pub dry_run: bool,
    /// Whether the engine can reach its own files only (Landlock).
    #[serde(default)]
    pub files_confined: bool,
    /// Whether the engine can make the system calls only that it needs (seccomp).
    #[serde(default)]
    pub calls_confined: bool,
    /// Handshakes waiting for an answer.
    pub pending: u64,
    /// Packets dropped because the socket buffer was full.
    pub missed: u64,
    /// Counters since the start.
    pub counters: Counters,
    /// Learned paths.
    pub paths: Vec<PathRecord>,
}
