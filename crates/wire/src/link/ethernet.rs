//! Ethernet (IEEE 802.3).

use super::Layer;
use crate::Skip;
use crate::captured::{Captured, be16};

/// EtherTypes (IANA, IEEE 802 Numbers).
pub(crate) mod ethertype {
    /// RFC 894.
    pub(crate) const IPV4: u16 = 0x0800;
    /// RFC 2464.
    pub(crate) const IPV6: u16 = 0x86dd;
}

/// A frame from its destination address on.
#[inline]
pub(super) fn frame(at: Captured<'_>) -> Result<(Layer, Captured<'_>), Skip> {
    let (header, rest) = at.header::<14>()?;
    match be16(header[12], header[13]) {
        ethertype::IPV4 => Ok((Layer::Ip, rest)),
        other => Ok((Layer::EtherType(other), rest)),
    }
}

/// What follows an EtherType.
pub(super) fn ethertype(ethertype: u16, at: Captured<'_>) -> Result<(Layer, Captured<'_>), Skip> {
    match ethertype {
        ethertype::IPV4 | ethertype::IPV6 => Ok((Layer::Ip, at)),
        _ => Err(Skip::NotIp),
    }
}
