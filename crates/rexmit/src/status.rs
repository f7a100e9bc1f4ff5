//! What a running engine tells about itself.

use crate::counters::Counters;
use crate::paths::PathRecord;
use serde::{Deserialize, Serialize};

/// Of the form of [`Status`]: raised when a field changes its meaning or goes.
pub const STATUS_VERSION: u32 = 2;

/// The answer to `gentle rexmit status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// [`STATUS_VERSION`].
    pub version: u32,
    /// `wire`.
    pub engine: String,
    /// The network device.
    pub interface: String,
    /// Process number.
    pub pid: u32,
    /// Since when it runs, Unix time in seconds.
    pub started_s: u64,
    /// Nothing is sent.
    pub dry_run: bool,
    /// Handshakes that wait for their answer.
    pub pending: u64,
    /// Packets that found no room in the socket.
    pub missed: u64,
    /// What was seen and done.
    pub counters: Counters,
    /// What was learned.
    pub paths: Vec<PathRecord>,
}
