//! Links, qdiscs, classes and filters of the kernel, over rtnetlink.
//!
//! Messages are kept as attributes with raw bytes instead of types: a previous setup has to be restored exactly,
//! including options of kinds unknown here, and statistics grow with each kernel version.

mod attribute;
mod link;
mod message;
mod socket;

pub(crate) use attribute::{Attribute, find};
pub(crate) use link::{Interface, interface, interfaces};
pub(crate) use message::{INGRESS, Object, ROOT, TcMessage, format_handle, tca};
pub(crate) use socket::Netlink;

use std::io::{self, ErrorKind};
use thiserror::Error;

/// Error of a netlink request.
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
    /// The answer is truncated or malformed.
    #[error("netlink: an answer of the kernel that cannot be read ({0})")]
    Malformed(&'static str),
}
