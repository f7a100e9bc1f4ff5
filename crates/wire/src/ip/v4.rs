//! IPv4 (RFC 791).

use super::extension;
use crate::captured::{Captured, be16};
use crate::{Address, Fragment, Ip, Packet, Skip, transport};

/// Flag "more fragments" and the offset in units of 8 bytes (RFC 791, 3.1).
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

#[inline]
pub(super) fn packet(at: Captured<'_>) -> Result<Packet<'_>, Skip> {
    let h = at.peek::<20>()?;
    let header_len = usize::from(h[0] & 0x0f) * 4;
    let total_len = match be16(h[2], h[3]) {
        // A segment that the network card will cut (TSO), captured before it did: Linux leaves the length at 0 where
        // it does not fit into 16 bits.
        0 => at.wire_len(),
        total_len => u32::from(total_len),
    };
    if header_len < 20 || total_len < header_len as u32 {
        return Err(Skip::Malformed);
    }
    let mut payload = at.with_len(total_len);
    payload.skip(header_len)?;

    let id = be16(h[4], h[5]);
    let fragmentation = be16(h[6], h[7]);
    let fragment = (fragmentation & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0).then(|| Fragment {
        id: u32::from(id),
        offset: u32::from(fragmentation & FRAGMENT_OFFSET) * 8,
        more: fragmentation & MORE_FRAGMENTS != 0,
    });
    let mut protocol = h[9];
    if protocol == extension::AUTHENTICATION && fragment.is_none_or(|f| f.offset == 0) {
        protocol = extension::authentication(&mut payload)?;
    }
    transport::packet(protocol, fragment, payload, || Ip {
        src: Address::v4([h[12], h[13], h[14], h[15]]),
        dst: Address::v4([h[16], h[17], h[18], h[19]]),
        ttl: h[8],
        tos: h[1],
        id: Some(id),
        fragment,
        payload_len: payload.wire_len(),
        protocol,
    })
}
