//! IPv6 (RFC 8200).

use super::extension;
use crate::captured::{Captured, be16};
use crate::{Address, Fragment, Ip, Packet, Skip, transport};

#[inline]
pub(super) fn packet(mut at: Captured<'_>) -> Result<Packet<'_>, Skip> {
    let h = at.take::<40>()?;
    let mut src = [0; 16];
    let mut dst = [0; 16];
    src.copy_from_slice(&h[8..24]);
    dst.copy_from_slice(&h[24..40]);
    let mut protocol = h[6];
    let payload_len = match be16(h[4], h[5]) {
        // Zero means a jumbogram, or a segment captured before segmentation by the network card (TSO).
        0 => match protocol {
            extension::NO_NEXT_HEADER => 0,
            extension::HOP_BY_HOP => extension::jumbo_payload_len(at).unwrap_or(at.wire_len()),
            _ => at.wire_len(),
        },
        len => u32::from(len),
    };
    let mut payload = at.with_len(payload_len);
    let mut id = None;
    let mut fragment = None;
    loop {
        match protocol {
            extension::HOP_BY_HOP
            | extension::ROUTING
            | extension::DESTINATION
            | extension::MOBILITY
            | extension::HIP
            | extension::SHIM6 => protocol = extension::in_octuples(&mut payload)?,
            extension::AUTHENTICATION => protocol = extension::authentication(&mut payload)?,
            extension::FRAGMENT => {
                let f = payload.take::<8>()?;
                protocol = f[0];
                id = Some(be16(f[6], f[7]));
                let offset = be16(f[2], f[3]) & !7;
                let more = f[3] & 1 != 0;
                // A fragment header on a whole packet ("atomic fragment", RFC 6946) does not make it a fragment.
                if offset != 0 || more {
                    fragment = Some(Fragment {
                        id: u32::from_be_bytes([f[4], f[5], f[6], f[7]]),
                        offset: u32::from(offset),
                        more,
                    });
                }
                if offset != 0 {
                    break;
                }
            }
            _ => break,
        }
    }
    transport::packet(protocol, fragment, payload, || Ip {
        src: Address(src),
        dst: Address(dst),
        ttl: h[7],
        tos: (h[0] << 4) | (h[1] >> 4),
        id,
        fragment,
        payload_len: payload.wire_len(),
        protocol,
    })
}

#[cfg(test)]
mod tests {
    use crate::frames::SEGMENT;
    use crate::{Fragment, LinkType, Packet, Skip, Transport, Tunnels, dissect};

    /// Header with these lengths, followed by `payload`.
    fn ipv6(payload_len: u16, next: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x6a, 0xb0, 0, 0];
        packet.extend(payload_len.to_be_bytes());
        packet.extend([next, 63]);
        packet.resize(40, 1);
        packet.extend(payload);
        packet
    }

    fn packet(frame: &[u8]) -> Result<Packet<'_>, Skip> {
        dissect(LinkType::IPV6, frame, frame.len() as u32, Tunnels::Outer)
    }

    fn tcp_payload_len(frame: &[u8], original_len: u32) -> u32 {
        match dissect(LinkType::IPV6, frame, original_len, Tunnels::Outer) {
            Ok(Packet {
                transport: Transport::Tcp(tcp),
                ..
            }) => tcp.payload_len,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_fields_of_the_header() {
        let frame = ipv6(36, 6, &SEGMENT[20..]);
        let ip = packet(&frame).unwrap().ip;
        assert_eq!((ip.ttl, ip.tos, ip.id, ip.fragment), (63, 0xab, None, None));
        assert_eq!((ip.payload_len, ip.protocol), (36, 6));
    }

    #[test]
    fn a_length_of_zero_is_a_jumbogram_or_uncut_by_the_card() {
        let tcp = &SEGMENT[20..];
        assert_eq!(tcp_payload_len(&ipv6(0, 6, tcp), 40 + 32 + 70_000), 70_000);
        let jumbo = [6, 0, 0xc2, 4, 0, 1, 0, 0];
        let frame = ipv6(0, 0, &[&jumbo, tcp].concat());
        assert_eq!(tcp_payload_len(&frame, 40 + 0x10000), 0x10000 - 8 - 32);
        let other_options = [6, 0, 1, 0, 1, 2, 0, 0];
        let frame = ipv6(0, 0, &[&other_options, tcp].concat());
        assert_eq!(tcp_payload_len(&frame, frame.len() as u32), 4);
    }

    #[test]
    fn without_next_header_there_is_no_payload() {
        let padded = ipv6(0, 59, &[0; 6]);
        let packet = packet(&padded).unwrap();
        assert_eq!((packet.ip.payload_len, packet.payload), (0, &[][..]));
    }

    #[test]
    fn fragments() {
        let header = |offset_and_more: [u8; 2]| {
            let [a, b] = offset_and_more;
            [6, 0, a, b, 0xaa, 0xbb, 0xcc, 0xdd]
        };
        let frame = ipv6(44, 44, &[&header([0, 1]), &SEGMENT[20..]].concat());
        let first = packet(&frame).unwrap();
        let fragment = |offset, more| {
            Some(Fragment {
                id: 0xaabb_ccdd,
                offset,
                more,
            })
        };
        assert_eq!(first.ip.fragment, fragment(0, true));
        assert_eq!(first.ip.id, Some(0xccdd));
        assert!(matches!(first.transport, Transport::Tcp(_)));

        let frame = ipv6(12, 44, &[&header([0x05, 0x98]), &b"rest"[..]].concat());
        let last = packet(&frame).unwrap();
        assert_eq!(last.ip.fragment, fragment(1432, false));
        assert_eq!((last.ip.payload_len, last.ip.protocol), (4, 6));
        assert!(matches!(last.transport, Transport::Fragment(b"rest")));

        let frame = ipv6(44, 44, &[&header([0, 0]), &SEGMENT[20..]].concat());
        let whole = packet(&frame).unwrap();
        assert_eq!((whole.ip.fragment, whole.ip.id), (None, Some(0xccdd)));
    }

    #[test]
    fn extension_headers_must_end_within_the_payload() {
        let too_long = ipv6(8, 60, &[6, 9, 0, 0, 0, 0, 0, 0]);
        assert_eq!(packet(&too_long).unwrap_err(), Skip::Malformed);
    }
}
