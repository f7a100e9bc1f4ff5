//! BSD pseudo link layers that name an address family: loopback, `enc` and `pflog`
//! (<https://www.tcpdump.org/linktypes.html>).

use super::{Layer, NextLayer};
use crate::Skip;
use crate::captured::Captured;

/// IPv4 on all systems.
const AF_INET: u32 = 2;
/// IPv6 on Linux; on NetBSD, OpenBSD and BSD/OS; on FreeBSD and DragonFly; on Darwin.
const AF_INET6: [u32; 4] = [10, 24, 28, 30];

/// Family in the byte order of the capturing machine, which only the value reveals.
pub(super) fn null(at: &mut Captured<'_>) -> NextLayer {
    let family = at.take::<4>()?;
    ip(either_order(*family))
}

/// Family in network byte order.
pub(super) fn loopback(at: &mut Captured<'_>) -> NextLayer {
    let family = at.take::<4>()?;
    ip(u32::from_be_bytes(*family))
}

/// `enc`: family in the byte order of the capturing machine, security parameter index, flags.
pub(super) fn enc(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<12>()?;
    ip(either_order([h[0], h[1], h[2], h[3]]))
}

/// `pflog`: a header that starts with its length, rounded up to a multiple of 4, and the family.
pub(super) fn pflog(at: &mut Captured<'_>) -> NextLayer {
    let h = at.peek::<2>()?;
    let len = usize::from(h[0]).next_multiple_of(4);
    if len < 4 {
        return Err(Skip::Malformed);
    }
    at.skip(len)?;
    ip(u32::from(h[1]))
}

/// Converts a family in unknown byte order: families are small numbers, so the smaller interpretation is right.
fn either_order(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes).min(u32::from_le_bytes(bytes))
}

fn ip(family: u32) -> NextLayer {
    if family == AF_INET || AF_INET6.contains(&family) { Ok(Layer::Ip) } else { Err(Skip::NotIp) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkType;
    use crate::captured::Captured;

    fn strip(link: LinkType, frame: &[u8]) -> NextLayer {
        super::super::strip_layer(Layer::Link(link), &mut Captured::new(frame, 100))
    }

    #[test]
    fn families_in_either_order() {
        for family in [2, 10, 24, 28, 30] {
            assert_eq!(strip(LinkType::NULL, &[family, 0, 0, 0]), Ok(Layer::Ip));
            assert_eq!(strip(LinkType::NULL, &[0, 0, 0, family]), Ok(Layer::Ip));
            assert_eq!(strip(LinkType::LOOP, &[0, 0, 0, family]), Ok(Layer::Ip));
            assert_eq!(strip(LinkType::LOOP, &[family, 0, 0, 0]), Err(Skip::NotIp));
        }
        assert_eq!(strip(LinkType::NULL, &[7, 0, 0, 0]), Err(Skip::NotIp));
    }

    #[test]
    fn a_pflog_header_has_a_length() {
        assert_eq!(strip(LinkType::PFLOG, &[0, 2, 0, 0]), Err(Skip::Malformed));
        assert_eq!(strip(LinkType::PFLOG, &[4, 2, 0, 0]), Ok(Layer::Ip));
        assert_eq!(strip(LinkType::PFLOG, &[61, 2, 0, 0]), Err(Skip::Truncated));
    }
}
