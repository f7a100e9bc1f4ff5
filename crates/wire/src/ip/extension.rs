//! IPv6 extension headers (IANA, IPv6 Extension Header Types), including the authentication header, which IPv4 has too.

use crate::Skip;
use crate::captured::Captured;

/// Hop-by-hop options (RFC 8200, 4.3).
pub(super) const HOP_BY_HOP: u8 = 0;
/// Routing (RFC 8200, 4.4).
pub(super) const ROUTING: u8 = 43;
/// Fragment (RFC 8200, 4.5).
pub(super) const FRAGMENT: u8 = 44;
/// Authentication header (RFC 4302).
pub(super) const AUTHENTICATION: u8 = 51;
/// No next header (RFC 8200, 4.7).
pub(super) const NO_NEXT_HEADER: u8 = 59;
/// Destination options (RFC 8200, 4.6).
pub(super) const DESTINATION: u8 = 60;
/// Mobility (RFC 6275).
pub(super) const MOBILITY: u8 = 135;
/// Host Identity Protocol (RFC 7401).
pub(super) const HIP: u8 = 139;
/// Shim6 (RFC 5533).
pub(super) const SHIM6: u8 = 140;

/// Removes an extension header whose length is in units of 8 bytes, not counting the first 8; returns the next header.
pub(super) fn in_octuples(at: &mut Captured<'_>) -> Result<u8, Skip> {
    let h = at.peek::<2>()?;
    at.skip((usize::from(h[1]) + 1) * 8)?;
    Ok(h[0])
}

/// Removes an authentication header, whose length is in units of 4 bytes, not counting the first 8 bytes (RFC 4302,
/// 2.2); returns the next header.
pub(super) fn authentication(at: &mut Captured<'_>) -> Result<u8, Skip> {
    let h = at.peek::<2>()?;
    at.skip((usize::from(h[1]) + 2) * 4)?;
    Ok(h[0])
}

/// Value of the jumbo payload option (RFC 2675, 2) in the hop-by-hop options at the start of `at`.
pub(super) fn jumbo_payload_len(at: Captured<'_>) -> Option<u32> {
    const PAD1: u8 = 0x00;
    const JUMBO_PAYLOAD: u8 = 0xc2;
    let len = (usize::from(*at.bytes.get(1)?) + 1) * 8;
    let mut options = at.bytes.get(2..len)?;
    loop {
        match *options {
            [JUMBO_PAYLOAD, 4, a, b, c, d, ..] => return Some(u32::from_be_bytes([a, b, c, d])),
            [PAD1, ref rest @ ..] => options = rest,
            [_, len, ref rest @ ..] => options = rest.get(usize::from(len)..)?,
            _ => return None,
        }
    }
}
