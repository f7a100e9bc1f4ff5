//! Links, qdiscs, classes and filters of the kernel, over rtnetlink.
//!
//! Messages are kept as attributes with raw bytes instead of types: a previous setup has to be restored exactly,
//! including options of kinds unknown here, and statistics grow with each kernel version.

mod attribute;
mod error;
mod link;
mod message;
mod namespace;
mod socket;

pub use error::NetlinkError;

pub(crate) use attribute::{Attribute, find};
pub(crate) use link::{Interface, interface, interfaces};
pub(crate) use message::{INGRESS, Object, ROOT, TcMessage, format_handle, tca};
pub(crate) use namespace::{Namespace, namespace};
pub(crate) use socket::Netlink;
