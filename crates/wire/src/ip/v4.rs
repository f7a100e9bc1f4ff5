//! IPv4 (RFC 791).

use super::extension;
use crate::captured::{Captured, be16};
use crate::emit::{Checksum, EmitError, PseudoHeader, room};
use crate::{Address, Fragment, Ip, Packet, Skip, transport};
use std::net::Ipv4Addr;

/// Flag "more fragments", and the mask of the offset in units of 8 bytes (RFC 791, 3.1).
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;
const DONT_FRAGMENT: u16 = 0x4000;

/// Bytes of a header without options, and of the longest options.
const MIN_HEADER: usize = 20;
const MAX_OPTIONS: usize = 40;

/// An IPv4 header to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4Header<'a> {
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
    /// Differentiated services (6 bits) and ECN (2 bits).
    pub tos: u8,
    /// Identification.
    pub id: u16,
    /// Flag "don't fragment".
    pub dont_fragment: bool,
    /// Flag "more fragments".
    pub more_fragments: bool,
    /// Offset of the payload in the packet that was fragmented, bytes: a multiple of 8.
    pub fragment_offset: u16,
    /// Time to live.
    pub ttl: u8,
    /// Protocol number of the payload.
    pub protocol: u8,
    /// Options as in the header: a multiple of 4 bytes, at most 40.
    pub options: &'a [u8],
    /// Bytes after the header.
    pub payload_len: u32,
}

impl Ipv4Header<'_> {
    /// Header of a whole packet without options, with a time to live of 64, identification 0 and "don't fragment".
    pub const fn new(src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, payload_len: u32) -> Self {
        Ipv4Header {
            src,
            dst,
            tos: 0,
            id: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol,
            options: &[],
            payload_len,
        }
    }

    /// Bytes of the header with its options.
    #[inline]
    pub const fn header_len(&self) -> usize {
        MIN_HEADER + self.options.len()
    }

    /// Pseudo-header for transport checksums.
    #[inline]
    pub fn pseudo_header(&self) -> PseudoHeader {
        let sum = Checksum::default();
        PseudoHeader(sum.add(&self.src.octets()).add(&self.dst.octets()))
    }

    /// Writes the header with its checksum, and returns its length.
    ///
    /// # Errors If `out` is too short, the packet is longer than its length field can express, the options are longer
    /// than 40 bytes or not a multiple of 4, or the fragment offset is not a multiple of 8.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, EmitError> {
        let len = self.header_len();
        if self.options.len() > MAX_OPTIONS
            || !self.options.len().is_multiple_of(4)
            || !self.fragment_offset.is_multiple_of(8)
        {
            return Err(EmitError::BadLength);
        }
        let total_len = self.payload_len.saturating_add(len as u32);
        let total_len = u16::try_from(total_len).map_err(|_| EmitError::TooLong)?;
        let flag = |set, flag| if set { flag } else { 0 };
        let fragmentation = (self.fragment_offset / 8)
            | flag(self.more_fragments, MORE_FRAGMENTS)
            | flag(self.dont_fragment, DONT_FRAGMENT);
        let header = room(out, len)?;
        header[0] = 0x40 | (len / 4) as u8;
        header[1] = self.tos;
        header[2..4].copy_from_slice(&total_len.to_be_bytes());
        header[4..6].copy_from_slice(&self.id.to_be_bytes());
        header[6..8].copy_from_slice(&fragmentation.to_be_bytes());
        header[8] = self.ttl;
        header[9] = self.protocol;
        header[10..12].fill(0);
        header[12..16].copy_from_slice(&self.src.octets());
        header[16..20].copy_from_slice(&self.dst.octets());
        header[MIN_HEADER..].copy_from_slice(self.options);
        let checksum = Checksum::default().add(header).finish();
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        Ok(len)
    }
}

