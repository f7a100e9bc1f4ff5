//! Virtual extensible LAN (RFC 7348) and its generic protocol extension (draft-ietf-nvo3-vxlan-gpe).

use crate::Skip;
use crate::captured::Captured;
use crate::link::{Layer, LinkType, NextLayer, next_protocol};

pub(super) fn payload(at: &mut Captured<'_>) -> NextLayer {
    /// Network identifier is valid; set in every packet.
    const IDENTIFIER: u8 = 0x08;
    /// Generic protocol extension: the last reserved byte is the next protocol.
    const NEXT_PROTOCOL: u8 = 0x04;
    let h = at.take::<8>()?;
    if h[0] & IDENTIFIER == 0 {
        return Err(Skip::NotIp);
    }
    let layer = if h[0] & NEXT_PROTOCOL != 0 { next_protocol(h[3])? } else { Layer::Link(LinkType::ETHERNET) };
    Ok(layer)
}
