//! Other programs, if they are installed.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// Standard output of a program; nothing, and a word about it, if it is not installed.
pub(crate) fn output<A: AsRef<OsStr>>(
    program: &str,
    args: impl IntoIterator<Item = A>,
) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .stderr(Stdio::null())
        .output();
    match output {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            eprintln!("skipped: {program} cannot be run: {error}");
            None
        }
    }
}
