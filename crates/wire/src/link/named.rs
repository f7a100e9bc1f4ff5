//! Headers in which another link type is named: PPI and Darwin's `pktap`.

use super::{Layer, LinkType, Peeled};
use crate::Skip;
use crate::captured::Captured;

/// PPI (<https://www.tcpdump.org/linktypes/LINKTYPE_PPI.html>): version, flags, length and link type, little-endian.
pub(super) fn ppi(at: Captured<'_>) -> Peeled<'_> {
    let (h, _) = at.header::<8>()?;
    let len = u32::from(u16::from_le_bytes([h[2], h[3]]));
    named(at, len, 8, u32::from_le_bytes([h[4], h[5], h[6], h[7]]))
}

/// `pktap` (<https://www.tcpdump.org/linktypes/LINKTYPE_PKTAP.html>): length, record type and link type, little-endian.
pub(super) fn pktap(at: Captured<'_>) -> Peeled<'_> {
    let (h, _) = at.header::<12>()?;
    let len = u32::from_le_bytes([h[0], h[1], h[2], h[3]]);
    named(at, len, 12, u32::from_le_bytes([h[8], h[9], h[10], h[11]]))
}

fn named(at: Captured<'_>, len: u32, shortest: u32, link: u32) -> Peeled<'_> {
    if len < shortest {
        return Err(Skip::Malformed);
    }
    let link = u16::try_from(link).map_err(|_| Skip::UnknownLink)?;
    Ok((Layer::Link(LinkType(link)), at.skip(len as usize)?))
}
