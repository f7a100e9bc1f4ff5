//! PPP (RFC 1661), bare, in HDLC-like framing (RFC 1662) and over Ethernet (RFC 2516).

use super::{Layer, LinkType, NextLayer, hdlc};
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

/// Parses a frame with or without address and control, with compressed or uncompressed protocol number.
pub(super) fn frame(at: &mut Captured<'_>) -> NextLayer {
    if *at.peek()? == [ADDRESS, CONTROL] {
        at.skip(2)?;
    }
    let h = at.peek::<2>()?;
    // The last byte of a protocol number is odd, the first of an uncompressed one even (RFC 1661, 2 and 6.5).
    let protocol = if h[0] & 1 == 1 {
        at.skip(1)?;
        u16::from(h[0])
    } else {
        at.skip(2)?;
        be16(h[0], h[1])
    };
    match protocol {
        IPV4 | IPV6 => Ok(Layer::Ip),
        MPLS_UNICAST | MPLS_MULTICAST => Ok(Layer::Link(LinkType::MPLS)),
        _ => Err(Skip::NotIp),
    }
}

/// Parses a frame of a serial line, PPP or Cisco HDLC. Systems write both with either link type; the address and control
/// bytes of Cisco HDLC are no beginning of a PPP frame.
pub(super) fn serial_frame(at: &mut Captured<'_>) -> NextLayer {
    match at.bytes {
        [hdlc::UNICAST | hdlc::MULTICAST, hdlc::CONTROL, ..] => hdlc::frame(at),
        _ => frame(at),
    }
}

/// Parses a frame recorded by `pppd`: the address is 0 for a frame received and 1 for one sent.
pub(super) fn pppd_frame(at: &mut Captured<'_>) -> NextLayer {
    at.skip(1)?;
    if let [CONTROL, ..] = at.bytes {
        at.skip(1)?;
    }
    frame(at)
}

/// Parses a PPPoE header (RFC 2516, 4).
pub(super) fn pppoe_session(at: &mut Captured<'_>) -> NextLayer {
    const VERSION_AND_TYPE: u8 = 0x11;
    const SESSION_DATA: u8 = 0x00;
    let h = at.take::<6>()?;
    match (h[0], h[1]) {
        (VERSION_AND_TYPE, SESSION_DATA) => {
            // Some access concentrators count the padding of a short Ethernet frame in the length of the IP packet; the
            // PPPoE length is correct.
            *at = at.with_reliable_len(u32::from(be16(h[4], h[5])));
            Ok(Layer::Link(LinkType::PPP))
        }
        (VERSION_AND_TYPE, _) => Err(Skip::NotIp),
        _ => Err(Skip::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Transport, Tunnels, dissect};
    use gentle_testkit::frames::{SEGMENT, cat};

    #[test]
    fn the_length_of_a_pppoe_session_bounds_the_packet_in_it() {
        let session = [0x11, 0, 0, 1, 0, 2 + 52, 0, 0x21];
        let frame = cat(&[&session, SEGMENT]);
        let packet = dissect(LinkType::PPP_ETHER, &frame, 64, Tunnels::Outer).unwrap();
        assert_eq!(packet.ip.payload_len, 32);
        let Transport::Tcp(tcp) = packet.transport else {
            panic!("{packet:?}");
        };
        assert_eq!((tcp.payload_len, tcp.payload), (0, &[][..]));
    }

    #[test]
    fn other_protocols_are_not_ip() {
        for lcp in [&[0xc0, 0x21, 1, 1][..], &[0xff, 3, 0xc0, 0x21, 1, 1]] {
            let skip = dissect(LinkType::PPP, lcp, lcp.len() as u32, Tunnels::Outer).unwrap_err();
            assert_eq!(skip, Skip::NotIp);
        }
    }
}
