//! Jobs that a machine runs, and their answers.

mod replay;

pub(crate) use replay::{DEVICE, ReplayFiles};
pub use replay::{Replay, ReplayJob, Replayed};

use crate::experiment::Experiment;
use crate::traffic::Observations;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A job, serialised by the host and read by the machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Job {
    /// Run a program.
    Command(Command),
    /// Replay schedules of packets through qdiscs.
    Replay(ReplayJob),
    /// Run an experiment.
    Experiment(Box<Experiment>),
}

/// A kind of job together with the type of its answer.
pub trait Task: Into<Job> {
    /// Type of the answer.
    type Answer: DeserializeOwned;
}

/// Runs a program as root in the machine, with empty standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Command {
    /// Program, searched for in PATH, and its arguments; at least one element.
    pub argv: Vec<String>,
}

/// Result of a [`Command`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// Exit status; 128 + the signal number if a signal ended the program.
    pub status: i32,
    /// Standard output of the program.
    pub stdout: Vec<u8>,
    /// Standard error of the program.
    pub stderr: Vec<u8>,
}

impl From<Command> for Job {
    fn from(command: Command) -> Job {
        Job::Command(command)
    }
}

impl Task for Command {
    type Answer = Finished;
}

impl From<Experiment> for Job {
    fn from(experiment: Experiment) -> Job {
        Job::Experiment(Box::new(experiment))
    }
}

impl Task for Experiment {
    type Answer = Observations;
}
