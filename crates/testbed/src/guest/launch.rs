//! The step before the machine: a process of the host that becomes the kernel.
//!
//! It exists because a process can only itself ask to be ended together with its parent, and the request outlives `exec`.

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Becomes `kernel`, to be killed when the process `parent` ends, however that comes about.
pub(super) fn run(parent: &OsStr, kernel: &OsStr, arguments: &[OsString]) -> Result<(), String> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("prctl(PR_SET_PDEATHSIG): {error}"))?;
    // It may have ended before the request was in place.
    let still = getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if still.as_deref().map(OsStr::new) != Some(parent) {
        return Err("the process that wanted a machine has ended".to_owned());
    }
    let error = Command::new(kernel).args(arguments).exec();
    Err(format!(
        "{}: cannot be run: {error}",
        kernel.to_string_lossy()
    ))
}
