//! Generic routing encapsulation: version 0 (RFC 2784, RFC 2890, and routing of RFC 1701), version 1 (PPTP, RFC 2637).

use super::erspan;
use crate::Skip;
use crate::captured::{Captured, be16};
use crate::link::{Layer, LinkType, NextLayer, ethertype};

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// Version 1 only.
const ACKNOWLEDGMENT: u16 = 0x0080;
const VERSION: u16 = 0x0007;

/// Protocol types that are not EtherTypes: ERSPAN (draft-foschiano-erspan), web cache redirection
/// (draft-mclaggan-wccp-v2rev1).
const ERSPAN: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;
const WCCP: u16 = 0x883e;

/// Removes a GRE header of either version; returns the layer of the payload.
pub(super) fn payload(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<4>()?;
    let flags = be16(h[0], h[1]);
    let protocol = be16(h[2], h[3]);
    match flags & VERSION {
        0 => version_0(flags, protocol, at),
        1 if protocol == ethertype::PPP => pptp(flags, at),
        _ => Err(Skip::Malformed),
    }
}

fn version_0(flags: u16, protocol: u16, at: &mut Captured<'_>) -> NextLayer {
    // Checksum and offset are both present if either flag is set (RFC 1701, "Checksum Present").
    for present in [CHECKSUM | ROUTING, KEY, SEQUENCE] {
        if flags & present != 0 {
            at.skip(4)?;
        }
    }
    if flags & ROUTING != 0 {
        skip_routes(at)?;
    }
    match protocol {
        ERSPAN if flags & SEQUENCE != 0 => erspan::type_2(at),
        // Type I has neither sequence number nor header.
        ERSPAN => Ok(Layer::Link(LinkType::ETHERNET)),
        ERSPAN_III => erspan::type_3(at),
        WCCP => wccp(at),
        ethertype => Ok(Layer::EtherType(ethertype)),
    }
}

/// Skips source routes: family, offset and length each, up to an empty one of family 0 (RFC 1701, "Routing").
fn skip_routes(at: &mut Captured<'_>) -> Result<(), Skip> {
    loop {
        let h = at.take::<4>()?;
        at.skip(usize::from(h[3]))?;
        if *h == [0, 0, h[2], 0] {
            return Ok(());
        }
    }
}

fn pptp(flags: u16, at: &mut Captured<'_>) -> NextLayer {
    // Payload length and call ID; without sequence number it is a pure acknowledgement (RFC 2637, 4.1).
    at.skip(4)?;
    if flags & SEQUENCE == 0 {
        return Err(Skip::NotIp);
    }
    at.skip(4)?;
    if flags & ACKNOWLEDGMENT != 0 {
        at.skip(4)?;
    }
    Ok(Layer::Link(LinkType::PPP))
}

/// Web cache redirection: version 2 has 4 bytes before the packet, which never start like an IPv4 packet; version 1 has
/// none.
fn wccp(at: &mut Captured<'_>) -> NextLayer {
    let first = at.peek::<1>()?;
    if first[0] >> 4 != 4 {
        at.skip(4)?;
    }
    Ok(Layer::Ip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_testkit::frames::{SEGMENT, cat};

    fn inside(gre: &[u8]) -> Result<(Layer, usize), Skip> {
        let frame = cat(&[gre, SEGMENT]);
        let mut at = Captured::new(&frame, frame.len() as u32);
        let layer = payload(&mut at)?;
        Ok((layer, at.bytes.len()))
    }

    #[test]
    fn every_choice_of_optional_fields_is_skipped() {
        for bits in 0u8..8 {
            let flags = bits << 5 & 0x80 | bits << 4 & 0x20 | bits << 4 & 0x10;
            let mut gre = vec![flags, 0, 8, 0];
            gre.resize(4 + 4 * (flags.count_ones() as usize), 0xee);
            let expected = Ok((Layer::EtherType(ethertype::IPV4), SEGMENT.len()));
            assert_eq!(inside(&gre), expected, "{flags:#x}");
        }
    }

    #[test]
    fn source_routes_are_skipped() {
        let gre = [
            &[0x40, 0, 8, 0, 0, 0, 0, 0][..],
            &[8, 0, 0, 4, 192, 0, 2, 1],
            &[8, 0, 4, 8, 192, 0, 2, 1, 192, 0, 2, 2],
            &[0, 0, 0, 0],
        ];
        let expected = Ok((Layer::EtherType(ethertype::IPV4), SEGMENT.len()));
        assert_eq!(inside(&gre.concat()), expected);
    }

    #[test]
    fn a_pptp_acknowledgement_has_nothing_inside() {
        let gre = [0x20, 0x81, 0x88, 0x0b, 0, 0, 0, 1, 0, 0, 0, 2];
        assert_eq!(inside(&gre), Err(Skip::NotIp));
    }

    #[test]
    fn other_versions_are_none() {
        assert_eq!(inside(&[0, 2, 8, 0]), Err(Skip::Malformed));
        assert_eq!(inside(&[0, 1, 8, 0]), Err(Skip::Malformed));
    }
}
