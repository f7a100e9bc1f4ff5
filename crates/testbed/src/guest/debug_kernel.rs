//! Final checks on kernels built with kmemleak and lockdep.
//!
//! Memory lost by a module stays undetected while anything points to it, so a second leak scan runs after devices,
//! their queues and the modules have been removed. lockdep checks locks until its first complaint, or until its tables
//! are full; after that, silence proves nothing.

use super::error::{FileError, InitError};
use crate::protocol::{SHARE, share};
use rustix::io::Errno;
use rustix::system::delete_module;
use std::ffi::CString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Waiting time before a leak scan. kmemleak reports no object younger than five seconds; this is also longer than any
/// RCU grace period.
const LEAK_AGE: Duration = Duration::from_secs(6);

const LEAKS: &str = "/sys/kernel/debug/kmemleak";
const LOCKS: &str = "/proc/lockdep_stats";

/// Scans for leaks, removes devices and modules, scans again, and writes the report to the share. Does nothing on
/// kernels without kmemleak.
pub(super) fn check(modules: &[String], environment: &[(&str, &str)]) -> Result<(), InitError> {
    if !Path::new(LEAKS).exists() {
        return Ok(());
    }
    // Scan while the modules are loaded, so that their functions have names in the report.
    let mut found = leaks()?;
    remove_devices(environment)?;
    sleep(LEAK_AGE);
    for module in modules.iter().rev() {
        remove_module(module);
    }
    if found.is_empty() {
        found = leaks()?;
    }
    let report = Path::new(SHARE).join(share::LEAKS);
    fs::write(&report, found).map_err(FileError::at(&report))?;
    Ok(check_locks()?)
}

/// Runs kmemleak and returns its report.
fn leaks() -> Result<Vec<u8>, FileError> {
    // Scan twice: a pointer may have been in a register during the first scan.
    for _ in 0..2 {
        sleep(LEAK_AGE);
        fs::write(LEAKS, "scan").map_err(FileError::at(LEAKS))?;
    }
    fs::read(LEAKS).map_err(FileError::at(LEAKS))
}

/// Removes the devices that the job has left, and their queues.
fn remove_devices(environment: &[(&str, &str)]) -> Result<(), FileError> {
    const DEVICES: &str = "/sys/class/net";
    for entry in fs::read_dir(DEVICES).map_err(FileError::at(DEVICES))? {
        let name = entry.map_err(FileError::at(DEVICES))?.file_name();
        // Errors are ignored: some devices go with another one, and the loopback device cannot be removed.
        let _ = Command::new("ip")
            .args(["link", "delete", "dev"])
            .arg(name)
            .env_clear()
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
    Ok(())
}

/// Unloads a module. One that is still in use stays loaded, and the console reports it.
fn remove_module(file: &str) {
    let name = file.trim_end_matches(".ko").replace('-', "_");
    let Ok(name) = CString::new(name) else { return };
    match delete_module(&name, 0) {
        // NOENT: the job itself has unloaded the module.
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => eprintln!("{name:?} cannot be unloaded: {error}"),
    }
}

/// Warns on the console if lockdep has turned itself off.
fn check_locks() -> Result<(), FileError> {
    let text = fs::read_to_string(LOCKS).map_err(FileError::at(LOCKS))?;
    let on = text.lines().filter_map(|line| line.trim().strip_prefix("debug_locks:")).any(|value| value.trim() == "1");
    if !on {
        // Standard error is the console.
        eprintln!("WARNING: the kernel no longer watches locks");
    }
    Ok(())
}
