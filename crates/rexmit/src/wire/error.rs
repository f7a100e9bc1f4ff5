//! Errors of the wire engine.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Error that prevents the engine from starting or stops it.
#[derive(Debug, Error)]
pub enum WireError {
    /// There is no network device of this name.
    #[error("there is no network device '{0}' here; ip link lists them")]
    NoInterface(String),
    /// No device was given and there is no default route.
    #[error("there is no default route to take the network device from; name one: -i DEV")]
    NoDefaultRoute,
    /// The device has frames of an unsupported link type.
    #[error(
        "{interface}: its frames are of type {hardware} (ARPHRD_* of Linux); expected Ethernet, PPP or a device for IP packets"
    )]
    UnknownLink {
        /// Name of the device.
        interface: String,
        /// `ARPHRD_*`, include/uapi/linux/if_arp.h.
        hardware: u16,
    },
    /// The process lacks CAP_NET_RAW.
    #[error("a packet socket needs the capability CAP_NET_RAW; run this as root")]
    NotPermitted,
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
