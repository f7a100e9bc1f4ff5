//! Shell scripts in separate network and mount namespaces.

use std::path::Path;
use std::process::{Command, Output};

/// Runs two shell scripts, one after the other, in a new network and mount namespace, with the directory of `program`
/// first in PATH; stops at the first error.
///
/// Returns the output of both; `None`, with a message on standard error, if the system does not permit namespaces or
/// `before` fails.
pub fn run(program: &Path, before: &str, script: &str) -> Option<Output> {
    let folder = program.parent()?;
    let path = format!("{}:{}:/usr/sbin:/sbin", folder.display(), std::env::var("PATH").unwrap_or_default());
    let inside = |script: &str| {
        Command::new("unshare").args(["--net", "--mount", "sh", "-ec", script]).env("PATH", &path).output().ok()
    };
    match inside(before) {
        Some(output) if output.status.success() => inside(&format!("{before}{script}")),
        _ => {
            eprintln!("skipped: making a network namespace needs root, unshare and ip");
            None
        }
    }
}
