//! What a kernel that watches is asked at the end.
//!
//! What a module has lost stays hidden while anything points there, so leaks are looked for again when devices, their
//! queues and the modules are gone. Locks are watched until the first complaint about them, or until the kernel runs out
//! of room for what it notes: then silence says nothing.

use super::{SHARE, share};
use rustix::io::Errno;
use rustix::system::delete_module;
use std::ffi::CString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// kmemleak takes nothing for lost that is younger than five seconds. It is also longer than any grace period.
const LEAK_AGE: Duration = Duration::from_secs(6);

const LEAKS: &str = "/sys/kernel/debug/kmemleak";
const LOCKS: &str = "/proc/lockdep_stats";

/// Looks for leaks, takes devices and modules away and looks again; tells what was found to the host. Other kernels are
/// asked nothing.
pub(super) fn end(modules: &[String], environment: &[(&str, &str)]) -> Result<(), String> {
    if !Path::new(LEAKS).exists() {
        return Ok(());
    }
    // With the modules still there, so that their functions have names.
    let mut found = leaks()?;
    remove_devices(environment)?;
    sleep(LEAK_AGE);
    for module in modules.iter().rev() {
        remove_module(module);
    }
    if found.is_empty() {
        found = leaks()?;
    }
    fs::write(Path::new(SHARE).join(share::LEAKS), found)
        .map_err(|error| format!("{}: {error}", share::LEAKS))?;
    locks()
}

/// Has kmemleak look, and returns what it reports.
fn leaks() -> Result<Vec<u8>, String> {
    let problem = |error| format!("{LEAKS}: {error}");
    // Twice: a pointer may have been in a register while the first scan passed.
    for _ in 0..2 {
        sleep(LEAK_AGE);
        fs::write(LEAKS, "scan").map_err(problem)?;
    }
    fs::read(LEAKS).map_err(problem)
}

/// Takes away the devices that the job has left, and their queues with them.
fn remove_devices(environment: &[(&str, &str)]) -> Result<(), String> {
    const DEVICES: &str = "/sys/class/net";
    let problem = |error| format!("{DEVICES}: {error}");
    for entry in fs::read_dir(DEVICES).map_err(problem)? {
        let name = entry.map_err(problem)?.file_name();
        // Some go with another, and the loopback device never does.
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

/// A module that something still uses stays; the console says so.
fn remove_module(file: &str) {
    let name = file.trim_end_matches(".ko").replace('-', "_");
    let Ok(name) = CString::new(name) else { return };
    match delete_module(&name, 0) {
        // The job has done it itself.
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => eprintln!("{name:?} cannot be taken out: {error}"),
    }
}

/// A kernel that has stopped watching locks says nothing more about them.
fn locks() -> Result<(), String> {
    let text = fs::read_to_string(LOCKS).map_err(|error| format!("{LOCKS}: {error}"))?;
    let on = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("debug_locks:"))
        .any(|value| value.trim() == "1");
    if !on {
        // Standard error is the console.
        eprintln!("WARNING: the kernel no longer watches locks");
    }
    Ok(())
}
