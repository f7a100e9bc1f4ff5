//! Commands, run one by one: `tc -batch` stops at the first mistake as well, but its words do not say of which line they
//! are, and `ip` cannot be among them. A set-up has at most some forty commands of a few milliseconds each.

use crate::command::Command;
use crate::packages;
use std::io;
use std::process;
use thiserror::Error;

/// A command that did not do what it should.
#[derive(Debug, Error)]
pub enum RunError {
    /// It could not be started.
    #[error(
        "{program} could not be started ({cause}); it is part of iproute2: install that, or add its folder to PATH"
    )]
    Start {
        /// Its name.
        program: &'static str,
        /// Why.
        cause: io::Error,
    },
    /// It failed.
    #[error("'{command}' failed: {words}{}", remedy.as_ref().map(|remedy| format!(" ({remedy})")).unwrap_or_default())]
    Failed {
        /// The command, as a shell reads it.
        command: String,
        /// What it said.
        words: String,
        /// What to do about it, where that is known.
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
