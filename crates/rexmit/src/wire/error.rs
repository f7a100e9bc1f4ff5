//! Errors of the wire engine.

use gentle_packets::PacketError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Error that prevents the engine from starting or stops it.
#[derive(Debug, Error)]
pub enum WireError {
    /// The packet socket failed.
    #[error(transparent)]
    Packets(#[from] PacketError),
    /// The user to switch to does not exist.
    #[error("there is no user '{0}' here; expected the name of an existing user (--user)")]
    NoUser(String),
    /// Switching to the user failed.
    #[error("cannot switch to another user ({call}); --user root keeps the current one")]
    Account {
        /// System call that failed.
        call: &'static str,
        /// Error of the system call.
        source: io::Error,
    },
    /// Another process runs the engine on this device.
    #[error("{interface}: gentle rexmit already runs there, as process {pid}")]
    Running {
        /// Name of the device.
        interface: String,
        /// Identifier of the other process.
        pid: u32,
    },
    /// The device was removed.
    #[error("{0}: the network device is gone")]
    InterfaceRemoved(String),
    /// A file operation failed.
    #[error("{}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operation.
        source: io::Error,
    },
    /// A system call failed.
    #[error("{call}")]
    Call {
        /// Name of the system call.
        call: &'static str,
        /// Error of the system call.
        source: io::Error,
    },
}

impl WireError {
    pub(super) fn call(call: &'static str) -> impl Fn(io::Error) -> WireError {
        move |source| WireError::Call { call, source }
    }

    /// Like `call`, for errors of nix.
    pub(super) fn errno(call: &'static str) -> impl Fn(nix::Error) -> WireError {
        move |error| WireError::Call { call, source: error.into() }
    }
}
