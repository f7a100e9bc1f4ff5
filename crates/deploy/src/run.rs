//! Execution of commands, one by one. `tc -batch` also stops at the first error, but does not report in which line it
//! is, and cannot include `ip`. A setup has at most some forty commands of a few milliseconds each.

use crate::command::Command;
use crate::packages;
use std::fs::File;
use std::io;
use std::process::{self, Stdio};
use thiserror::Error;

/// Error of running a command.
#[derive(Debug, Error)]
pub enum RunError {
    /// The program could not be started.
    #[error(
        "{program} could not be started ({cause}); install iproute2, which contains it, or add its directory to PATH"
    )]
    Start {
        /// Name of the program.
        program: &'static str,
        /// Error of starting it.
        cause: io::Error,
    },
    /// The command failed.
    #[error("'{command}' failed: {output}{}", remedy.as_ref().map(|remedy| format!(" ({remedy})")).unwrap_or_default())]
    Failed {
        /// Command as a shell line.
        command: String,
        /// Output of the command.
        output: String,
        /// Remedy, if one is known.
        remedy: Option<String>,
    },
}

/// Programs that change devices.
///
/// They keep the lock of the state directory until they have ended, as their standard input, which they do not read: a
/// program that continues after gentle was killed must not change state that the next process has restored.
pub(crate) struct Programs {
    lock: Option<File>,
}

impl Programs {
    /// Programs under this lock; without one, nothing is kept.
    pub(crate) fn under(lock: &io::Result<File>) -> Programs {
        let lock = lock.as_ref().ok().and_then(|lock| lock.try_clone().ok());
        Programs { lock }
    }

    /// Whether this process has the lock.
    pub(crate) fn keeps_lock(&self) -> bool {
        self.lock.is_some()
    }

    fn input(&self) -> Stdio {
        let lock = self.lock.as_ref().and_then(|lock| lock.try_clone().ok());
        lock.map_or_else(Stdio::null, Stdio::from)
    }

    pub(crate) fn run(&self, command: &Command) -> Result<(), RunError> {
        let output = process::Command::new(command.program.name())
            .args(&command.args)
            .env("LC_ALL", "C")
            .stdin(self.input())
            .output()
            .map_err(|cause| RunError::Start { program: command.program.name(), cause })?;
        outcome(command, output)
    }

    pub(crate) fn run_all(&self, commands: &[Command]) -> Result<(), RunError> {
        commands.iter().try_for_each(|command| self.run(command))
    }
}

fn outcome(command: &Command, output: process::Output) -> Result<(), RunError> {
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stderr, output.stdout].concat();
    let text = String::from_utf8_lossy(&text);
    let remedy = packages::remedy(command, &text);
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    Err(RunError::Failed {
        command: command.to_string(),
        output: match lines.is_empty() {
            true => output.status.to_string(),
            false => lines.join(" / "),
        },
        remedy,
    })
}
