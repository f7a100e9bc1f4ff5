//! Network devices.

use super::attribute::{self, Attribute};
use super::error::NetlinkError;
use super::socket::Netlink;
use crate::device::{Device, Link};
use gentle_netlink::{text, word};

const RTM_GETLINK: u16 = 18;
const IFINFO_HEADER: usize = 16;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_IFALIAS: u16 = 20;
const IFLA_NUM_TX_QUEUES: u16 = 31;
/// Within `IFLA_LINKINFO`.
const IFLA_INFO_KIND: u16 = 1;

const IFF_UP: u32 = 1;

const ARPHRD_ETHER: u16 = 1;
const ARPHRD_LOOPBACK: u16 = 772;

/// Devices whose packets have an Ethernet header in the queue.
const WITH_ETHERNET_HEADER: [u16; 2] = [ARPHRD_ETHER, ARPHRD_LOOPBACK];
const ETHERNET_HEADER: u32 = 14;

/// Properties of an existing device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) index: u32,
    /// Present name; a device keeps its index when it is renamed.
    pub(crate) name: String,
    /// Kind of a virtual device, such as `ifb`; empty for hardware.
    pub(crate) kind: String,
    /// Whether the device is up, so that packets pass it.
    pub(crate) up: bool,
    pub(crate) loopback: bool,
    pub(crate) link: Link,
    /// Link-layer address; empty if the device has none.
    pub(crate) address: Vec<u8>,
    pub(crate) alias: Option<String>,
    /// Number of transmit queues.
    pub(crate) transmit_queues: u32,
    /// Length of the transmit queue, packets.
    pub(crate) txqueuelen: u32,
}

/// Looks up a device by name; `None` if it does not exist.
pub(crate) fn interface(netlink: &mut Netlink, device: &Device) -> Result<Option<Interface>, NetlinkError> {
    let mut list = interfaces(netlink)?.into_iter();
    Ok(list.find(|interface| interface.name == device.name()))
}

/// All devices of the network namespace.
pub(crate) fn interfaces(netlink: &mut Netlink) -> Result<Vec<Interface>, NetlinkError> {
    let list = netlink.dump(RTM_GETLINK, &[0; IFINFO_HEADER], "the list of devices")?;
    Ok(list.iter().filter_map(|bytes| parse(bytes)).collect())
}

fn parse(bytes: &[u8]) -> Option<Interface> {
    let attributes = Attribute::all(bytes.get(IFINFO_HEADER..)?);
    let number = |kind| word(attribute::find(&attributes, kind)?, 0);
    let hardware = u16::from_ne_bytes(*bytes.get(2..)?.first_chunk()?);
    let flags = word(bytes, 8)?;
    let information = attribute::find(&attributes, IFLA_LINKINFO).unwrap_or_default();
    let information = Attribute::all(information);
    Some(Interface {
        index: word(bytes, 4)?,
        name: attribute::find(&attributes, IFLA_IFNAME).map(text)?,
        kind: attribute::find(&information, IFLA_INFO_KIND).map(text).unwrap_or_default(),
        up: flags & IFF_UP != 0,
        loopback: hardware == ARPHRD_LOOPBACK,
        address: attribute::find(&attributes, IFLA_ADDRESS).unwrap_or_default().to_owned(),
        link: Link {
            header: match WITH_ETHERNET_HEADER.contains(&hardware) {
                true => ETHERNET_HEADER,
                false => 0,
            },
            mtu: number(IFLA_MTU)?,
        },
        alias: attribute::find(&attributes, IFLA_IFALIAS).map(text),
        transmit_queues: number(IFLA_NUM_TX_QUEUES).unwrap_or(1),
        txqueuelen: number(IFLA_TXQLEN).unwrap_or_default(),
    })
}
