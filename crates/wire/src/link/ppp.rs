//! PPP (RFC 1661), bare, in HDLC-like framing (RFC 1662) and over Ethernet (RFC 2516).

use super::{Layer, LinkType, Peeled, hdlc};
use crate::Skip;
use crate::captured::{Captured, be16};

/// Address "all stations" and control "unnumbered information" of HDLC-like framing (RFC 1662, 3.1).
const ADDRESS: u8 = 0xff;
const CONTROL: u8 = 0x03;

/// Protocol numbers (IANA, PPP DLL Protocol Numbers).
const IPV4: u16 = 0x0021;
const IPV6: u16 = 0x0057;
const MPLS_UNICAST: u16 = 0x0281;
const MPLS_MULTICAST: u16 = 0x0283;

/// A frame with or without address and control, its protocol number compressed or not.
pub(super) fn frame(at: Captured<'_>) -> Peeled<'_> {
    let (h, after) = at.header::<2>()?;
    let at = if *h == [ADDRESS, CONTROL] { after } else { at };
    let (h, after) = at.header::<2>()?;
    // The last byte of a protocol number is odd, the first of an uncompressed one even (RFC 1661, 2 and 6.5).
    let (protocol, rest) = if h[0] & 1 == 1 {
        (u16::from(h[0]), at.skip(1)?)
    } else {
        (be16(h[0], h[1]), after)
    };
    match protocol {
        IPV4 | IPV6 => Ok((Layer::Ip, rest)),
        MPLS_UNICAST | MPLS_MULTICAST => Ok((Layer::Link(LinkType::MPLS), rest)),
        _ => Err(Skip::NotIp),
    }
}

/// A frame of a serial line, which is of Cisco HDLC when its address says so.
pub(super) fn hdlc_frame(at: Captured<'_>) -> Peeled<'_> {
    match at.bytes {
        [hdlc::UNICAST | hdlc::MULTICAST, ..] => hdlc::frame(at),
        _ => frame(at),
    }
}

/// A frame as `pppd` records it: the address is 0 for a frame received and 1 for one sent.
pub(super) fn pppd_frame(at: Captured<'_>) -> Peeled<'_> {
    let at = at.skip(1)?;
    match at.bytes {
        [CONTROL, ..] => frame(at.skip(1)?),
        _ => frame(at),
    }
}

/// A PPPoE header (RFC 2516, 4) and the frame in it.
pub(super) fn pppoe_session(at: Captured<'_>) -> Peeled<'_> {
    const VERSION_AND_TYPE: u8 = 0x11;
    const SESSION_DATA: u8 = 0x00;
    let (h, rest) = at.header::<6>()?;
    match (h[0], h[1]) {
        (VERSION_AND_TYPE, SESSION_DATA) => Ok((Layer::Link(LinkType::PPP), rest)),
        (VERSION_AND_TYPE, _) => Err(Skip::NotIp),
        _ => Err(Skip::Malformed),
    }
}
