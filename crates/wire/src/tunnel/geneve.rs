//! Generic network virtualization encapsulation (RFC 8926).

use crate::Skip;
use crate::captured::{Captured, be16};
use crate::link::{Layer, NextLayer};

pub(super) fn payload(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<8>()?;
    if h[0] >> 6 != 0 {
        return Err(Skip::Malformed);
    }
    let options = usize::from(h[0] & 0x3f) * 4;
    at.skip(options)?;
    Ok(Layer::EtherType(be16(h[2], h[3])))
}
