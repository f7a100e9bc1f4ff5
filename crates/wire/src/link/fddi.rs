//! FDDI (ISO 9314-2) with LLC (RFC 1390).

use super::{Layer, NextLayer};
use crate::Skip;
use crate::captured::Captured;

pub(super) fn frame(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<13>()?;
    // Frame control of LLC frames with 48-bit addresses: CLFF ZZZZ with FF = 01 and any C (synchronous).
    match h[0] & 0xf0 {
        0x50 | 0xd0 => Ok(Layer::Llc),
        _ => Err(Skip::NotIp),
    }
}
