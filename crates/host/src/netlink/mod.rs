//! Dumps over netlink: listening sockets, qdiscs and devices.
//!
//! The crate netlink-packet-sock-diag has the messages about sockets, but parses neither messages about qdiscs nor more
//! of a socket than 72 fixed bytes and one attribute. They are parsed here, and dependencies remain the ones of
//! gentle-deploy.

mod attribute;
mod socket;

pub(crate) use attribute::{find, text};
pub(crate) use socket::{Netlink, NetlinkError};

/// Word at an offset, in the machine's byte order.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}
