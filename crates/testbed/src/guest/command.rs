//! Execution of a program.

use super::error::CommandError;
use crate::job::{Command, Finished};
use std::os::unix::process::ExitStatusExt;
use std::process::{self, Stdio};

/// Runs a program to its end.
pub(super) fn run(command: &Command) -> Result<Finished, CommandError> {
    let [program, arguments @ ..] = &command.argv[..] else {
        return Err(CommandError::NoProgram);
    };
    let output = process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| CommandError::Start { program: program.clone(), source })?;
    let signal = || output.status.signal().map_or(1, |signal| 128 + signal);
    Ok(Finished { status: output.status.code().unwrap_or_else(signal), stdout: output.stdout, stderr: output.stderr })
}
