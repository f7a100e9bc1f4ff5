//! The Internet protocols.

mod extension;
mod v4;
mod v6;

use crate::captured::Captured;
use crate::{Ip, Skip};

/// Protocol numbers (IANA, Assigned Internet Protocol Numbers).
pub(crate) mod protocol {
    /// RFC 9293.
    pub(crate) const TCP: u8 = 6;
    /// RFC 768.
    pub(crate) const UDP: u8 = 17;
    /// RFC 4340.
    pub(crate) const DCCP: u8 = 33;
    /// RFC 9260.
    pub(crate) const SCTP: u8 = 132;
}

/// An IP header of either version and the payload behind it and its extension headers.
#[inline]
pub(crate) fn header(at: Captured<'_>) -> Result<(Ip, Captured<'_>), Skip> {
    match at.bytes.first().map(|first| first >> 4) {
        Some(4) => v4::header(at),
        Some(6) => v6::header(at),
        Some(_) => Err(Skip::Malformed),
        None => Err(at.shortage(1)),
    }
}
