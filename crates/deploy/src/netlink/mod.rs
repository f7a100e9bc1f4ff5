//! What the kernel says of links, qdiscs, classes and filters, over rtnetlink.
//!
//! Messages are kept as attributes of bytes and not as types: what was there before has to be told to the kernel again as
//! it was, options of kinds unknown here included, and statistics grow from one kernel to the next.

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

/// Why the kernel did not answer as it should.
#[derive(Debug, Error)]
pub enum NetlinkError {
    /// The socket failed.
    #[error("netlink: {0}")]
    Socket(#[from] io::Error),
    /// The kernel refused a request.
    #[error("the kernel refused {what}: {reason}")]
    Refused {
        /// What was asked for.
        what: &'static str,
        /// Its words, or those of its error code.
        reason: String,
        /// Its error code.
        code: ErrorKind,
    },
    /// An answer that is cut short or longer than it says.
    #[error("netlink: an answer of the kernel that cannot be read ({0})")]
    Malformed(&'static str),
}
