//! DCCP (RFC 4340).

use crate::captured::{Captured, be16};
use crate::{Dccp, Skip};

/// Parses the header at the start of an IP payload, with a sequence number of 48 or 24 bits (RFC 4340, 5.1).
pub(crate) fn header(at: Captured<'_>) -> Result<Dccp, Skip> {
    const EXTENDED: u8 = 0x01;
    let h = at.peek::<12>()?;
    let seq = if h[8] & EXTENDED != 0 {
        let h = at.peek::<16>()?;
        u64::from_be_bytes([0, 0, h[10], h[11], h[12], h[13], h[14], h[15]])
    } else {
        u64::from(u32::from_be_bytes([0, h[9], h[10], h[11]]))
    };
    Ok(Dccp { src_port: be16(h[0], h[1]), dst_port: be16(h[2], h[3]), packet_type: (h[8] >> 1) & 0x0f, seq })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_have_48_or_24_bits() {
        let request = [0, 1, 0, 2, 7, 0, 0, 0, 0x01, 0, 1, 2, 3, 4, 5, 6];
        let long = header(Captured::new(&request, 28)).unwrap();
        assert_eq!((long.src_port, long.dst_port), (1, 2));
        assert_eq!((long.packet_type, long.seq), (0, 0x0102_0304_0506));
        let data = [0, 1, 0, 2, 3, 0, 0, 0, 0x04, 1, 2, 3];
        let short = header(Captured::new(&data, 12)).unwrap();
        assert_eq!((short.packet_type, short.seq), (2, 0x0001_0203));
        assert_eq!(header(Captured::new(&request[..15], 28)), Err(Skip::Truncated));
    }
}
