//! MPLS label stacks (RFC 3032). The labels do not say what they carry: that is guessed from its first bytes, as routers
//! do (RFC 4928, 2).

use super::{Layer, LinkType, Peeled};
use crate::Skip;
use crate::captured::Captured;

/// Bottom of stack, in the third byte of an entry.
const BOTTOM: u8 = 0x01;

pub(super) fn stack(at: &mut Captured<'_>) -> Peeled {
    loop {
        let entry = at.take::<4>()?;
        if entry[2] & BOTTOM != 0 {
            return payload(at);
        }
    }
}

fn payload(at: &mut Captured<'_>) -> Peeled {
    const ETHERNET: Layer = Layer::Link(LinkType::ETHERNET);
    let first = at.peek::<1>()?;
    match first[0] >> 4 {
        // An Ethernet pseudowire without control word may start with an address of this kind, but hardly goes on as a
        // header of IPv4 does.
        4 => {
            let h = at.peek::<4>()?;
            let total_len = u16::from_be_bytes([h[2], h[3]]);
            let is_ipv4 = h[0] & 0x0f >= 5 && (total_len == 0 || total_len >= 20);
            Ok(if is_ipv4 { Layer::Ip } else { ETHERNET })
        }
        6 => Ok(Layer::Ip),
        // Control word of a pseudowire (RFC 4385, 3), Ethernet being the only one that leads to IP; some pseudowires go
        // without (RFC 4448, 4.6) and their frames may start with these four bits too: then the four bytes skipped are
        // part of an address, and no known EtherType is found.
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
