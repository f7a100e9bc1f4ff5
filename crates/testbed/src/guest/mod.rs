//! Code that runs in the machine, and the stage that starts it.
//!
//! [`main`] is the entry point of the hidden command that the program provides (see
//! [`GuestProgram`](crate::machine::GuestProgram)). It has three stages: `launch` runs on the host and becomes the
//! kernel; `init` is the first process of the machine; `job` runs the job in a separate process, so that init survives
//! its failure.

mod command;
mod context;
mod debug_kernel;
mod error;
mod experiment;
mod init;
mod launch;
mod replay;

pub use context::JobContext;

use crate::job::Job;
use crate::protocol::{SHARE, share};
use error::{FileError, GuestError, JobError};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Runs the stage that `arguments` name.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let outcome = match arguments {
        // The kernel appends its own arguments.
        [stage, ..] if stage == "init" => init::run().map_err(GuestError::from),
        [stage] if stage == "job" => job().map_err(GuestError::from),
        [stage, parent, kernel, rest @ ..] if stage == "launch" => {
            launch::run(parent, kernel, rest).map_err(GuestError::from)
        }
        _ => Err(GuestError::Usage),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn job() -> Result<(), JobError> {
    let context = JobContext::new();
    let outcome = read_job().map_err(JobError::from).and_then(|job| match job {
        Job::Command(command) => context.answer(&command::run(&command)?),
        Job::Replay(job) => context.answer(&replay::run(&job, &context)?),
        Job::Experiment(experiment) => context.answer(&experiment::run(&experiment, &context)?),
    });
    if let Err(error) = &outcome {
        context.fail(error);
    }
    outcome
}

fn read_job() -> Result<Job, FileError> {
    let path = Path::new(SHARE).join(share::JOB);
    let text = std::fs::read(&path).map_err(FileError::at(&path))?;
    serde_json::from_slice(&text).map_err(FileError::at(&path))
}
