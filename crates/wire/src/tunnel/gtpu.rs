//! User plane of the GPRS tunnelling protocol (3GPP TS 29.281, 5).

use crate::Skip;
use crate::captured::Captured;
use crate::link::{Layer, NextLayer};

pub(super) fn payload(at: &mut Captured<'_>) -> NextLayer {
    /// Mask of version and protocol type; `GTP_VERSION_1` is version 1, protocol type GTP.
    const VERSION_AND_TYPE: u8 = 0xf0;
    const GTP_VERSION_1: u8 = 0x30;
    /// Flags of extension header, sequence number and N-PDU number: if any is set, all three fields are present.
    const OPTIONAL: u8 = 0x07;
    const EXTENSION: u8 = 0x04;
    /// Message type of user data.
    const G_PDU: u8 = 255;

    let h = at.take::<8>()?;
    if h[0] & VERSION_AND_TYPE != GTP_VERSION_1 || h[1] != G_PDU {
        return Err(Skip::NotIp);
    }
    if h[0] & OPTIONAL != 0 {
        let optional = at.take::<4>()?;
        if h[0] & EXTENSION != 0 {
            skip_extensions(optional[3], at)?;
        }
    }
    Ok(Layer::Ip)
}

/// Skips extension headers: length in units of 4 bytes, content, and type of the next header, 0 for none (5.2.1).
fn skip_extensions(mut kind: u8, at: &mut Captured<'_>) -> Result<(), Skip> {
    while kind != 0 {
        let h = at.peek::<1>()?;
        let len = usize::from(h[0]) * 4;
        let next = len.checked_sub(1).ok_or(Skip::Malformed)?;
        at.skip(next)?;
        kind = at.take::<1>()?[0];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_user_data_has_a_packet_inside() {
        let strip = |bytes: &[u8]| payload(&mut Captured::new(bytes, bytes.len() as u32));
        assert_eq!(strip(&[0x30, 255, 0, 0, 0, 0, 0, 1]), Ok(Layer::Ip));
        let echo_request = [0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0];
        assert_eq!(strip(&echo_request), Err(Skip::NotIp));
        let prime = [0x20, 255, 0, 0, 0, 0, 0, 1];
        assert_eq!(strip(&prime), Err(Skip::NotIp));
        let empty_extension = [0x34, 255, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x85, 0, 0, 0, 0];
        assert_eq!(strip(&empty_extension), Err(Skip::Malformed));
    }
}
