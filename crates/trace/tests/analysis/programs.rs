//! Runs other programs.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// Standard output of a program, which must be installed.
pub(crate) fn output<A: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = A>) -> String {
    let output = Command::new(program).args(args).stderr(Stdio::null()).output();
    match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => panic!("{program} cannot be run ({error}): run `scripts/bootstrap test`"),
    }
}
