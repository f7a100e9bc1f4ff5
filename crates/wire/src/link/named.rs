//! Headers that name another link type: PPI and Darwin's `pktap`.

use super::{Layer, LinkType, NextLayer};
use crate::Skip;
use crate::captured::Captured;

/// PPI (<https://www.tcpdump.org/linktypes/LINKTYPE_PPI.html>): version, flags, length and link type, little-endian.
pub(super) fn ppi(at: &mut Captured<'_>) -> NextLayer {
    let h = at.peek::<8>()?;
    let len = u32::from(u16::from_le_bytes([h[2], h[3]]));
    named(at, len, 8, u32::from_le_bytes([h[4], h[5], h[6], h[7]]))
}

/// `pktap` (<https://www.tcpdump.org/linktypes/LINKTYPE_PKTAP.html>): length, record type and link type, little-endian.
pub(super) fn pktap(at: &mut Captured<'_>) -> NextLayer {
    let h = at.peek::<12>()?;
    let len = u32::from_le_bytes([h[0], h[1], h[2], h[3]]);
    named(at, len, 12, u32::from_le_bytes([h[8], h[9], h[10], h[11]]))
}

fn named(at: &mut Captured<'_>, len: u32, shortest: u32, link: u32) -> NextLayer {
    if len < shortest {
        return Err(Skip::Malformed);
    }
    let link = u16::try_from(link).map_err(|_| Skip::UnknownLink)?;
    at.skip(len as usize)?;
    Ok(Layer::Link(LinkType(link)))
}
