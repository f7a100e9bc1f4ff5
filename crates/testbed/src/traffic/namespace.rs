//! Threads in network namespaces.

use super::NamespaceError;
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::path::Path;
use std::thread;

/// Directory of named network namespaces: ip-netns(8).
const DIRECTORY: &str = "/run/netns";

/// Moves the current thread into the namespace, permanently.
pub(super) fn enter(name: &str) -> Result<(), NamespaceError> {
    let path = Path::new(DIRECTORY).join(name);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(source) => return Err(NamespaceError::Open { path, source }),
    };
    setns(file, CloneFlags::CLONE_NEWNET).map_err(|source| NamespaceError::Enter { path, source })
}

/// Runs `work` in the namespace, in a separate thread.
pub(super) fn within<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| enter(name).map(|()| work()));
        thread.join().unwrap_or_else(|_| Err(NamespaceError::Panicked { name: name.to_owned() }))
    })
}
