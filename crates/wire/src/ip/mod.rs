//! IPv4, IPv6 and ICMP.

mod extension;
pub(crate) mod icmp;
mod v4;
mod v6;

use crate::captured::Captured;
use crate::{Packet, Skip};

/// Protocol numbers (IANA, Assigned Internet Protocol Numbers).
pub(crate) mod protocol {
    /// RFC 792.
    pub(crate) const ICMP: u8 = 1;
    /// IPv4 in IP (RFC 2003, RFC 2473).
    pub(crate) const IPV4: u8 = 4;
    /// RFC 9293.
    pub(crate) const TCP: u8 = 6;
    /// RFC 768.
    pub(crate) const UDP: u8 = 17;
    /// RFC 4340.
    pub(crate) const DCCP: u8 = 33;
    /// IPv6 in IP (RFC 2473, RFC 4213; 6to4, RFC 3056).
    pub(crate) const IPV6: u8 = 41;
    /// RFC 2784.
    pub(crate) const GRE: u8 = 47;
    /// RFC 4443.
    pub(crate) const ICMPV6: u8 = 58;
    /// RFC 3378.
    pub(crate) const ETHERIP: u8 = 97;
    /// RFC 9260.
    pub(crate) const SCTP: u8 = 132;
    /// MPLS in IP (RFC 4023).
    pub(crate) const MPLS: u8 = 137;
}

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
