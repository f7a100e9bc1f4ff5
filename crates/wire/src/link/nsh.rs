//! Network service header (RFC 8300).

use super::{Layer, LinkType, NextLayer};
use crate::Skip;
use crate::captured::Captured;

pub(super) fn header(at: &mut Captured<'_>) -> NextLayer {
    let h = at.peek::<4>()?;
    // Length in units of 4 bytes, this word included (RFC 8300, 2.2).
    let len = usize::from(h[1] & 0x3f) * 4;
    if len < 8 {
        return Err(Skip::Malformed);
    }
    at.skip(len)?;
    next_protocol(h[3])
}

/// Layer of a "next protocol" number of NSH and VXLAN-GPE (IANA, NSH Next Protocol; VXLAN-GPE uses the same numbers).
pub(crate) fn next_protocol(number: u8) -> Result<Layer, Skip> {
    match number {
        1 | 2 => Ok(Layer::Ip),
        3 => Ok(Layer::Link(LinkType::ETHERNET)),
        4 => Ok(Layer::EtherType(super::ethertype::NSH)),
        5 => Ok(Layer::Link(LinkType::MPLS)),
        _ => Err(Skip::NotIp),
    }
}
