//! IPv4 (RFC 791).

use super::extension;
use crate::captured::{Captured, be16};
use crate::{Address, Fragment, Ip, Packet, Skip, transport};

/// Flag "more fragments", and the mask of the offset in units of 8 bytes (RFC 791, 3.1).
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

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
    use crate::frames::SEGMENT;
    use crate::{Fragment, LinkType, Packet, Skip, Transport, Tunnels, dissect};

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
        assert_eq!(
            (ip.ttl, ip.tos, ip.id, ip.fragment),
            (64, 0xb9, Some(0x1234), None)
        );
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
        for changes in [
            &[(0, 0x44)][..],
            &[(3, 19)],
            &[(0, 0x46), (3, 22)],
            &[(0, 0x55)],
        ] {
            let frame = changed(changes);
            assert_eq!(
                packet(&frame, 56).unwrap_err(),
                Skip::Malformed,
                "{changes:?}"
            );
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
        let fragment = |offset, more| {
            Some(Fragment {
                id: 0x1234,
                offset,
                more,
            })
        };
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
