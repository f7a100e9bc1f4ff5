//! Differentiated services codepoint of a socket's packets.

use nix::sys::socket::{setsockopt, sockopt};
use std::io;
use std::os::fd::AsFd;

/// Sets the codepoint, 0 to 63, of all packets that a socket sends (`IP_TOS`, ip(7)).
pub(super) fn set_codepoint(socket: &impl AsFd, dscp: u8) -> io::Result<()> {
    if dscp == 0 {
        return Ok(());
    }
    Ok(setsockopt(socket, sockopt::Ipv4Tos, &(i32::from(dscp) << 2))?)
}
