//! Wakes a thread that waits with epoll.

use super::TrafficError;
use nix::sys::eventfd::EventFd;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Wakes the thread that waits for an event counter, from another thread.
pub(super) struct Waker(OwnedFd);

impl Waker {
    /// A waker of the thread that waits for `counter`.
    pub(super) fn of(counter: &EventFd) -> io::Result<Waker> {
        counter.as_fd().try_clone_to_owned().map(Waker)
    }

    /// Wakes the thread, now or when it next waits.
    pub(super) fn wake(&self) -> Result<(), TrafficError> {
        let written = nix::unistd::write(&self.0, &1_u64.to_ne_bytes());
        written.map(|_| ()).map_err(TrafficError::call("eventfd"))
    }
}
