//! Stage `launch`: a process of the host that becomes the kernel.
//!
//! A process can only set its own parent-death signal, and the setting survives `exec`; hence this stage.

use super::error::LaunchError;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Executes `kernel`, to be killed when the process `parent` ends for any reason.
pub(super) fn run(parent: &OsStr, kernel: &OsStr, arguments: &[OsString]) -> Result<(), LaunchError> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(LaunchError::DeathSignal)?;
    // The parent may have ended before the signal was set.
    let still = getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if still.as_deref().map(OsStr::new) != Some(parent) {
        return Err(LaunchError::Orphaned);
    }
    let source = Command::new(kernel).args(arguments).exec();
    Err(LaunchError::Exec { kernel: kernel.into(), source })
}
