//! Code that runs in the machine, and the stage that starts it.
//!
//! [`main`] is the entry point of the hidden command that the program provides (see
//! [`GuestProgram`](crate::machine::GuestProgram)). It has three stages: `launch` runs on the host and becomes the
//! kernel; `init` is the first process of the machine; `job` runs the job in a separate process, so that init survives
//! its failure.

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

/// Mount point of the directory that carries job and answer.
pub(crate) const SHARE: &str = "/run/gentle/share";
/// Mount point of the caller's directory, if there is one.
pub(crate) const FILES: &str = "/run/gentle/files";
/// Environment variable with the share's path on the host, read by init.
pub(crate) const SHARE_VARIABLE: &str = "GENTLE_SHARE";

/// Names of files in the share.
pub(crate) mod share {
    /// Parameters of init.
    pub(crate) const SETUP: &str = "setup.json";
    /// The job.
    pub(crate) const JOB: &str = "job.json";
    /// Answer of the job.
    pub(crate) const ANSWER: &str = "answer.json";
    /// Error message, if there is no answer.
    pub(crate) const FAILURE: &str = "failure.txt";
    /// Progress of the job, 0 to 1.
    pub(crate) const PROGRESS: &str = "progress";
    /// Report of kmemleak.
    pub(crate) const LEAKS: &str = "kmemleak.txt";
    /// Folder of modules.
    pub(crate) const MODULES: &str = "modules";
    /// Folder of plug-ins of `tc`.
    pub(crate) const PLUGINS: &str = "plugins";
}

/// Runs the stage that `arguments` name.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let outcome = match arguments {
        // The kernel appends its own arguments.
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
