//! Execution of commands, one by one. `tc -batch` also stops at the first error, but does not tell in which line it is,
//! and cannot include `ip`. A setup has at most some forty commands of a few milliseconds each.

use crate::command::Command;
use crate::packages;
use std::io;
use std::process;
use thiserror::Error;

/// Error of running a command.
#[derive(Debug, Error)]
pub enum RunError {
    /// The program could not be started.
    #[error(
        "{program} could not be started ({cause}); it is part of iproute2: install that, or add its folder to PATH"
    )]
    Start {
        /// Name of the program.
        program: &'static str,
        /// Error of starting it.
        cause: io::Error,
    },
    /// The command failed.
    #[error("'{command}' failed: {words}{}", remedy.as_ref().map(|remedy| format!(" ({remedy})")).unwrap_or_default())]
    Failed {
        /// Command as a shell line.
        command: String,
        /// Output of the command.
        words: String,
        /// Remedy, if one is known.
        remedy: Option<String>,
    },
}

pub(crate) fn run(command: &Command) -> Result<(), RunError> {
    let output = process::Command::new(command.program.name())
        .args(&command.args)
        .env("LC_ALL", "C")
        .stdin(process::Stdio::null())
        .output()
        .map_err(|cause| RunError::Start {
            program: command.program.name(),
            cause,
        })?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stderr, output.stdout].concat();
    let said = String::from_utf8_lossy(&said);
    let remedy = packages::remedy(command, &said);
    let words: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    Err(RunError::Failed {
        command: command.to_string(),
        words: match words.is_empty() {
            true => output.status.to_string(),
            false => words.join(" / "),
        },
        remedy,
    })
}
