//! Threads in network namespaces.

use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::thread;

/// Directory of named network namespaces: ip-netns(8).
const DIRECTORY: &str = "/run/netns";

/// Moves the current thread into the namespace, permanently.
pub(super) fn enter(name: &str) -> Result<(), String> {
    let path = format!("{DIRECTORY}/{name}");
    let file = File::open(&path).map_err(|error| format!("{path}: {error}"))?;
    setns(file, CloneFlags::CLONE_NEWNET).map_err(|error| format!("{path}: setns: {error}"))
}

/// Runs `work` in the namespace, in a separate thread.
pub(super) fn within<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| enter(name).map(|()| work()));
        thread
            .join()
            .unwrap_or_else(|_| Err(format!("{name}: a thread panicked")))
    })
}
