//! Writing TCP segments.

use super::MIN_HEADER;
use super::options::MAX_OPTIONS;
use crate::Tcp;
use crate::emit::{EmitError, PseudoHeader, room};
use crate::protocol;

impl Tcp<'_> {
    /// Bytes of the header with its options.
    #[inline]
    pub const fn header_len(&self) -> usize {
        MIN_HEADER + self.options.len()
    }

    /// Writes the header and [`Tcp::payload`], and returns the number of bytes written. The checksum covers the whole
    /// segment of [`Tcp::payload_len`] bytes of payload, where bytes that are not in `payload` count as zeros. The
    /// urgent pointer is 0.
    ///
    /// # Errors
    /// If `out` is too short, the options are more than 40 bytes or no multiple of 4, or `payload` is longer than
    /// [`Tcp::payload_len`].
    #[inline]
    pub fn emit(&self, pseudo_header: &PseudoHeader, out: &mut [u8]) -> Result<usize, EmitError> {
        let header_len = self.header_len();
        if self.options.len() > MAX_OPTIONS
            || !self.options.len().is_multiple_of(4)
            || self.payload.len() > self.payload_len as usize
        {
            return Err(EmitError::BadLength);
        }
        let Some(wire_len) = self.payload_len.checked_add(header_len as u32) else {
            return Err(EmitError::TooLong);
        };
        let len = header_len + self.payload.len();
        let (header, payload) = room(out, len)?.split_at_mut(header_len);
        header[0..2].copy_from_slice(&self.src_port.to_be_bytes());
        header[2..4].copy_from_slice(&self.dst_port.to_be_bytes());
        header[4..8].copy_from_slice(&self.seq.to_be_bytes());
        header[8..12].copy_from_slice(&self.ack.to_be_bytes());
        let offset_and_flags = (header_len as u16 / 4) << 12 | self.flags.0 & 0x0fff;
        header[12..14].copy_from_slice(&offset_and_flags.to_be_bytes());
        header[14..16].copy_from_slice(&self.window.to_be_bytes());
        header[16..20].fill(0);
        header[MIN_HEADER..].copy_from_slice(self.options);
        payload.copy_from_slice(self.payload);
        let checksum = pseudo_header.checksum(protocol::TCP, wire_len, header, self.payload);
        header[16..18].copy_from_slice(&checksum.to_be_bytes());
        Ok(len)
    }
}
