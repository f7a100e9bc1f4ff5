//! Runs a program.

use crate::{Command, Finished};
use std::os::unix::process::ExitStatusExt;
use std::process::{self, Stdio};

impl Command {
    pub(super) fn run(&self) -> Result<Finished, String> {
        let [program, arguments @ ..] = &self.argv[..] else {
            return Err("no program was named".to_owned());
        };
        let output = process::Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{program}: cannot be run in the machine: {error}"))?;
        let signal = || output.status.signal().map_or(1, |signal| 128 + signal);
        Ok(Finished {
            status: output.status.code().unwrap_or_else(signal),
            stdout: output.stdout,
            stderr: output.stderr,
        })
    }
}
