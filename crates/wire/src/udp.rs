//! UDP (RFC 768).

use crate::captured::{Captured, be16};
use crate::{Ip, Skip, Udp};

/// The datagram at the front of an IP payload.
#[inline]
pub(crate) fn datagram<'a>(ip: &Ip, at: Captured<'a>) -> Result<Udp<'a>, Skip> {
    let (h, _) = at.header::<8>()?;
    let wire_len = at.wire_len();
    let len = match be16(h[4], h[5]) {
        // A jumbogram (RFC 2675, 4), or cut by the network card later: as long as the IP payload.
        0 => wire_len,
        len if len < 8 => return Err(Skip::Malformed),
        len => match u32::from(len) {
            // The first fragment of a datagram has less than the whole.
            len if len > wire_len && ip.fragment.is_none() => return Err(Skip::Malformed),
            len => len,
        },
    };
    let payload = at.with_len(len).skip(8)?;
    Ok(Udp {
        src_port: be16(h[0], h[1]),
        dst_port: be16(h[2], h[3]),
        payload_len: payload.wire_len(),
        payload: payload.bytes,
    })
}
