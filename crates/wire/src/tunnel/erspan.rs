//! Encapsulated remote switch port analyzer (draft-foschiano-erspan-03): mirrored frames.

use crate::Skip;
use crate::captured::{Captured, be16};
use crate::link::{Layer, LinkType, NextLayer};

/// Type II: a header of 8 bytes and an Ethernet frame.
pub(super) fn type_2(at: &mut Captured<'_>) -> NextLayer {
    at.skip(8)?;
    Ok(Layer::Link(LinkType::ETHERNET))
}

/// Type III: a header of 12 bytes, an optional subheader of 8, and a frame of the type that the header names.
pub(super) fn type_3(at: &mut Captured<'_>) -> NextLayer {
    const SUBHEADER: u16 = 0x0001;
    let h = at.take::<12>()?;
    let field = be16(h[10], h[11]);
    if field & SUBHEADER != 0 {
        at.skip(8)?;
    }
    match (field >> 10) & 0x1f {
        0 => Ok(Layer::Link(LinkType::ETHERNET)),
        2 => Ok(Layer::Ip),
        _ => Err(Skip::NotIp),
    }
}
