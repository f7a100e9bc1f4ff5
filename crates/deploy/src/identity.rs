//! Identity of devices: whether a device is the one of a saved state, though it may have been renamed, or is another one
//! that was given the interface index of a deleted device (`ip link add index`).

use crate::netlink::Interface;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Properties of a device by which it is recognized again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Interface index.
    pub(crate) index: u32,
    /// Name at the time.
    pub(crate) name: String,
    /// Link-layer address at the time; empty if the device has none.
    address: Vec<u8>,
    /// Inode number of its directory in sysfs, which a rename does not change and no later device gets until the
    /// machine is turned off (fs/kernfs/dir.c: `idr_alloc_cyclic`); `None` if it is unknown whether sysfs shows this device.
    node: Option<u64>,
}

impl Identity {
    pub(crate) fn of(interface: &Interface) -> Identity {
        Identity {
            index: interface.index,
            name: interface.name.clone(),
            address: interface.address.clone(),
            node: node(interface),
        }
    }

    /// Whether `interface` is this device. Without sysfs, a device with the index is taken for the same if its name or
    /// its address is.
    pub(crate) fn is(&self, interface: &Interface) -> bool {
        let now = Identity::of(interface);
        self.index == now.index
            && match (self.node, now.node) {
                (Some(node), Some(now)) => node == now,
                _ => self.name == now.name || has_address(interface) && self.address == now.address,
            }
    }

    /// Whether `interface` has the index of this device and is another one, without any doubt.
    pub(crate) fn is_not(&self, interface: &Interface) -> bool {
        let now = Identity::of(interface);
        let differ = |(then, now): (u64, u64)| then != now;
        self.index == now.index && self.node.zip(now.node).is_some_and(differ)
    }

    /// Whether `interface` is this device, or was created in its place with its index and name.
    pub(crate) fn is_or_replaced_by(&self, interface: &Interface) -> bool {
        let replaced = self.index == interface.index && self.name == interface.name;
        replaced || self.is(interface)
    }
}

fn has_address(interface: &Interface) -> bool {
    interface.address.iter().any(|byte| *byte != 0)
}

fn node(interface: &Interface) -> Option<u64> {
    let directory = Path::new("/sys/class/net").join(&interface.name);
    let read = |file| fs::read_to_string(directory.join(file)).ok();
    // The mounted sysfs may show the devices of another namespace, which differ by their addresses, if they have any.
    if !has_address(interface) {
        return None;
    }
    let address: Vec<String> = interface.address.iter().map(|b| format!("{b:02x}")).collect();
    let same = read("ifindex")?.trim() == interface.index.to_string() && read("address")?.trim() == address.join(":");
    same.then(|| fs::metadata(&directory).ok().map(|directory| directory.ino()))?
}

#[cfg(test)]
mod tests {
    use super::Identity;
    use crate::device::Link;
    use crate::netlink::Interface;

    fn interface(index: u32, name: &str, address: &[u8]) -> Interface {
        Interface {
            index,
            name: name.to_owned(),
            kind: String::new(),
            up: true,
            loopback: false,
            link: Link::ETHERNET,
            address: address.to_owned(),
            alias: None,
            transmit_queues: 1,
            txqueuelen: 0,
        }
    }

    /// Every network namespace has such a device.
    #[test]
    fn a_device_without_address_is_not_looked_up() {
        assert_eq!(Identity::of(&interface(1, "lo", &[0; 6])).node, None);
    }

    #[test]
    fn without_sysfs_a_name_or_an_address_tells() {
        let known = Identity::of(&interface(4_000_000, "no-such-wan", &[2, 0, 0, 0, 0, 1]));
        assert_eq!(known.node, None);
        for (same, index, name, address) in [
            (true, 4_000_000, "no-such-wan", &[2, 0, 0, 0, 0, 1]),
            (true, 4_000_000, "no-such-lan", &[2, 0, 0, 0, 0, 1]),
            (true, 4_000_000, "no-such-wan", &[2, 0, 0, 0, 0, 2]),
            (false, 4_000_000, "no-such-lan", &[2, 0, 0, 0, 0, 2]),
            (false, 4_000_001, "no-such-wan", &[2, 0, 0, 0, 0, 1]),
        ] {
            assert_eq!(known.is(&interface(index, name, address)), same, "{name}");
        }
        for address in [&[][..], &[0; 6]] {
            let tunnel = Identity::of(&interface(4_000_000, "no-such-tun", address));
            assert!(!tunnel.is(&interface(4_000_000, "no-such-ppp", address)));
        }
    }
}
