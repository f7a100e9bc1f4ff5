//! What can go wrong with the engine.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why it cannot run, or had to stop.
#[derive(Debug, Error)]
pub enum WireError {
    /// The name is not that of a device.
    #[error("there is no network device '{0}' here; ip link lists them")]
    NoInterface(String),
    /// Nothing says which device is meant.
    #[error("there is no default route, so which network device is meant must be said: -i DEV")]
    NoDefaultRoute,
    /// Frames of an unknown form.
    #[error(
        "{interface}: its frames are of type {hardware} (ARPHRD_* of Linux); expected Ethernet, PPP or a device for IP packets"
    )]
    UnknownLink {
        /// The device.
        interface: String,
        /// `ARPHRD_*`, include/uapi/linux/if_arp.h.
        hardware: u16,
    },
    /// The right to see packets is missing.
    #[error("a packet socket takes the capability CAP_NET_RAW; run this as root")]
    NotPermitted,
    /// The account to go to is missing.
    #[error("there is no user '{0}' here; --user names the one to run as")]
    NoUser(String),
    /// The account to go to is out of reach.
    #[error("cannot go on as another user ({call}); --user root stays who it is")]
    Account {
        /// Which call the system refuses.
        call: &'static str,
        /// What it says.
        source: io::Error,
    },
    /// Another process does the same.
    #[error("{interface}: gentle rexmit runs there already, as process {pid}")]
    Running {
        /// The device.
        interface: String,
        /// The other process.
        pid: u32,
    },
    /// The device went away.
    #[error("{0}: the network device is gone")]
    Gone(String),
    /// A file.
    #[error("{}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A system call.
    #[error("{call}")]
    Call {
        /// Which one.
        call: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl WireError {
    pub(super) fn call(call: &'static str) -> impl Fn(io::Error) -> WireError {
        move |source| WireError::Call { call, source }
    }

    /// The same for nix.
    pub(super) fn errno(call: &'static str) -> impl Fn(nix::Error) -> WireError {
        move |error| WireError::Call {
            call,
            source: error.into(),
        }
    }
}
