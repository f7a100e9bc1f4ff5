//! Errors of writing headers, and the Internet checksum (RFC 1071).

use std::fmt;

/// Reason why a header cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmitError {
    /// The buffer is too short.
    NoRoom {
        /// Bytes that are needed.
        needed: usize,
    },
    /// A length does not fit into the field that the header has for it.
    TooLong,
    /// The length of options or of an extension header cannot be expressed in its header, or `payload` is longer than
    /// `payload_len`.
    BadLength,
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmitError::NoRoom { needed } => write!(f, "the buffer has no room for {needed} bytes"),
            EmitError::TooLong => f.write_str("a length does not fit into its header field"),
            EmitError::BadLength => f.write_str("the length of a part of the header is impossible"),
        }
    }
}

impl std::error::Error for EmitError {}

/// The first `len` bytes of a buffer.
#[inline]
pub(crate) fn room(out: &mut [u8], len: usize) -> Result<&mut [u8], EmitError> {
    out.get_mut(..len).ok_or(EmitError::NoRoom { needed: len })
}

/// Partial Internet checksum: a sum of 16-bit words (RFC 1071).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Checksum(u64);

impl Checksum {
    /// Adds bytes; only the last call may add an odd number of them.
    #[inline]
    pub(crate) fn add(self, bytes: &[u8]) -> Checksum {
        // The sum of words of 32 bits folds to the same 16 bits (RFC 1071, 2 (C)); 64 bits hold 2^32 of them.
        let (words, rest) = bytes.as_chunks();
        let mut sum = self.0;
        for word in words {
            sum += u64::from(u32::from_be_bytes(*word));
        }
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Checksum(sum + u64::from(u32::from_be_bytes(last)))
    }

    /// Adds a number of 32 bits.
    #[inline]
    pub(crate) fn add_u32(self, number: u32) -> Checksum {
        Checksum(self.0 + u64::from(number))
    }

    /// The checksum: the complement of the one's complement sum.
    #[inline]
    pub(crate) fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !(sum as u16)
    }
}

/// Part of an IP header that the checksum of a transport header covers (RFC 9293, 3.1; RFC 8200, 8.1), made by
/// [`Ipv4Header::pseudo_header`](crate::Ipv4Header::pseudo_header) or
/// [`Ipv6Header::pseudo_header`](crate::Ipv6Header::pseudo_header).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PseudoHeader(pub(crate) Checksum);

impl PseudoHeader {
    /// Checksum of a transport header of `protocol` and the beginning of its payload. `len` is the length of header and
    /// whole payload, bytes; payload that is not given counts as zeros.
    #[inline]
    pub(crate) fn checksum(&self, protocol: u8, len: u32, header: &[u8], payload: &[u8]) -> u16 {
        let sum = self.0.add_u32(u32::from(protocol)).add_u32(len);
        sum.add(header).add(payload).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(!Checksum::default().add(&bytes).finish(), 0xddf2);
        assert_eq!(Checksum::default().add(&bytes[..4]).add(&bytes[4..]).finish(), !0xddf2);
    }

    #[test]
    fn bytes_beyond_a_multiple_of_four_count_as_if_zeros_followed() {
        let bytes = [0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde];
        for len in 0..bytes.len() {
            let mut padded = [0; 8];
            padded[..len].copy_from_slice(&bytes[..len]);
            let sum = Checksum::default().add(&bytes[..len]);
            assert_eq!(sum, Checksum::default().add(&padded));
        }
        assert_eq!(Checksum::default().finish(), 0xffff);
    }
}
