//! Captured bytes, with the number of bytes cut off by the snap length.

use crate::Skip;

/// A sequence of bytes on the wire, of which the first ones were captured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Captured<'a> {
    /// Captured bytes.
    pub(crate) bytes: &'a [u8],
    /// Number of bytes that followed on the wire and were not captured.
    pub(crate) missing: u32,
    /// Whether the length comes from a header that is always right, so that it bounds what inner headers claim.
    /// Otherwise it is the frame's length, which tools that shorten frames do not always preserve.
    len_is_reliable: bool,
}

impl<'a> Captured<'a> {
    /// Creates the view of a frame that had `original_len` bytes on the wire.
    #[inline]
    pub(crate) fn new(frame: &'a [u8], original_len: u32) -> Captured<'a> {
        Captured { bytes: frame, missing: original_len.saturating_sub(len_u32(frame)), len_is_reliable: false }
    }

    /// Number of bytes on the wire.
    #[inline]
    pub(crate) fn wire_len(self) -> u32 {
        len_u32(self.bytes).saturating_add(self.missing)
    }

    /// Reason why `len` bytes are not available: cut off by the capture, or beyond the end on the wire.
    #[cold]
    pub(crate) fn shortage(self, len: usize) -> Skip {
        if len as u64 <= u64::from(self.wire_len()) { Skip::Truncated } else { Skip::Malformed }
    }

    /// Returns the first `N` bytes.
    #[inline]
    pub(crate) fn peek<const N: usize>(&self) -> Result<&'a [u8; N], Skip> {
        match self.bytes.first_chunk() {
            Some(chunk) => Ok(chunk),
            None => Err(self.shortage(N)),
        }
    }

    /// Removes and returns the first `N` bytes.
    #[inline]
    pub(crate) fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], Skip> {
        match self.bytes.split_first_chunk() {
            Some((chunk, rest)) => {
                self.bytes = rest;
                Ok(chunk)
            }
            None => Err(self.shortage(N)),
        }
    }

    /// Removes the first `len` bytes.
    #[inline]
    pub(crate) fn skip(&mut self, len: usize) -> Result<(), Skip> {
        match self.bytes.get(len..) {
            Some(rest) => {
                self.bytes = rest;
                Ok(())
            }
            None => Err(self.shortage(len)),
        }
    }

    /// Limits the bytes to `len`, a length from a header. Bytes beyond the captured ones count as missing, unless an
    /// outer reliable length is shorter.
    #[inline]
    pub(crate) fn with_len(self, len: u32) -> Captured<'a> {
        let len = match self.len_is_reliable {
            true => len.min(self.wire_len()),
            false => len,
        };
        let bytes = self.bytes.get(..len as usize).unwrap_or(self.bytes);
        Captured { bytes, missing: len.saturating_sub(len_u32(bytes)), len_is_reliable: self.len_is_reliable }
    }

    /// Limits the bytes to `len`, a reliable length from a header.
    pub(crate) fn with_reliable_len(self, len: u32) -> Captured<'a> {
        Captured { len_is_reliable: true, ..self.with_len(len) }
    }
}

fn len_u32(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// Converts two bytes in network byte order to a 16-bit number.
#[inline]
pub(crate) const fn be16(a: u8, b: u8) -> u16 {
    u16::from_be_bytes([a, b])
}
