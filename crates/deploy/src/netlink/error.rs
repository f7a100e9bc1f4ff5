//! Errors of netlink requests.

use gentle_netlink::RequestError;
use std::io::{self, ErrorKind};
use thiserror::Error;

/// Error of a netlink request, with what was requested.
#[derive(Debug, Error)]
pub enum NetlinkError {
    /// The socket failed.
    #[error("netlink: {0}")]
    Socket(#[from] io::Error),
    /// The kernel rejected a request.
    #[error("the kernel refused {what}: {reason}")]
    Refused {
        /// Description of the request.
        what: &'static str,
        /// Message of the kernel, or of its error code.
        reason: String,
        /// Error code of the kernel.
        code: ErrorKind,
    },
    /// A filter to be created redirects to a device that has been deleted since it was saved.
    #[error("a filter redirects packets to {name} (interface {index}), which has been deleted")]
    TargetGone {
        /// Name of the device when the filter was saved.
        name: String,
        /// Interface index of the device, which another device may have now.
        index: u32,
    },
    /// The answer is truncated or malformed.
    #[error("netlink: the kernel sent a malformed answer ({0})")]
    Malformed(&'static str),
}

impl NetlinkError {
    /// Error of a request about `what`.
    pub(super) fn about(what: &'static str, error: RequestError) -> NetlinkError {
        match error {
            RequestError::Socket(error) => NetlinkError::Socket(error),
            RequestError::Refused { ref cause, .. } => {
                NetlinkError::Refused { what, reason: error.to_string(), code: cause.kind() }
            }
            RequestError::Malformed(part) => NetlinkError::Malformed(part),
        }
    }
}
