//! UDP (RFC 768).

use crate::captured::{Captured, be16};
use crate::emit::{EmitError, PseudoHeader, room};
use crate::protocol;
use crate::{Skip, Udp};

/// Bytes of a header.
const HEADER: usize = 8;

/// Parses the datagram at the start of an IP payload, which is the payload of a whole packet or of its first fragment.
#[inline]
pub(crate) fn datagram(at: Captured<'_>, fragmented: bool) -> Result<Udp<'_>, Skip> {
    let h = at.peek::<8>()?;
    let wire_len = at.wire_len();
    let len = match be16(h[4], h[5]) {
        // Zero means a jumbogram (RFC 2675, 4) or a datagram not yet segmented by the network card: it fills the IP
        // payload.
        0 => wire_len,
        len if len < 8 => return Err(Skip::Malformed),
        len => match u32::from(len) {
            // The first fragment contains less than the whole datagram.
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

impl Udp<'_> {
    /// Bytes of the header.
    pub const HEADER_LEN: usize = HEADER;

    /// Writes the header and [`Udp::payload`], and returns the number of bytes written. The checksum covers the whole
    /// datagram of [`Udp::payload_len`] bytes of payload, where bytes that are not in `payload` count as zeros. Without
    /// a pseudo-header there is no checksum, which IPv4 allows.
    ///
    /// # Errors
    /// If `out` is too short, the datagram is longer than its length field can say, or `payload` is longer than
    /// [`Udp::payload_len`].
    pub fn emit(&self, pseudo_header: Option<&PseudoHeader>, out: &mut [u8]) -> Result<usize, EmitError> {
        if self.payload.len() > self.payload_len as usize {
            return Err(EmitError::BadLength);
        }
        let wire_len = self.payload_len.saturating_add(HEADER as u32);
        let length = u16::try_from(wire_len).map_err(|_| EmitError::TooLong)?;
        let len = HEADER + self.payload.len();
        let (header, payload) = room(out, len)?.split_at_mut(HEADER);
        header[0..2].copy_from_slice(&self.src_port.to_be_bytes());
        header[2..4].copy_from_slice(&self.dst_port.to_be_bytes());
        header[4..6].copy_from_slice(&length.to_be_bytes());
        header[6..8].fill(0);
        payload.copy_from_slice(self.payload);
        if let Some(pseudo_header) = pseudo_header {
            let checksum = pseudo_header.checksum(protocol::UDP, wire_len, header, self.payload);
            // A checksum of zero is sent as all ones; zero means that there is no checksum (RFC 768).
            let checksum = if checksum == 0 { 0xffff } else { checksum };
            header[6..8].copy_from_slice(&checksum.to_be_bytes());
        }
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATAGRAM: [u8; 12] = [0x9c, 0x40, 0x01, 0xbb, 0, 12, 0, 0, b'a', b'b', b'c', b'd'];

    fn with_len(len: u16, wire_len: u32, fragmented: bool) -> Result<(u32, usize), Skip> {
        let mut bytes = DATAGRAM;
        [bytes[4], bytes[5]] = len.to_be_bytes();
        let udp = datagram(Captured::new(&bytes, wire_len), fragmented)?;
        assert_eq!((udp.src_port, udp.dst_port), (40000, 443));
        Ok((udp.payload_len, udp.payload.len()))
    }

    #[test]
    fn the_length_is_that_of_the_header() {
        assert_eq!(with_len(12, 12, false), Ok((4, 4)));
        assert_eq!(with_len(12, 20, false), Ok((4, 4)));
        assert_eq!(with_len(10, 12, false), Ok((2, 2)));
        assert_eq!(with_len(100, 100, false), Ok((92, 4)));
        assert_eq!(with_len(0, 70_008, false), Ok((70_000, 4)));
    }

    #[test]
    fn a_datagram_fits_its_packet_unless_fragmented() {
        assert_eq!(with_len(7, 12, false), Err(Skip::Malformed));
        assert_eq!(with_len(13, 12, false), Err(Skip::Malformed));
        assert_eq!(with_len(13, 12, true), Ok((5, 4)));
    }
}
