//! What is asked of a machine, and what it answers.

use crate::conduct::Observed;
use crate::decisions::Decisions;
use crate::experiment::Experiment;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// All that a machine can be asked for, as it travels into it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Job {
    /// Run a program.
    Command(Command),
    /// Put schedules through qdiscs.
    Decisions(Decisions),
    /// Run an experiment.
    Experiment(Box<Experiment>),
}

/// A kind of job together with the type of its answer.
pub trait Task: Into<Job> {
    /// What comes back.
    type Answer: DeserializeOwned;
}

/// Runs a program as root of the machine, its standard input empty.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Command {
    /// The program, looked for in the usual places, and its arguments; at least one element.
    pub argv: Vec<String>,
}

/// How a [`Command`] ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// Exit status; 128 + the signal's number where a signal ended it.
    pub status: i32,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
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
    type Answer = Observed;
}
