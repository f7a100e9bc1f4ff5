//! Linux cooked captures, as on the device `any`
//! (<https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html> and `LINKTYPE_LINUX_SLL2.html`).

use super::{Layer, LinkType, NextLayer};
use crate::Skip;
use crate::captured::{Captured, be16};

/// Device types whose protocol field does not identify the payload (Linux, `include/uapi/linux/if_arp.h`).
const ARPHRD_FRAD: u16 = 770;
const ARPHRD_IEEE80211: u16 = 801;
const ARPHRD_IEEE80211_PRISM: u16 = 802;
const ARPHRD_IEEE80211_RADIOTAP: u16 = 803;
const ARPHRD_NETLINK: u16 = 824;

/// IEEE 802.2 (Linux, `include/uapi/linux/if_ether.h`).
const ETH_P_802_2: u16 = 4;
/// Smallest protocol number that is an EtherType (`ETH_P_802_3_MIN` in `include/uapi/linux/if_ether.h`).
const ETH_P_802_3_MIN: u16 = 0x0600;

pub(super) fn v1(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<16>()?;
    payload(be16(h[2], h[3]), be16(h[14], h[15]))
}

pub(super) fn v2(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<20>()?;
    payload(be16(h[8], h[9]), be16(h[0], h[1]))
}

fn payload(device_type: u16, protocol: u16) -> NextLayer {
    match (device_type, protocol) {
        (ARPHRD_NETLINK, _) => Err(Skip::NotIp),
        (ARPHRD_FRAD, _) => Ok(Layer::Link(LinkType::FRELAY)),
        (ARPHRD_IEEE80211, _) => Ok(Layer::Link(LinkType::IEEE802_11)),
        (ARPHRD_IEEE80211_PRISM, _) => Ok(Layer::Link(LinkType::IEEE802_11_PRISM)),
        (ARPHRD_IEEE80211_RADIOTAP, _) => Ok(Layer::Link(LinkType::IEEE802_11_RADIOTAP)),
        (_, ETH_P_802_2) => Ok(Layer::Llc),
        (_, 0..ETH_P_802_3_MIN) => Err(Skip::NotIp),
        (_, ethertype) => Ok(Layer::EtherType(ethertype)),
    }
}
