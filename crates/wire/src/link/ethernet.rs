//! Ethernet (IEEE 802.3) and the tags and encapsulations between its addresses and IP.

use super::{Layer, LinkType, NextLayer, mpls, nsh, ppp};
use crate::Skip;
use crate::captured::{Captured, be16};
use crate::emit::{EmitError, room};

/// EtherTypes (IANA, IEEE 802 Numbers, unless stated otherwise).
pub(crate) mod ethertype {
    /// RFC 894.
    pub(crate) const IPV4: u16 = 0x0800;
    /// RFC 2464.
    pub(crate) const IPV6: u16 = 0x86dd;
    /// Customer VLAN tag (IEEE 802.1Q).
    pub(crate) const VLAN: u16 = 0x8100;
    /// Service VLAN tag (IEEE 802.1ad); also the backbone tag of IEEE 802.1ah.
    pub(crate) const SERVICE_VLAN: u16 = 0x88a8;
    /// Outer VLAN tags of switches from before IEEE 802.1ad.
    pub(crate) const QINQ: u16 = 0x9100;
    pub(crate) const QINQ_ALTERNATIVE: u16 = 0x9200;
    /// Service instance tag (IEEE 802.1ah).
    pub(crate) const BACKBONE_INSTANCE: u16 = 0x88e7;
    /// Port extender tag (IEEE 802.1BR); [`VN_TAG`] is Cisco's predecessor.
    pub(crate) const E_TAG: u16 = 0x893f;
    pub(crate) const VN_TAG: u16 = 0x8926;
    /// Cisco FabricPath: an Ethernet frame in an Ethernet frame (Wireshark, packet-cfp.c).
    pub(crate) const FABRIC_PATH: u16 = 0x8903;
    /// Security group tag of Cisco (draft-smith-kandula-sxp, "Cisco MetaData").
    pub(crate) const CISCO_METADATA: u16 = 0x8909;
    /// TRILL (RFC 6325).
    pub(crate) const TRILL: u16 = 0x22f3;
    /// MPLS label stacks (RFC 3032, RFC 5332).
    pub(crate) const MPLS: u16 = 0x8847;
    pub(crate) const MPLS_UPSTREAM: u16 = 0x8848;
    /// PPPoE session (RFC 2516).
    pub(crate) const PPPOE_SESSION: u16 = 0x8864;
    /// PPP.
    pub(crate) const PPP: u16 = 0x880b;
    /// Ethernet in another protocol (RFC 1701).
    pub(crate) const TRANSPARENT_BRIDGING: u16 = 0x6558;
    /// Frame Relay in another protocol (RFC 1701).
    pub(crate) const RAW_FRAME_RELAY: u16 = 0x6559;
    /// Switch tag of Marvell (Linux, `ETH_P_EDSA`).
    pub(crate) const EDSA: u16 = 0xdada;
    /// Network service header (RFC 8300).
    pub(crate) const NSH: u16 = 0x894f;
    /// MACsec (IEEE 802.1AE).
    pub(crate) const MACSEC: u16 = 0x88e5;
}

/// Bytes of a header without tags, and of a tag.
const HEADER: usize = 14;
const TAG: usize = 4;

/// An Ethernet header to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EthernetHeader<'a> {
    /// Destination address.
    pub dst: [u8; 6],
    /// Source address.
    pub src: [u8; 6],
    /// VLAN tags, the outermost first.
    pub tags: &'a [VlanTag],
    /// EtherType of the payload, such as [`EthernetHeader::IPV4`].
    pub ether_type: u16,
}

/// A VLAN tag (IEEE 802.1Q, 9.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlanTag {
    /// Whether this is a service tag (IEEE 802.1ad), the outer of two tags.
    pub service: bool,
    /// Tag control information: priority (3 bits), drop eligible (1 bit), VLAN identifier (12 bits).
    pub control: u16,
}

