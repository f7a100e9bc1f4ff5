//! Bytes of a capture together with what the snap length took.

use crate::Skip;

/// A run of bytes on the wire of which the first ones were captured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Captured<'a> {
    /// The captured bytes.
    pub(crate) bytes: &'a [u8],
    /// How many more followed them on the wire.
    pub(crate) missing: u32,
    /// A header has told how many bytes there are, so that a header within them that claims more is wrong. Without one
    /// it is the frame's length, which tools that shorten frames do not always keep.
    firm: bool,
}

impl<'a> Captured<'a> {
    /// A frame of which `original_len` bytes were on the wire.
    #[inline]
    pub(crate) fn new(frame: &'a [u8], original_len: u32) -> Captured<'a> {
        Captured {
            bytes: frame,
            missing: original_len.saturating_sub(len_u32(frame)),
            firm: false,
        }
    }

    /// How many bytes were on the wire.
    #[inline]
    pub(crate) fn wire_len(self) -> u32 {
        len_u32(self.bytes).saturating_add(self.missing)
    }

    /// Why `len` bytes cannot be had: they were cut off, or there never were as many.
    #[cold]
    pub(crate) fn shortage(self, len: usize) -> Skip {
        if len as u64 <= u64::from(self.wire_len()) {
            Skip::Truncated
        } else {
            Skip::Malformed
        }
    }

    /// The first `N` bytes.
    #[inline]
    pub(crate) fn peek<const N: usize>(&self) -> Result<&'a [u8; N], Skip> {
        match self.bytes.first_chunk() {
            Some(chunk) => Ok(chunk),
            None => Err(self.shortage(N)),
        }
    }

    /// Takes the first `N` bytes off.
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

    /// Takes the first `len` bytes off.
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

    /// The first `len` bytes, as a header says. Where it claims more than there are, they count as missing, if that can
    /// be.
    #[inline]
    pub(crate) fn with_len(self, len: u32) -> Captured<'a> {
        let len = match self.firm {
            true => len.min(self.wire_len()),
            false => len,
        };
        let bytes = self.bytes.get(..len as usize).unwrap_or(self.bytes);
        Captured {
            bytes,
            missing: len.saturating_sub(len_u32(bytes)),
            firm: self.firm,
        }
    }

    /// The first `len` bytes, as a header says that leaves no doubt.
    pub(crate) fn with_firm_len(self, len: u32) -> Captured<'a> {
        Captured {
            firm: true,
            ..self.with_len(len)
        }
    }
}

fn len_u32(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// A big-endian 16-bit number.
#[inline]
pub(crate) const fn be16(a: u8, b: u8) -> u16 {
    u16::from_be_bytes([a, b])
}
