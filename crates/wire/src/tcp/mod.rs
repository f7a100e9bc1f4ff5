//! TCP (RFC 9293).

mod emit;
mod options;

pub use options::{TcpOption, TcpOptions};

use crate::captured::{Captured, be16};
use crate::{Skip, Tcp, TcpFlags};

/// Bytes up to and including the flags, the minimum that has to be captured.
const UP_TO_FLAGS: usize = 14;
/// Length of a header without options, bytes.
const MIN_HEADER: usize = 20;

/// Parses the segment at the start of an IP payload of `wire_len` bytes, of which `bytes` were captured. The payload is
/// that of a whole packet or of its first fragment.
#[inline(always)]
pub(crate) fn segment(bytes: &[u8], wire_len: u32, fragmented: bool) -> Result<Tcp<'_>, Skip> {
    let (h, window) = match bytes.first_chunk::<MIN_HEADER>() {
        Some(h) => (h.first_chunk::<UP_TO_FLAGS>(), be16(h[14], h[15])),
        None => (bytes.first_chunk(), cut_window(bytes)),
    };
    let Some(h) = h else {
        return Err(Captured::new(bytes, wire_len).shortage(UP_TO_FLAGS));
    };
    let header_len = usize::from(h[12] >> 4) * 4;
    // Only the first fragment of a packet may end within the header.
    if header_len < MIN_HEADER || (header_len as u32 > wire_len && !fragmented) {
        return Err(Skip::Malformed);
    }
    let behind = bytes.get(MIN_HEADER..).unwrap_or_default();
    Ok(Tcp {
        src_port: be16(h[0], h[1]),
        dst_port: be16(h[2], h[3]),
        seq: u32::from_be_bytes([h[4], h[5], h[6], h[7]]),
        ack: u32::from_be_bytes([h[8], h[9], h[10], h[11]]),
        flags: TcpFlags(be16(h[12], h[13]) & 0x0fff),
        window,
        payload_len: wire_len.saturating_sub(header_len as u32),
        options: behind.get(..header_len - MIN_HEADER).unwrap_or(behind),
        payload: bytes.get(header_len..).unwrap_or_default(),
    })
}

/// Window of a header that was cut after its flags; 0 if the window was cut off.
#[cold]
fn cut_window(bytes: &[u8]) -> u16 {
    match bytes.get(14..16) {
        Some(&[a, b]) => be16(a, b),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_testkit::frames::SEGMENT;

    const TCP: &[u8] = SEGMENT.split_at(20).1;

    fn cut(len: usize) -> Result<Tcp<'static>, Skip> {
        segment(&TCP[..len], 36, false)
    }

    #[test]
    fn fourteen_bytes_are_enough() {
        assert_eq!(cut(13).unwrap_err(), Skip::Truncated);
        let tcp = cut(14).unwrap();
        assert_eq!((tcp.flags, tcp.window), (TcpFlags(0x018), 0));
        assert_eq!((tcp.payload_len, tcp.options, tcp.payload), (4, &[][..], &[][..]));
        assert_eq!(cut(15).unwrap().window, 0);
        assert_eq!(cut(16).unwrap().window, 0x1000);
        assert_eq!(cut(24).unwrap().options, [1, 1, 8, 10]);
        assert_eq!(cut(34).unwrap().payload, b"ab");
    }

    #[test]
    fn all_twelve_flags_are_kept() {
        let mut bytes = TCP.to_vec();
        (bytes[12], bytes[13]) = (0x8f, 0xff);
        let tcp = segment(&bytes, 36, false).unwrap();
        assert_eq!(tcp.flags, TcpFlags(0xfff));
    }

    #[test]
    fn a_header_has_at_least_twenty_bytes_and_at_most_those_of_the_packet() {
        let mut bytes = TCP.to_vec();
        bytes[12] = 0x40;
        assert_eq!(segment(&bytes, 36, false).unwrap_err(), Skip::Malformed);
        bytes[12] = 0xa0;
        assert_eq!(segment(&bytes, 36, false).unwrap_err(), Skip::Malformed);
        // The first fragment may end within the header.
        let tcp = segment(&bytes, 36, true).unwrap();
        assert_eq!((tcp.payload_len, tcp.options.len()), (0, 16));
    }
}
