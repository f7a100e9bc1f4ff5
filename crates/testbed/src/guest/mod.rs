//! The side within the machine, and the step before it.
//!
//! [`main`] is the entry of the hidden command that the program offers ([`GuestProgram`](crate::machine::GuestProgram)
//! says how it is reached). It has three stages: `launch`, still on the host, becomes the kernel; `init` is the machine's
//! first process; `job` does what was asked for, in a process of its own, so that init survives it.

mod command;
mod decisions;
mod experiment;
mod init;
mod launch;
mod place;
mod watched;

pub use place::Place;

use crate::Job;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Where the directory that carries job and answer is found in the machine.
pub(crate) const SHARE: &str = "/run/gentle/share";
/// Where the caller's directory is found in the machine, if there is one.
pub(crate) const FILES: &str = "/run/gentle/files";
/// The variable that tells init the share's path on the host.
pub(crate) const SHARE_VARIABLE: &str = "GENTLE_SHARE";

/// Names of files in the share.
pub(crate) mod share {
    /// What init has to prepare.
    pub(crate) const SETUP: &str = "setup.json";
    /// What is asked for.
    pub(crate) const JOB: &str = "job.json";
    /// What came of it.
    pub(crate) const ANSWER: &str = "answer.json";
    /// Why there is no answer.
    pub(crate) const FAILURE: &str = "failure.txt";
    /// How far the job has come, 0 to 1.
    pub(crate) const PROGRESS: &str = "progress";
    /// What kmemleak found.
    pub(crate) const LEAKS: &str = "kmemleak.txt";
    /// The folder of modules.
    pub(crate) const MODULES: &str = "modules";
    /// The folder of plug-ins of `tc`.
    pub(crate) const PLUGINS: &str = "plugins";
}

/// Does the stage that `arguments` name.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let outcome = match arguments {
        // The kernel adds arguments of its own.
        [stage, ..] if stage == "init" => init::run(),
        [stage] if stage == "job" => job(),
        [stage, parent, kernel, rest @ ..] if stage == "launch" => {
            launch::run(parent, kernel, rest)
        }
        _ => Err("this command is for the testbed's own use; see gentle testbed exec".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn job() -> Result<(), String> {
    let place = Place::new();
    let outcome = read_job().and_then(|job| match job {
        Job::Command(command) => place.answer(&command.run()?),
        Job::Decisions(decisions) => place.answer(&decisions.run(&place)?),
        Job::Experiment(experiment) => place.answer(&experiment::run(&experiment, &place)?),
    });
    if let Err(problem) = &outcome {
        place.fail(problem);
    }
    outcome
}

fn read_job() -> Result<Job, String> {
    let path = Path::new(SHARE).join(share::JOB);
    let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
}
