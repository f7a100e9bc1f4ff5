//! Errors of packet sockets.

use std::io;
use thiserror::Error;

/// Error that prevents packets from being received.
#[derive(Debug, Error)]
pub enum PacketError {
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
    /// Packets of all devices were requested with their link headers, whose types differ.
    #[error("the link headers of all devices have no common type; expected the name of one device")]
    NoCommonLink,
    /// The process lacks CAP_NET_RAW.
    #[error("a packet socket needs the capability CAP_NET_RAW; run this as root")]
    NotPermitted,
    /// A system call failed.
    #[error("{call}")]
    Call {
        /// Name of the system call or of its option.
        call: &'static str,
        /// Error of the system call.
        source: io::Error,
    },
}

impl PacketError {
    pub(crate) fn call(call: &'static str) -> impl Fn(io::Error) -> PacketError {
        move |source| PacketError::Call { call, source }
    }

    /// Like `call`, for errors of nix.
    pub(crate) fn errno(call: &'static str) -> impl Fn(nix::Error) -> PacketError {
        move |error| PacketError::Call { call, source: error.into() }
    }
}
