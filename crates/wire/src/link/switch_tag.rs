//! Tags by which an Ethernet switch and the processor behind it exchange the switch's port, as in captures of a
//! router's own interface (Linux, `net/dsa`; <https://www.tcpdump.org/linktypes/LINKTYPE_DSA_TAG_DSA.html> and the
//! pages of its neighbours).

use super::{NextLayer, ethernet};
use crate::captured::{Captured, be16};

/// Bytes of the two addresses of an Ethernet frame.
const ADDRESSES: usize = 12;
/// Bytes of a tag of Broadcom before the addresses (Linux, `net/dsa/tag_brcm.c`).
const PREPENDED: usize = 4;

/// Tag after the addresses, `N` bytes with the type of the payload behind it: four bytes of Broadcom or Marvell
/// (`net/dsa/tag_brcm.c`, `net/dsa/tag_dsa.c`), or eight of Marvell with an EtherType (EDSA).
///
/// A VLAN tag that was converted to a tag of Marvell is gone; one that was not follows it.
pub(super) fn inserted<const N: usize>(at: &mut Captured<'_>) -> NextLayer {
    at.skip(ADDRESSES)?;
    let h = at.take::<N>()?;
    Ok(ethernet::length_or_type(be16(h[N - 2], h[N - 1])))
}

/// Tag of Broadcom before the addresses.
pub(super) fn prepended(at: &mut Captured<'_>) -> NextLayer {
    at.skip(PREPENDED)?;
    ethernet::frame(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkType, Skip};
    use gentle_testkit::frames::{ETHERNET, SEGMENT, cat};

    fn strip(link: LinkType, frame: &[u8]) -> Result<&[u8], Skip> {
        let mut at = Captured::new(frame, frame.len() as u32);
        super::super::strip_layers(super::super::Layer::Link(link), &mut at)?;
        Ok(at.bytes)
    }

    #[test]
    fn tags_stand_before_or_behind_the_addresses() {
        let [four, eight] = [&[0xc0, 0x08, 0, 5][..], &[0xda, 0xda, 0, 0, 0xc0, 8, 0, 5]];
        for (link, frame) in [
            (LinkType::DSA_TAG_BRCM, [ETHERNET, four, &[8, 0]].concat()),
            (LinkType::DSA_TAG_DSA, [ETHERNET, four, &[8, 0]].concat()),
            (LinkType::DSA_TAG_EDSA, [ETHERNET, eight, &[8, 0]].concat()),
            (LinkType::DSA_TAG_BRCM_PREPEND, [four, ETHERNET, &[8, 0]].concat()),
            // A capture of an older system has the tag in frames of the link type Ethernet.
            (LinkType::ETHERNET, [ETHERNET, eight, &[8, 0]].concat()),
        ] {
            assert_eq!(strip(link, &cat(&[&frame, SEGMENT])), Ok(SEGMENT), "{link}");
            let cut = &frame[..frame.len() - 1];
            assert_eq!(strip(link, cut), Err(Skip::Malformed), "{link}");
        }
    }

    #[test]
    fn a_vlan_tag_and_a_length_may_follow() {
        let vlan = [ETHERNET, &[0, 0, 0, 5], &[0x81, 0, 0, 7, 8, 0], SEGMENT];
        assert_eq!(strip(LinkType::DSA_TAG_DSA, &cat(&vlan)), Ok(SEGMENT));
        let snap = [0, 64, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        let length = [ETHERNET, &[0, 0, 0, 5], &snap, SEGMENT];
        assert_eq!(strip(LinkType::DSA_TAG_BRCM, &cat(&length)), Ok(SEGMENT));
        let arp = [ETHERNET, &[0, 0, 0, 5, 8, 6], &[0; 28]];
        assert_eq!(strip(LinkType::DSA_TAG_DSA, &cat(&arp)), Err(Skip::NotIp));
    }
}