#[inline]
pub(super) fn packet(at: Captured<'_>) -> Result<Packet<'_>, Skip> {
    let h = at.peek::<20>()?;
    let header_len = usize::from(h[0] & 0x0f) * 4;
    let total_len = match be16(h[2], h[3]) {
        // Zero means a segment captured before segmentation by the network card (TSO): Linux leaves the length at 0 if
        // it does not fit into 16 bits.
        0 => at.wire_len(),
        total_len => u32::from(total_len),
    };
    if header_len < 20 || total_len < header_len as u32 {
        return Err(Skip::Malformed);
    }
    let mut payload = at.with_len(total_len);
    payload.skip(header_len)?;

    let id = be16(h[4], h[5]);
    let fragmentation = be16(h[6], h[7]);
    let fragment = (fragmentation & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0).then(|| Fragment {
        id: u32::from(id),
        offset: u32::from(fragmentation & FRAGMENT_OFFSET) * 8,
        more: fragmentation & MORE_FRAGMENTS != 0,
    });
    let mut protocol = h[9];
    if protocol == extension::AUTHENTICATION && fragment.is_none_or(|f| f.offset == 0) {
        protocol = extension::authentication(&mut payload)?;
    }
    transport::packet(protocol, fragment, payload, || Ip {
        src: Address::v4([h[12], h[13], h[14], h[15]]),
        dst: Address::v4([h[16], h[17], h[18], h[19]]),
        ttl: h[8],
        tos: h[1],
        id: Some(id),
        fragment,
        payload_len: payload.wire_len(),
        protocol,
    })
}

#[cfg(test)]
mod tests {
    use crate::{Fragment, LinkType, Packet, Skip, Transport, Tunnels, dissect};
    use gentle_testkit::frames::SEGMENT;

    /// The test segment with some bytes of its IP header changed.
    fn changed(changes: &[(usize, u8)]) -> Vec<u8> {
        let mut frame = SEGMENT.to_vec();
        for &(at, byte) in changes {
            frame[at] = byte;
        }
        frame
    }

    fn packet(frame: &[u8], original_len: u32) -> Result<Packet<'_>, Skip> {
        dissect(LinkType::IPV4, frame, original_len, Tunnels::Outer)
    }

    fn tcp_lens(frame: &[u8], original_len: u32) -> (u32, usize) {
        match packet(frame, original_len).unwrap().transport {
            Transport::Tcp(tcp) => (tcp.payload_len, tcp.payload.len()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_fields_of_the_header() {
        let frame = changed(&[(1, 0xb9)]);
        let ip = packet(&frame, 56).unwrap().ip;
        assert_eq!((ip.ttl, ip.tos, ip.id, ip.fragment), (64, 0xb9, Some(0x1234), None));
        assert_eq!((ip.payload_len, ip.protocol), (36, 6));
    }

    #[test]
    fn lengths_come_from_the_header() {
        assert_eq!(tcp_lens(SEGMENT, 56), (4, 4));
        let padded = [SEGMENT, &[0; 10]].concat();
        assert_eq!(tcp_lens(&padded, 66), (4, 4));
        assert_eq!(tcp_lens(&SEGMENT[..54], 56), (4, 2));
        // A tool has shortened the frame without recording the original length.
        let longer = changed(&[(2, 5), (3, 0xdc)]);
        assert_eq!(tcp_lens(&longer, 56), (1448, 4));
        // Captured before segmentation, so the length is not filled in.
        let uncut = changed(&[(3, 0)]);
        assert_eq!(tcp_lens(&uncut, 70_052), (70_000, 4));
    }

    #[test]
    fn contradictions() {
        for changes in [&[(0, 0x44)][..], &[(3, 19)], &[(0, 0x46), (3, 22)], &[(0, 0x55)]] {
            let frame = changed(changes);
            assert_eq!(packet(&frame, 56).unwrap_err(), Skip::Malformed, "{changes:?}");
        }
        assert_eq!(packet(&SEGMENT[..19], 19).unwrap_err(), Skip::Malformed);
        assert_eq!(packet(&SEGMENT[..19], 56).unwrap_err(), Skip::Truncated);
        assert_eq!(packet(&[], 0).unwrap_err(), Skip::Malformed);
        assert_eq!(packet(&[], 56).unwrap_err(), Skip::Truncated);
    }

    #[test]
    fn fragments() {
        let frame = changed(&[(6, 0x20)]);
        let first = packet(&frame, 56).unwrap();
        let fragment = |offset, more| Some(Fragment { id: 0x1234, offset, more });
        assert_eq!(first.ip.fragment, fragment(0, true));
        assert!(matches!(first.transport, Transport::Tcp(_)));

        let frame = changed(&[(6, 0x00), (7, 0xb9)]);
        let last = packet(&frame, 56).unwrap();
        assert_eq!(last.ip.fragment, fragment(1480, false));
        assert!(matches!(last.transport, Transport::Fragment(bytes) if bytes == &SEGMENT[20..]));

        // Too short for the flags of the TCP header (RFC 1858, 3.1).
        let frame = changed(&[(3, 28), (6, 0x20)]);
        let tiny = packet(&frame, 56).unwrap();
        assert!(matches!(tiny.transport, Transport::Fragment(bytes) if bytes == &SEGMENT[20..28]));
    }
}
