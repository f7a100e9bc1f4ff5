//! Cisco HDLC: address, control and an EtherType (<https://www.tcpdump.org/linktypes/LINKTYPE_C_HDLC.html>).

use super::{Layer, NextLayer};
use crate::captured::{Captured, be16};

/// Address bytes.
pub(super) const UNICAST: u8 = 0x0f;
pub(super) const MULTICAST: u8 = 0x8f;
/// Control byte.
pub(super) const CONTROL: u8 = 0;

pub(super) fn frame(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<4>()?;
    Ok(Layer::EtherType(be16(h[2], h[3])))
}
