//! Frames of Initial packets (RFC 9000, 12.4): only PADDING, PING, ACK, CRYPTO and CONNECTION_CLOSE are allowed.

use super::opener::Opened;
use super::ranges::Range;
use gentle_wire::quic_varint;

/// Contents of an Initial packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// Whether it has bytes of the TLS handshake.
    pub(super) crypto: bool,
    /// Whether it has a PING.
    pub(super) ping: bool,
    /// Whether all frames were read: neither the capture nor an error cut them.
    pub(super) whole: bool,
}

/// Reads the frames of a packet, and the ranges of its CRYPTO frames into `crypto`. `None` if the first frame is not
/// allowed in an Initial packet, which shows that it was opened with the wrong keys.
pub(super) fn read(opened: &Opened<'_>, crypto: &mut Vec<Range>) -> Option<Content> {
    crypto.clear();
    let mut content = Content::default();
    let cut = opened.payload.len() < opened.wire_len;
    let mut rest = opened.payload;
    let mut any = false;
    while let Some((&kind, after)) = rest.split_first() {
        let missing = opened.wire_len - opened.payload.len();
        let frame = match kind {
            0x00 => Some(after),
            0x01 => {
                content.ping = true;
                Some(after)
            }
            0x02 | 0x03 => ack(after, kind == 0x03),
            0x06 => match crypto_frame(after, missing) {
                Some((range, after)) => {
                    if range.start < range.end {
                        crypto.push(range);
                        content.crypto = true;
                    }
                    Some(after)
                }
                None => None,
            },
            0x1c => close(after),
            _ if any => return Some(content),
            _ => return None,
        };
        match frame {
            Some(after) => rest = after,
            // A frame cut by the capture ends the reading; in a completely captured packet it is an error.
            None if any || cut => return Some(content),
            None => return None,
        }
        any = true;
    }
    content.whole = any && !cut;
    any.then_some(content)
}

/// Skips an ACK frame (RFC 9000, 19.3).
fn ack(bytes: &[u8], ecn: bool) -> Option<&[u8]> {
    let (_largest, rest) = quic_varint(bytes)?;
    let (_delay, rest) = quic_varint(rest)?;
    let (ranges, rest) = quic_varint(rest)?;
    let (_first, mut rest) = quic_varint(rest)?;
    // Each range has at least two bytes, so a wrong count soon runs out of bytes.
    for _ in 0..ranges {
        (_, rest) = quic_varint(rest)?;
        (_, rest) = quic_varint(rest)?;
    }
    if ecn {
        for _ in 0..3 {
            (_, rest) = quic_varint(rest)?;
        }
    }
    Some(rest)
}

/// Range of a CRYPTO frame (RFC 9000, 19.6), and the bytes after it. `missing` bytes of the packet were not captured.
fn crypto_frame(bytes: &[u8], missing: usize) -> Option<(Range, &[u8])> {
    let (offset, rest) = quic_varint(bytes)?;
    let (len, rest) = quic_varint(rest)?;
    if len > (rest.len() + missing) as u64 {
        return None;
    }
    let after = rest.get(len as usize..).unwrap_or_default();
    Some((Range::new(offset, len), after))
}

/// Skips a CONNECTION_CLOSE frame of the transport (RFC 9000, 19.19).
fn close(bytes: &[u8]) -> Option<&[u8]> {
    let (_error, rest) = quic_varint(bytes)?;
    let (_frame, rest) = quic_varint(rest)?;
    let (reason, rest) = quic_varint(rest)?;
    rest.get(usize::try_from(reason).ok()?..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_all(payload: &[u8], wire_len: usize) -> Option<(Content, Vec<Range>)> {
        let mut crypto = Vec::new();
        let opened = Opened { number: 0, payload, wire_len };
        read(&opened, &mut crypto).map(|content| (content, crypto))
    }

    #[test]
    fn finds_crypto_among_all_other_frames() {
        let payload = [
            0x01, // PING
            0x00, 0x00, // PADDING
            0x02, 0x05, 0x00, 0x01, 0x00, 0x01, 0x01, // ACK with a second range
            0x06, 0x00, 0x02, 0xaa, 0xbb, // CRYPTO, 2 bytes from 0
            0x03, 0x05, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, // ACK with ECN counts
            0x06, 0x41, 0x00, 0x01, 0xcc, // CRYPTO, 1 byte from 256
            0x06, 0x07, 0x00, // CRYPTO without bytes
            0x1c, 0x0a, 0x06, 0x02, 0x68, 0x69, // CONNECTION_CLOSE, "hi"
            0x00,
        ];
        let (content, crypto) = read_all(&payload, payload.len()).unwrap();
        assert!(content.crypto && content.ping && content.whole);
        assert_eq!(crypto, [Range::new(0, 2), Range::new(256, 1)]);
    }

    #[test]
    fn a_cut_crypto_frame_still_says_which_bytes_it_carried() {
        let payload = [0x06, 0x04, 0x40, 0xc8, 0xaa];
        let (content, crypto) = read_all(&payload, 300).unwrap();
        assert!(content.crypto && !content.whole);
        assert_eq!(crypto, [Range::new(4, 200)]);
        assert_eq!(read_all(&payload, payload.len()), None, "longer than its packet");
    }

    #[test]
    fn what_cannot_be_in_an_initial_packet_is_refused() {
        for first in [0x04, 0x05, 0x07, 0x08, 0x1d, 0x1e, 0x40, 0xff] {
            assert_eq!(read_all(&[first, 0, 0], 3), None);
        }
        assert_eq!(read_all(&[], 0), None);
        let (content, _) = read_all(&[0x01, 0x08], 2).unwrap();
        assert!(content.ping && !content.whole);
    }

    proptest! {
        #[test]
        fn any_bytes_end(payload in prop::collection::vec(any::<u8>(), 0..300), missing in 0usize..300) {
            if let Some((content, crypto)) = read_all(&payload, payload.len() + missing) {
                prop_assert_eq!(content.crypto, !crypto.is_empty());
            }
        }
    }
}
