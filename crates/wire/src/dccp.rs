//! DCCP (RFC 4340).

use crate::captured::{Captured, be16};
use crate::{Dccp, Skip};

/// The header at the front of an IP payload, with a sequence number of 48 or 24 bits (RFC 4340, 5.1).
pub(crate) fn header(at: Captured<'_>) -> Result<Dccp, Skip> {
    const EXTENDED: u8 = 0x01;
    let h = at.peek::<12>()?;
    let seq = if h[8] & EXTENDED != 0 {
        let h = at.peek::<16>()?;
        u64::from_be_bytes([0, 0, h[10], h[11], h[12], h[13], h[14], h[15]])
    } else {
        u64::from(u32::from_be_bytes([0, h[9], h[10], h[11]]))
    };
    Ok(Dccp {
        src_port: be16(h[0], h[1]),
        dst_port: be16(h[2], h[3]),
        packet_type: (h[8] >> 1) & 0x0f,
        seq,
    })
}
