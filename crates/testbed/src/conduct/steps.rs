//! Executes a [`Step`].

use super::namespace;
use crate::experiment::Step;
use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use thiserror::Error;

/// A step failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{step}: {problem}")]
pub struct StepError {
    /// The step as a shell command line.
    pub step: String,
    /// Reason.
    pub problem: String,
}

/// Executes one step.
///
/// # Errors
/// The command failed (with its error output), or the file cannot be written.
pub fn run(step: &Step) -> Result<(), StepError> {
    let outcome = match step {
        Step::Run { namespace, argv } => inside(namespace.as_deref(), || command(argv)),
        Step::Write {
            namespace,
            path,
            value,
            optional,
        } => inside(namespace.as_deref(), || match fs::write(path, value) {
            Err(error) if *optional && error.kind() == ErrorKind::NotFound => Ok(()),
            outcome => outcome.map_err(|error| error.to_string()),
        }),
    };
    outcome.map_err(|problem| StepError {
        step: step.to_string(),
        problem,
    })
}

fn inside(
    name: Option<&str>,
    work: impl FnOnce() -> Result<(), String> + Send,
) -> Result<(), String> {
    match name {
        Some(name) => namespace::within(name, work)?,
        None => work(),
    }
}

fn command(argv: &[String]) -> Result<(), String> {
    let [program, arguments @ ..] = argv else {
        return Err("no program was named".to_owned());
    };
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("{program} is not installed"),
            _ => error.to_string(),
        })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{} ({})", said.trim(), output.status))
}
