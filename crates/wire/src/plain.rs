//! What nearly all frames of a capture are, straight from the bytes to the fields.
//!
//! A [`Packet`](crate::Packet) can be anything, so it is large; here the compiler keeps a segment in registers. It takes
//! `gentle analyze` from 1,124 to 963 instructions a packet in all (callgrind, 150,000 packets).

use crate::captured::{Captured, be16};
use crate::ip::protocol;
use crate::link::ethertype;
use crate::{LinkType, Tcp, tcp};

/// A TCP segment in a whole IPv4 packet without options.
#[derive(Debug, Clone, Copy)]
pub struct PlainTcp<'a> {
    /// Source address.
    pub src: [u8; 4],
    /// Destination address.
    pub dst: [u8; 4],
    /// Time to live.
    pub ttl: u8,
    /// Identification.
    pub id: u16,
    /// The segment.
    pub tcp: Tcp<'a>,
}

/// Where the headers begin.
const IP: usize = 14;
const TCP: usize = IP + 20;
/// All three headers without options.
const HEADERS: usize = TCP + 20;

/// IPv4 with a header of 20 bytes.
const VERSION_AND_LENGTH: u8 = 0x45;
/// "More fragments" and the offset (RFC 791, 3.1).
const FRAGMENT: u16 = 0x3fff;

/// The segment in a frame, if it is untagged Ethernet, IPv4 without options, no fragment, and TCP whose headers were
/// captured but for options: then the same as [`dissect`](crate::dissect) finds, whatever is said about tunnels. `None`
/// says nothing about the frame.
#[inline(always)]
pub fn plain_tcp(link: LinkType, frame: &[u8]) -> Option<PlainTcp<'_>> {
    let h = frame.first_chunk::<HEADERS>()?;
    let total_len = usize::from(be16(h[IP + 2], h[IP + 3]));
    let is_plain = link == LinkType::ETHERNET
        && be16(h[12], h[13]) == ethertype::IPV4
        && h[IP] == VERSION_AND_LENGTH
        && be16(h[IP + 6], h[IP + 7]) & FRAGMENT == 0
        && h[IP + 9] == protocol::TCP;
    if !is_plain {
        return None;
    }
    let payload_len = total_len.checked_sub(20)?;
    let captured = frame.get(TCP..IP + total_len).unwrap_or(&frame[TCP..]);
    Some(PlainTcp {
        src: [h[IP + 12], h[IP + 13], h[IP + 14], h[IP + 15]],
        dst: [h[IP + 16], h[IP + 17], h[IP + 18], h[IP + 19]],
        ttl: h[IP + 8],
        id: be16(h[IP + 4], h[IP + 5]),
        tcp: tcp::segment(Captured::new(captured, payload_len as u32), false).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{ETHERNET, SEGMENT, cat};
    use crate::{Address, Transport, Tunnels, dissect};
    use proptest::prelude::*;

    /// Whether `frame` is plain; if so, it has to be the same either way.
    fn agrees(link: LinkType, frame: &[u8], original_len: u32) -> bool {
        let Some(plain) = plain_tcp(link, frame) else {
            return false;
        };
        for tunnels in [Tunnels::Outer, Tunnels::Inner] {
            let packet = dissect(link, frame, original_len, tunnels).unwrap();
            let Transport::Tcp(tcp) = packet.transport else {
                panic!("{packet:?}");
            };
            let ip = packet.ip;
            assert_eq!(
                (ip.src, ip.dst),
                (Address::v4(plain.src), Address::v4(plain.dst))
            );
            assert_eq!(
                (ip.ttl, ip.id, ip.fragment),
                (plain.ttl, Some(plain.id), None)
            );
            assert_eq!(format!("{tcp:?}"), format!("{:?}", plain.tcp));
        }
        true
    }

    #[test]
    fn every_cut_of_a_plain_frame() {
        let frame = cat(&[ETHERNET, &[8, 0], SEGMENT]);
        for len in 0..=frame.len() {
            let plain = agrees(LinkType::ETHERNET, &frame[..len], frame.len() as u32);
            assert_eq!(plain, len >= HEADERS, "{len}");
        }
        assert!(!agrees(LinkType::RAW, &frame, frame.len() as u32));
    }

    proptest! {
        #[test]
        fn the_same_as_dissected(
            changes in proptest::collection::vec((0_usize..70, any::<u8>()), 0..4),
            behind in proptest::collection::vec(any::<u8>(), 0..20),
            len in 40_usize..90,
            more in 0_u32..2000,
        ) {
            let mut frame = cat(&[ETHERNET, &[8, 0], SEGMENT, &behind]);
            for (at, byte) in changes {
                if let Some(place) = frame.get_mut(at) {
                    *place = byte;
                }
            }
            frame.truncate(len);
            let original_len = frame.len() as u32 + more;
            agrees(LinkType::ETHERNET, &frame, original_len);
        }
    }
}
