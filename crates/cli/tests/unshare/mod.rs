//! Scripts in a network namespace of their own.

use std::process::{Command, Output};

/// Runs two shell scripts, one after the other, in a new network and mount namespace with `gentle` as the command under
/// test; stops at the first error. `None` if the system does not permit it or `before` fails.
pub(crate) fn run(before: &str, script: &str) -> Option<Output> {
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_gentle")).parent()?;
    let path = format!(
        "{}:{}:/usr/sbin:/sbin",
        folder.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let inside = |script: &str| {
        Command::new("unshare")
            .args(["--net", "--mount", "sh", "-ec", script])
            .env("PATH", &path)
            .output()
            .ok()
    };
    match inside(before) {
        Some(output) if output.status.success() => inside(&format!("{before}{script}")),
        _ => {
            eprintln!("skipped: making a network namespace needs root, unshare and ip");
            None
        }
    }
}
