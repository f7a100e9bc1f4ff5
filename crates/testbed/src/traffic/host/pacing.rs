//! Pacing of a socket by its maximum pacing rate.

use nix::sys::socket::{setsockopt, sockopt::SetStruct};
use std::io;
use std::os::fd::AsFd;

/// `SO_MAX_PACING_RATE` (socket(7)), bytes per second.
#[derive(Debug, Clone, Copy)]
struct MaxPacingRate;

nix::setsockopt_impl!(MaxPacingRate, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, u64, SetStruct<'_, u64>);

/// Rate far above that of any link: the socket paces, at the rate that its congestion control sets.
const RATE: u64 = 1 << 40;

/// Makes a socket, and those that it accepts, pace what they send.
pub(super) fn pace(socket: &impl AsFd) -> io::Result<()> {
    Ok(setsockopt(socket, MaxPacingRate, &RATE)?)
}
