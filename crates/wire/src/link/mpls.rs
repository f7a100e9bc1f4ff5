//! MPLS label stacks (RFC 3032). Labels do not identify the payload, so it is guessed from its first bytes, as routers
//! do (RFC 4928, 2).

use super::{Layer, LinkType, NextLayer};
use crate::Skip;
use crate::captured::Captured;

/// Bottom of stack, in the third byte of an entry.
const BOTTOM: u8 = 0x01;

pub(super) fn stack(at: &mut Captured<'_>) -> NextLayer {
    loop {
        let entry = at.take::<4>()?;
        if entry[2] & BOTTOM != 0 {
            return payload(at);
        }
    }
}

fn payload(at: &mut Captured<'_>) -> NextLayer {
    const ETHERNET: Layer = Layer::Link(LinkType::ETHERNET);
    let first = at.peek::<1>()?;
    match first[0] >> 4 {
        // An Ethernet pseudowire without control word may start with such an address, but is unlikely to continue like
        // an IPv4 header.
        4 => {
            let h = at.peek::<4>()?;
            let total_len = u16::from_be_bytes([h[2], h[3]]);
            let is_ipv4 = h[0] & 0x0f >= 5 && (total_len == 0 || total_len >= 20);
            Ok(if is_ipv4 { Layer::Ip } else { ETHERNET })
        }
        6 => Ok(Layer::Ip),
        // Control word of a pseudowire (RFC 4385, 3); only Ethernet pseudowires lead to IP. Some pseudowires have no
        // control word (RFC 4448, 4.6), and their frames may also start with these four bits: then the four bytes
        // skipped are part of an address, and no known EtherType is found.
        0 => match at.bytes.get(12..14) {
            Some([0x08, 0x00] | [0x86, 0xdd] | [0x81, 0x00]) => Ok(ETHERNET),
            _ => {
                at.skip(4)?;
                Ok(ETHERNET)
            }
        },
        // Associated channel (RFC 4385, 5): management.
        1 => Err(Skip::NotIp),
        _ => Ok(ETHERNET),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_testkit::frames::{ETHERNET as ADDRESSES, SEGMENT, cat};

    /// Layer after a bottom label followed by `payload`, and the number of bytes left.
    fn strip(payload: &[u8]) -> Result<(Layer, usize), Skip> {
        let frame = cat(&[&[0, 1, 1, 64], payload]);
        let mut at = Captured::new(&frame, frame.len() as u32);
        let layer = stack(&mut at)?;
        Ok((layer, at.bytes.len()))
    }

    #[test]
    fn the_payload_is_guessed() {
        const ETHERNET: Layer = Layer::Link(LinkType::ETHERNET);
        let frame = cat(&[ADDRESSES, &[8, 0], SEGMENT]);
        assert_eq!(strip(SEGMENT), Ok((Layer::Ip, 56)));
        assert_eq!(strip(&[0x60; 40]), Ok((Layer::Ip, 40)));
        assert_eq!(strip(&frame), Ok((ETHERNET, 70)));
        assert_eq!(strip(&cat(&[&[0; 4], &frame])), Ok((ETHERNET, 70)));
        assert_eq!(strip(&[0x10, 0, 0, 7, 0, 0]), Err(Skip::NotIp));
        // An address that starts like an IPv4 header.
        let mut like_ip = frame.clone();
        like_ip[..4].copy_from_slice(&[0x44, 0, 0, 40]);
        assert_eq!(strip(&like_ip), Ok((ETHERNET, 70)));
    }

    #[test]
    fn a_stack_without_bottom_ends_with_the_frame() {
        assert_eq!(stack(&mut Captured::new(&[0; 400], 400)), Err(Skip::Malformed));
        assert_eq!(stack(&mut Captured::new(&[0; 400], 800)), Err(Skip::Truncated));
    }
}
