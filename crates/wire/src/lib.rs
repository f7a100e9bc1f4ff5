//! Bytes to packets: what a captured frame is, from the link layer to the transport header.
//!
//! [`dissect`] peels a frame (link layer, tags, labels, and tunnels when asked to) down to an IP packet and its
//! transport header and returns a [`Packet`] that borrows from the frame. It stands on the ground: no I/O, no clock, no
//! allocation, no panic on any bytes. A frame may be cut anywhere by the capture's snap length: what was captured is
//! used, and lengths come from the headers, not from the number of bytes at hand.

mod address;
mod packet;

pub use address::Address;
pub use packet::{Dccp, Fragment, Ip, Packet, Sctp, Skip, Tcp, TcpFlags, Transport, Tunnels, Udp};