impl EthernetHeader<'_> {
    /// EtherType of IPv4 (RFC 894).
    pub const IPV4: u16 = ethertype::IPV4;
    /// EtherType of IPv6 (RFC 2464).
    pub const IPV6: u16 = ethertype::IPV6;
    /// Bytes of a header without tags.
    pub const UNTAGGED_LEN: usize = HEADER;

    /// Bytes of the header with its tags.
    #[inline]
    pub const fn header_len(&self) -> usize {
        HEADER + TAG * self.tags.len()
    }

    /// Writes the header, and returns its length.
    ///
    /// # Errors
    /// If `out` is too short.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, EmitError> {
        let len = self.header_len();
        let header = room(out, len)?;
        header[0..6].copy_from_slice(&self.dst);
        header[6..12].copy_from_slice(&self.src);
        let (tags, _) = header[12..].as_chunks_mut::<TAG>();
        for (to, tag) in tags.iter_mut().zip(self.tags) {
            let announced = match tag.service {
                true => ethertype::SERVICE_VLAN,
                false => ethertype::VLAN,
            };
            to[..2].copy_from_slice(&announced.to_be_bytes());
            to[2..].copy_from_slice(&tag.control.to_be_bytes());
        }
        header[len - 2..].copy_from_slice(&self.ether_type.to_be_bytes());
        Ok(len)
    }
}

const ETHERNET_LAYER: Layer = Layer::Link(LinkType::ETHERNET);

/// Largest value of the type field that is the length of an IEEE 802.2 packet (IEEE 802.3, 3.2.6).
const MAX_LENGTH: u16 = 1500;

