//! SCTP (RFC 9260).

use crate::captured::{Captured, be16};
use crate::{Sctp, Skip};

/// Parses the packet at the start of an IP payload.
pub(crate) fn packet(mut at: Captured<'_>) -> Result<Sctp<'_>, Skip> {
    let h = at.take::<12>()?;
    Ok(Sctp {
        src_port: be16(h[0], h[1]),
        dst_port: be16(h[2], h[3]),
        tag: u32::from_be_bytes([h[4], h[5], h[6], h[7]]),
        chunks: at.bytes,
    })
}

/// A chunk of an SCTP packet (RFC 9260, 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SctpChunk<'a> {
    /// Chunk type: 0 DATA, 1 INIT, 2 INIT ACK, 10 COOKIE ECHO, 11 COOKIE ACK, …
    pub kind: u8,
    /// Chunk flags.
    pub flags: u8,
    /// Length as in the header: 4 bytes of header and the value, bytes.
    pub length: u16,
    /// Captured bytes of the value.
    pub value: &'a [u8],
}

impl SctpChunk<'_> {
    /// DATA.
    pub const DATA: u8 = 0;
    /// INIT.
    pub const INIT: u8 = 1;
    /// INIT ACK.
    pub const INIT_ACK: u8 = 2;
    /// ABORT.
    pub const ABORT: u8 = 6;
    /// COOKIE ECHO.
    pub const COOKIE_ECHO: u8 = 10;
    /// COOKIE ACK.
    pub const COOKIE_ACK: u8 = 11;
}

impl<'a> Sctp<'a> {
    /// Iterates over the chunks whose header was captured; stops at a length below 4.
    #[inline]
    pub const fn chunks_iter(&self) -> SctpChunks<'a> {
        SctpChunks { rest: self.chunks }
    }
}

/// Iterator over the chunks of an SCTP packet.
#[derive(Debug, Clone)]
pub struct SctpChunks<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for SctpChunks<'a> {
    type Item = SctpChunk<'a>;

    fn next(&mut self) -> Option<SctpChunk<'a>> {
        let (&[kind, flags, a, b], value) = self.rest.split_first_chunk()?;
        let length = be16(a, b);
        let value_len = usize::from(length).checked_sub(4)?;
        // Chunks are padded to a multiple of 4 bytes (RFC 9260, 3.2).
        self.rest = value.get(value_len.next_multiple_of(4)..).unwrap_or_default();
        Some(SctpChunk { kind, flags, length, value: value.get(..value_len).unwrap_or(value) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_padded_and_the_last_may_be_cut() {
        let chunks = [
            10, 0, 0, 7, 1, 2, 3, 0xee, // COOKIE ECHO with 3 bytes
            14, 1, 0, 4, // SHUTDOWN COMPLETE
            0, 3, 0, 20, 9, 9, // DATA, 16 bytes of which 2 were captured
        ];
        let sctp = Sctp { src_port: 1, dst_port: 2, tag: 3, chunks: &chunks };
        let seen: Vec<_> = sctp.chunks_iter().map(|c| (c.kind, c.flags, c.length, c.value)).collect();
        assert_eq!(seen, [(10, 0, 7, &[1, 2, 3][..]), (14, 1, 4, &[]), (0, 3, 20, &[9, 9])]);
    }

    #[test]
    fn a_length_below_the_header_ends_the_chunks() {
        let sctp = Sctp { src_port: 1, dst_port: 2, tag: 3, chunks: &[1, 0, 0, 3, 1, 0, 0, 4] };
        assert_eq!(sctp.chunks_iter().count(), 0);
    }
}
