//! Ethernet in IP (RFC 3378).

use crate::Skip;
use crate::captured::Captured;
use crate::link::{Layer, LinkType, NextLayer};

pub(super) fn payload(at: &mut Captured<'_>) -> NextLayer {
    const VERSION: u8 = 3;
    let h = at.take::<2>()?;
    if h[0] >> 4 != VERSION {
        return Err(Skip::Malformed);
    }
    Ok(Layer::Link(LinkType::ETHERNET))
}
