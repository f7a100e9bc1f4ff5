//! TCP (RFC 9293).

mod options;

use crate::captured::{Captured, be16};
use crate::{Skip, Tcp, TcpFlags};

/// Up to the flags, without which nothing can be said of a segment.
const UP_TO_FLAGS: usize = 14;
/// A header without options.
const MIN_HEADER: usize = 20;

/// The segment at the front of an IP payload, which is that of a whole packet or of the first of its fragments.
#[inline(always)]
pub(crate) fn segment(at: Captured<'_>, fragmented: bool) -> Result<Tcp<'_>, Skip> {
    let (h, window) = match at.bytes.first_chunk::<MIN_HEADER>() {
        Some(h) => (h.first_chunk::<UP_TO_FLAGS>(), be16(h[14], h[15])),
        None => (at.bytes.first_chunk(), cut_window(at.bytes)),
    };
    let Some(h) = h else {
        return Err(at.shortage(UP_TO_FLAGS));
    };
    let header_len = usize::from(h[12] >> 4) * 4;
    let wire_len = at.wire_len();
    // Only the first fragment of a packet may end within the header.
    if header_len < MIN_HEADER || (header_len as u32 > wire_len && !fragmented) {
        return Err(Skip::Malformed);
    }
    let options_end = header_len.min(at.bytes.len());
    Ok(Tcp {
        src_port: be16(h[0], h[1]),
        dst_port: be16(h[2], h[3]),
        seq: u32::from_be_bytes([h[4], h[5], h[6], h[7]]),
        ack: u32::from_be_bytes([h[8], h[9], h[10], h[11]]),
        flags: TcpFlags(be16(h[12], h[13]) & 0x0fff),
        window,
        payload_len: wire_len.saturating_sub(header_len as u32),
        options: at.bytes.get(MIN_HEADER..options_end).unwrap_or_default(),
        payload: at.bytes.get(header_len..).unwrap_or_default(),
    })
}

/// The window of a header that was cut after its flags.
#[cold]
fn cut_window(bytes: &[u8]) -> u16 {
    match bytes.get(14..16) {
        Some(&[a, b]) => be16(a, b),
        _ => 0,
    }
}
