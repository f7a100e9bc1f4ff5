//! Replay of prepared packet schedules through qdiscs of the machine.

use super::{Job, Task};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Device that the module `gentle_replay` sends packets to (`kernel/testing/replay/replay.c`).
pub(crate) const DEVICE: &str = "replay0";

/// Replays schedules through qdiscs, one after the other.
///
/// The files of the schedules are in the machine's directory
/// ([`Machine::files`](crate::machine::Machine::files)). The module `gentle_replay` has to be loaded, and for schemes
/// that Linux does not have also their modules and plug-ins for `tc`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplayJob {
    /// Schedules with their qdiscs.
    pub replays: Vec<Replay>,
}

/// Result of a [`ReplayJob`]; the events of each schedule are in the machine's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replayed {
    /// Number of schedules that were replayed to the end.
    pub schedules: usize,
}

/// One schedule and the commands that set up its qdisc.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replay {
    /// Number in the names of the schedule's files.
    pub(crate) number: usize,
    /// Programs with arguments that set up the qdisc; executed before each part of the requests.
    pub(crate) commands: Vec<Vec<String>>,
}

/// Paths of a schedule's files.
pub(crate) struct ReplayFiles {
    /// Requests that precede the schedule.
    pub(crate) preamble: PathBuf,
    /// Requests of the schedule, in two parts; the second may be empty.
    pub(crate) requests: [PathBuf; 2],
    /// Events that the kernel reported.
    pub(crate) events: PathBuf,
}

impl ReplayFiles {
    /// Paths of the files of schedule `number` in `folder`.
    pub(crate) fn of(folder: &Path, number: usize) -> ReplayFiles {
        let file = |kind: &str| folder.join(format!("{number}.{kind}"));
        ReplayFiles {
            preamble: file("preamble"),
            requests: [file("requests"), file("more-requests")],
            events: file("events"),
        }
    }
}

impl From<ReplayJob> for Job {
    fn from(job: ReplayJob) -> Job {
        Job::Replay(job)
    }
}

impl Task for ReplayJob {
    type Answer = Replayed;
}
