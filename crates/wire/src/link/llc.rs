//! Logical link control (IEEE 802.2), with SNAP (RFC 1042) and without.

use super::{Layer, LinkType, NextLayer};
use crate::Skip;
use crate::captured::{Captured, be16};

/// Service access points (IANA, IEEE 802 Numbers): IP and SNAP.
const SAP_IP: u8 = 0x06;
const SAP_SNAP: u8 = 0xaa;
/// Control byte of unnumbered information (IEEE 802.2, 5.4.1), with poll bit clear.
pub(super) const UNNUMBERED_INFORMATION: u8 = 0x03;

/// Organisations whose protocol number is an EtherType: encapsulated Ethernet (RFC 1042) and bridge tunnel (IEEE
/// 802.1H).
const OUI_ETHERTYPE: [u8; 3] = [0, 0, 0];
const OUI_BRIDGE_TUNNEL: [u8; 3] = [0, 0, 0xf8];
/// IEEE 802.1, whose protocol numbers 1 and 7 stand for bridged Ethernet (RFC 2684, 5.2; RFC 2427, 4.2).
const OUI_BRIDGED: [u8; 3] = [0, 0x80, 0xc2];

/// Parses a header starting with its destination service access point.
pub(super) fn header(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<3>()?;
    match *h {
        [SAP_SNAP, SAP_SNAP, UNNUMBERED_INFORMATION] => {
            let layer = snap(at)?;
            // In ATM, two bytes of padding precede the Ethernet frame (RFC 2684, 5.2); no other network bridges
            // Ethernet in LLC.
            if layer == Layer::Link(LinkType::ETHERNET) {
                at.skip(2)?;
            }
            Ok(layer)
        }
        [SAP_IP, SAP_IP, UNNUMBERED_INFORMATION] => Ok(Layer::Ip),
        _ => Err(Skip::NotIp),
    }
}

/// Parses a SNAP header: organisation and protocol number.
pub(super) fn snap(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<5>()?;
    let protocol = be16(h[3], h[4]);
    match [h[0], h[1], h[2]] {
        OUI_ETHERTYPE | OUI_BRIDGE_TUNNEL => Ok(Layer::EtherType(protocol)),
        OUI_BRIDGED if matches!(protocol, 1 | 7) => Ok(Layer::Link(LinkType::ETHERNET)),
        _ => Err(Skip::NotIp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_protocols_are_not_ip() {
        for (what, frame) in [
            ("spanning tree", [0x42, 0x42, 3, 0, 0, 0, 0, 0]),
            ("Cisco discovery", [0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0]),
            ("numbered", [0x06, 0x06, 0, 0, 0x45, 0, 0, 0]),
        ] {
            let layer = header(&mut Captured::new(&frame, 8));
            assert_eq!(layer, Err(Skip::NotIp), "{what}");
        }
    }
}
