//! UDP (RFC 768).

use crate::captured::{Captured, be16};
use crate::{Skip, Udp};

/// The datagram at the front of an IP payload, which is that of a whole packet or of the first of its fragments.
#[inline]
pub(crate) fn datagram(at: Captured<'_>, fragmented: bool) -> Result<Udp<'_>, Skip> {
    let h = at.peek::<8>()?;
    let wire_len = at.wire_len();
    let len = match be16(h[4], h[5]) {
        // A jumbogram (RFC 2675, 4), or cut by the network card later: as long as the IP payload.
        0 => wire_len,
        len if len < 8 => return Err(Skip::Malformed),
        len => match u32::from(len) {
            // The first fragment of a datagram has less than the whole.
            len if len > wire_len && !fragmented => return Err(Skip::Malformed),
            len => len,
        },
    };
    let mut payload = at.with_len(len);
    payload.skip(8)?;
    Ok(Udp {
        src_port: be16(h[0], h[1]),
        dst_port: be16(h[2], h[3]),
        payload_len: payload.wire_len(),
        payload: payload.bytes,
    })
}