/// IP packet in a frame without tags.
#[inline]
pub(crate) fn untagged_ip(mut at: Captured<'_>) -> Option<Captured<'_>> {
    let h = at.take::<14>().ok()?;
    match be16(h[12], h[13]) {
        ethertype::IPV4 | ethertype::IPV6 => Some(at),
        _ => None,
    }
}

/// Parses a frame starting with its destination address.
pub(super) fn frame(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<14>()?;
    Ok(length_or_type(be16(h[12], h[13])))
}

pub(super) fn length_or_type(field: u16) -> Layer {
    if field <= MAX_LENGTH { Layer::Llc } else { Layer::EtherType(field) }
}

/// Parses the payload of an EtherType.
pub(super) fn payload(ethertype: u16, at: &mut Captured<'_>) -> NextLayer {
    match ethertype {
        ethertype::IPV4 | ethertype::IPV6 => Ok(Layer::Ip),
        ethertype::VLAN | ethertype::SERVICE_VLAN | ethertype::QINQ | ethertype::QINQ_ALTERNATIVE => tag::<4>(at),
        ethertype::VN_TAG => tag::<6>(at),
        ethertype::E_TAG | ethertype::CISCO_METADATA | ethertype::EDSA => tag::<8>(at),
        ethertype::BACKBONE_INSTANCE => ethernet_after(4, at),
        ethertype::FABRIC_PATH => ethernet_after(2, at),
        ethertype::TRANSPARENT_BRIDGING => Ok(ETHERNET_LAYER),
        ethertype::TRILL => trill(at),
        ethertype::MPLS | ethertype::MPLS_UPSTREAM => mpls::stack(at),
        ethertype::PPPOE_SESSION => ppp::pppoe_session(at),
        ethertype::PPP => Ok(Layer::Link(LinkType::PPP)),
        ethertype::RAW_FRAME_RELAY => Ok(Layer::Link(LinkType::FRELAY)),
        ethertype::NSH => nsh::header(at),
        ethertype::MACSEC => macsec(at),
        _ => Err(Skip::NotIp),
    }
}

fn ethernet_after(len: usize, at: &mut Captured<'_>) -> NextLayer {
    at.skip(len)?;
    Ok(ETHERNET_LAYER)
}

/// Removes the `N` bytes of a tag after its EtherType; the last two are the next EtherType.
fn tag<const N: usize>(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<N>()?;
    Ok(length_or_type(be16(h[N - 2], h[N - 1])))
}

/// Removes a MACsec tag (IEEE 802.1AE, 9.3): control bits, short length, packet number, and the 8 bytes of a secure
/// channel identifier if a control bit says so. Frames with integrity protection only can be read, encrypted ones
/// cannot.
fn macsec(at: &mut Captured<'_>) -> NextLayer {
    const HAS_CHANNEL: u8 = 0x20;
    const ENCRYPTED_OR_CHANGED: u8 = 0x0c;
    let control = at.peek::<1>()?[0];
    if control & ENCRYPTED_OR_CHANGED != 0 {
        return Err(Skip::Encrypted);
    }
    match control & HAS_CHANNEL {
        0 => tag::<8>(at),
        _ => tag::<16>(at),
    }
}

/// Removes a TRILL header (RFC 6325, 3): 6 bytes and options, whose length in units of 4 bytes is in bits 5 to 9.
fn trill(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<6>()?;
    let options = usize::from((be16(h[0], h[1]) >> 6) & 0x1f) * 4;
    ethernet_after(options, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_testkit::frames::{ETHERNET, SEGMENT, cat};

    fn strip(frame: &[u8]) -> Result<&[u8], Skip> {
        let mut at = Captured::new(frame, frame.len() as u32);
        super::super::strip_layers(ETHERNET_LAYER, &mut at)?;
        Ok(at.bytes)
    }

    #[test]
    fn tags_may_be_stacked_in_any_order_and_number() {
        let tags = [&[0x88, 0xa8, 0, 1][..], &[0x81, 0, 0, 2], &[0x91, 0, 0, 3], &[0x92, 0, 0, 4]];
        let stack = [2, 0, 3, 1, 1, 0].map(|i| tags[i]).concat();
        let frame = cat(&[ETHERNET, &stack.repeat(300), &[8, 0], SEGMENT]);
        assert_eq!(strip(&frame), Ok(SEGMENT));
    }

    #[test]
    fn a_length_in_place_of_a_type_announces_llc() {
        let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        assert_eq!(strip(&cat(&[ETHERNET, &[0x05, 0xdc], &snap, SEGMENT])), Ok(SEGMENT));
        let tagged = cat(&[ETHERNET, &[0x81, 0, 0, 7, 0, 48], &snap, SEGMENT]);
        assert_eq!(strip(&tagged), Ok(SEGMENT));
        // 1501 to 1535 are neither lengths nor types.
        assert_eq!(strip(&cat(&[ETHERNET, &[0x05, 0xdd], &snap, SEGMENT])), Err(Skip::NotIp));
    }

    #[test]
    fn what_is_not_ip_says_so() {
        let arp = cat(&[ETHERNET, &[0x08, 0x06], &[0; 28]]);
        assert_eq!(strip(&arp), Err(Skip::NotIp));
        let pppoe_discovery = cat(&[ETHERNET, &[0x88, 0x63, 0x11, 9, 0, 0, 0, 0]]);
        assert_eq!(strip(&pppoe_discovery), Err(Skip::NotIp));
    }

    #[test]
    fn macsec_is_read_where_it_is_not_encrypted() {
        let tagged = |control, channel: &[u8]| {
            let number = [control, 0, 0, 0, 0, 1];
            cat(&[ETHERNET, &[0x88, 0xe5], &number, channel, &[8, 0], SEGMENT])
        };
        assert_eq!(strip(&tagged(0, &[])), Ok(SEGMENT));
        assert_eq!(strip(&tagged(0x20, &[7; 8])), Ok(SEGMENT));
        assert_eq!(strip(&tagged(0x2c, &[7; 8])), Err(Skip::Encrypted));
        assert_eq!(strip(&tagged(0x0c, &[])), Err(Skip::Encrypted));
    }

    #[test]
    fn trill_options_are_skipped() {
        let trill = cat(&[ETHERNET, &[0x22, 0xf3, 0x00, 0x80, 0, 1, 0, 2], &[0xee; 8], ETHERNET, &[8, 0], SEGMENT]);
        assert_eq!(strip(&trill), Ok(SEGMENT));
    }
}
