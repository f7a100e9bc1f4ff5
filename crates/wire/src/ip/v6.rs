//! IPv6 (RFC 8200).

use super::extension;
use crate::captured::{Captured, be16};
use crate::emit::{Checksum, EmitError, PseudoHeader, room};
use crate::{Address, Fragment, Ip, Packet, Skip, transport};
use std::net::Ipv6Addr;

/// Bytes of a header without its extension headers.
const HEADER: usize = 40;

/// An IPv6 header to be written, with its extension headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Header<'a> {
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
    /// Differentiated services (6 bits) and ECN (2 bits).
    pub traffic_class: u8,
    /// Flow label, 20 bits (RFC 6437).
    pub flow_label: u32,
    /// Hop limit.
    pub hop_limit: u8,
    /// Extension headers, in their order (RFC 8200, 4.1).
    pub extensions: &'a [Ipv6Extension<'a>],
    /// Protocol number of the payload.
    pub protocol: u8,
    /// Bytes after the header and its extension headers.
    pub payload_len: u32,
}

/// An IPv6 extension header. Its content is what follows the two bytes of next header and length: 6 bytes more than a
/// multiple of 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ipv6Extension<'a> {
    /// Hop-by-hop options (RFC 8200, 4.3).
    HopByHop(&'a [u8]),
    /// Routing (RFC 8200, 4.4).
    Routing(&'a [u8]),
    /// Destination options (RFC 8200, 4.6).
    Destination(&'a [u8]),
    /// Fragment (RFC 8200, 4.5); its offset is a multiple of 8.
    Fragment(Fragment),
}

impl Ipv6Extension<'_> {
    /// Bytes of the extension header.
    const fn len(&self) -> usize {
        match self {
            Ipv6Extension::HopByHop(content)
            | Ipv6Extension::Routing(content)
            | Ipv6Extension::Destination(content) => 2 + content.len(),
            Ipv6Extension::Fragment(_) => 8,
        }
    }

    /// Protocol number of the extension header, for the next header field of the header before it.
    const fn number(&self) -> u8 {
        match self {
            Ipv6Extension::HopByHop(_) => extension::HOP_BY_HOP,
            Ipv6Extension::Routing(_) => extension::ROUTING,
            Ipv6Extension::Destination(_) => extension::DESTINATION,
            Ipv6Extension::Fragment(_) => extension::FRAGMENT,
        }
    }

    /// Writes the extension header, which fills `out`.
    fn emit(&self, next: u8, out: &mut [u8]) -> Result<(), EmitError> {
        out[0] = next;
        match self {
            Ipv6Extension::HopByHop(content)
            | Ipv6Extension::Routing(content)
            | Ipv6Extension::Destination(content) => {
                if !out.len().is_multiple_of(8) {
                    return Err(EmitError::BadLength);
                }
                let octuples = (out.len() / 8).checked_sub(1).ok_or(EmitError::BadLength)?;
                out[1] = u8::try_from(octuples).map_err(|_| EmitError::TooLong)?;
                out[2..].copy_from_slice(content);
            }
            Ipv6Extension::Fragment(fragment) => {
                let offset = u16::try_from(fragment.offset).map_err(|_| EmitError::TooLong)?;
                if !offset.is_multiple_of(8) {
                    return Err(EmitError::BadLength);
                }
                out[1] = 0;
                out[2..4].copy_from_slice(&(offset | u16::from(fragment.more)).to_be_bytes());
                out[4..8].copy_from_slice(&fragment.id.to_be_bytes());
            }
        }
        Ok(())
    }
}

impl Ipv6Header<'_> {
    /// Header without extension headers, with a hop limit of 64 and no flow label.
    pub const fn new(src: Ipv6Addr, dst: Ipv6Addr, protocol: u8, payload_len: u32) -> Self {
        Ipv6Header { src, dst, traffic_class: 0, flow_label: 0, hop_limit: 64, extensions: &[], protocol, payload_len }
    }

    /// Bytes of the header with its extension headers.
    #[inline]
    pub fn header_len(&self) -> usize {
        let extensions = self.extensions.iter().map(Ipv6Extension::len);
        HEADER + extensions.sum::<usize>()
    }

    /// Pseudo-header for transport checksums.
    #[inline]
    pub fn pseudo_header(&self) -> PseudoHeader {
        let sum = Checksum::default();
        PseudoHeader(sum.add(&self.src.octets()).add(&self.dst.octets()))
    }

    /// Writes the header with its extension headers, and returns their length.
    ///
    /// # Errors If `out` is too short, the packet is longer than its length field can express (jumbograms are not
    /// supported), the flow label has more than 20 bits, or the length of an extension header is not 8 times a number
    /// from 1 to 256.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, EmitError> {
        let len = self.header_len();
        let payload_len = self.payload_len.saturating_add((len - HEADER) as u32);
        let payload_len = u16::try_from(payload_len).map_err(|_| EmitError::TooLong)?;
        if self.flow_label > 0x000f_ffff {
            return Err(EmitError::TooLong);
        }
        let (header, mut rest) = room(out, len)?.split_at_mut(HEADER);
        let first_word = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label;
        header[0..4].copy_from_slice(&first_word.to_be_bytes());
        header[4..6].copy_from_slice(&payload_len.to_be_bytes());
        header[6] = self.next_header(0);
        header[7] = self.hop_limit;
        header[8..24].copy_from_slice(&self.src.octets());
        header[24..40].copy_from_slice(&self.dst.octets());
        for (place, extension) in self.extensions.iter().enumerate() {
            let (here, behind) = rest.split_at_mut(extension.len());
            extension.emit(self.next_header(place + 1), here)?;
            rest = behind;
        }
        Ok(len)
    }

    /// Protocol number of the extension header at index `place`, or of the payload after the last one.
    #[inline]
    fn next_header(&self, place: usize) -> u8 {
        let extension = self.extensions.get(place);
        extension.map_or(self.protocol, Ipv6Extension::number)
    }
}

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
    use crate::{Fragment, LinkType, Packet, Skip, Transport, Tunnels, dissect};
    use gentle_testkit::frames::SEGMENT;

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
            Ok(Packet { transport: Transport::Tcp(tcp), .. }) => tcp.payload_len,
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
        let fragment = |offset, more| Some(Fragment { id: 0xaabb_ccdd, offset, more });
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
