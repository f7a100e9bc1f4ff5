//! Network devices.

use super::attribute::{self, Attribute};
use super::error::NetlinkError;
use super::socket::Netlink;
use crate::device::{Device, Link};

const RTM_GETLINK: u16 = 18;
const IFINFO_HEADER: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_IFALIAS: u16 = 20;

/// `ARPHRD_ETHER` and `ARPHRD_LOOPBACK`: devices whose packets have an Ethernet header in the queue.
const WITH_ETHERNET_HEADER: [u16; 2] = [1, 772];
const ETHERNET_HEADER: u32 = 14;

/// Properties of an existing device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) index: u32,
    pub(crate) link: Link,
    pub(crate) alias: Option<String>,
}

/// Looks up a device by name; `None` if it does not exist.
pub(crate) fn interface(
    netlink: &mut Netlink,
    device: &Device,
) -> Result<Option<Interface>, NetlinkError> {
    let list = interfaces(netlink)?;
    let mut found = list.into_iter().filter(|(name, _)| name == device.name());
    Ok(found.next().map(|(_, interface)| interface))
}

/// All devices of the network namespace with their names.
pub(crate) fn interfaces(netlink: &mut Netlink) -> Result<Vec<(String, Interface)>, NetlinkError> {
    let list = netlink.dump(RTM_GETLINK, &[0; IFINFO_HEADER], "the list of devices")?;
    Ok(list.iter().filter_map(|bytes| parse(bytes)).collect())
}

fn parse(bytes: &[u8]) -> Option<(String, Interface)> {
    let attributes = Attribute::all(bytes.get(IFINFO_HEADER..)?);
    let name = attribute::find(&attributes, IFLA_IFNAME).map(attribute::text)?;
    let hardware = u16::from_ne_bytes(*bytes.get(2..)?.first_chunk()?);
    let mtu = attribute::find(&attributes, IFLA_MTU)?;
    let interface = Interface {
        index: u32::from_ne_bytes(*bytes.get(4..)?.first_chunk()?),
        link: Link {
            header: match WITH_ETHERNET_HEADER.contains(&hardware) {
                true => ETHERNET_HEADER,
                false => 0,
            },
            mtu: u32::from_ne_bytes(*mtu.first_chunk()?),
        },
        alias: attribute::find(&attributes, IFLA_IFALIAS).map(attribute::text),
    };
    Some((name, interface))
}
