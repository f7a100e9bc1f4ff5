//! IPv4, IPv6 and ICMP.

mod extension;
pub(crate) mod icmp;
mod v4;
mod v6;

pub use v4::Ipv4Header;
pub use v6::{Ipv6Extension, Ipv6Header};

use crate::captured::Captured;
use crate::{Packet, Skip};

/// Parses an IP packet of either version.
#[inline]
pub(crate) fn packet(at: Captured<'_>) -> Result<Packet<'_>, Skip> {
    match at.bytes.first().map(|first| first >> 4) {
        Some(4) => v4::packet(at),
        Some(6) => v6::packet(at),
        Some(_) => Err(Skip::Malformed),
        None => Err(at.shortage(1)),
    }
}
