//! Limit of the data that a socket holds before it sends them.

use nix::sys::socket::{setsockopt, sockopt::SetStruct};
use std::io;
use std::os::fd::AsFd;

/// `TCP_NOTSENT_LOWAT` (`tcp_notsent_lowat` in the kernel's ip-sysctl.rst), bytes.
#[derive(Debug, Clone, Copy)]
struct NotSentLowWater;

nix::setsockopt_impl!(NotSentLowWater, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, u32, SetStruct<'_, u32>);

/// More than one acknowledgement lets a socket send, so that the socket never waits for data.
const MOST: u32 = 32 << 10;

/// Makes a socket accept data only as it sends them. A sender that stops then stops within a fraction of a second;
/// else its socket continues for seconds, with the data of four windows.
pub(super) fn limit_unsent(socket: &impl AsFd) -> io::Result<()> {
    Ok(setsockopt(socket, NotSentLowWater, &MOST)?)
}
