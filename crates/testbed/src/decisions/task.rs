//! The job of the machine.

use super::case::Replay;
use crate::{Job, Task};
use serde::{Deserialize, Serialize};

/// Puts the schedules prepared in the machine's directory through the kernel's qdiscs, one after the other.
///
/// The module `gentle_replay` has to be loaded, and those of the schemes that Linux does not have, with their
/// plug-ins for `tc`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Decisions {
    /// Made of cases by [`decide`](super::decide).
    pub replays: Vec<Replay>,
}

/// How [`Decisions`] ended; what came of them is in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replayed {
    /// Schedules that were replayed to their end.
    pub schedules: usize,
}

impl From<Decisions> for Job {
    fn from(decisions: Decisions) -> Job {
        Job::Decisions(decisions)
    }
}

impl Task for Decisions {
    type Answer = Replayed;
}
