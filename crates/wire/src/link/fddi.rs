//! FDDI (ISO 9314-2) with LLC (RFC 1390).

use super::{Layer, Peeled};
use crate::Skip;
use crate::captured::Captured;

pub(super) fn frame(at: Captured<'_>) -> Peeled<'_> {
    let (h, rest) = at.header::<13>()?;
    // Frame control of LLC frames with addresses of 48 bits: CLFF ZZZZ with FF = 01, C (synchronous) either way.
    match h[0] & 0xf0 {
        0x50 | 0xd0 => Ok((Layer::Llc, rest)),
        _ => Err(Skip::NotIp),
    }
}
