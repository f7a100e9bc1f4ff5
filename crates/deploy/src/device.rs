//! Names of network devices, and the link properties that a plan depends on.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Maximum length, bytes: the kernel's `IFNAMSIZ` less the terminating zero.
const MAX_LEN: usize = 15;

/// Valid name of a device (kernel: `dev_valid_name`) that no program mistakes for an option.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Device(String);

impl Device {
    /// Name as text.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Intermediate functional block (ifb) through which the device's incoming packets are shaped.
    pub(crate) fn ingress(&self) -> Device {
        // The end of a name distinguishes devices (wlan0, wlan1), so a long name is cut at the beginning.
        const PREFIX: &str = "in-";
        let surplus = (PREFIX.len() + self.0.len()).saturating_sub(MAX_LEN);
        let cut = (surplus..).find(|&at| self.0.is_char_boundary(at)).unwrap_or(self.0.len());
        Device(format!("{PREFIX}{}", &self.0[cut..]))
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Error of parsing the name of a device.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{0}' is not the name of a network device; expected up to 15 bytes without blanks, '/' or ':', such as eth0 (ip link lists the existing ones)"
)]
pub struct DeviceError(String);

impl FromStr for Device {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Device, DeviceError> {
        let allowed = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != ':';
        let valid = (1..=MAX_LEN).contains(&text.len())
            && text != "."
            && text != ".."
            && !text.starts_with('-')
            && text.chars().all(allowed);
        if valid { Ok(Device(text.to_owned())) } else { Err(DeviceError(text.to_owned())) }
    }
}

/// Properties of a link that a plan depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Link-layer header of each packet as a queue counts it, bytes: 14 for Ethernet, 0 for PPP and tunnels.
    ///
    /// VLAN tags are not included: Linux keeps them in the packet's metadata until the device sends it.
    pub header: u32,
    /// Largest IP packet, bytes.
    pub mtu: u32,
}

impl Link {
    /// Ethernet with the usual MTU.
    pub const ETHERNET: Link = Link { header: 14, mtu: 1500 };

    /// Longest frame as a queue counts it, bytes.
    pub(crate) fn frame(self) -> u64 {
        u64::from(self.header) + u64::from(self.mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::Device;

    #[test]
    fn names_are_valid_as_in_the_kernel() {
        for name in ["eth0", "br-lan", "eth0.5", "wlx00c0caabcdef", "öl"] {
            assert_eq!(name.parse::<Device>().unwrap().name(), name);
        }
        for name in ["", ".", "..", "a b", "eth0:1", "x/y", "-s", "sixteen-letters."] {
            assert!(name.parse::<Device>().is_err(), "{name}");
        }
    }

    #[test]
    fn the_ingress_device_has_a_name_that_fits() {
        for (name, ingress) in [("eth0", "in-eth0"), ("wlx00c0caabcdef", "in-00c0caabcdef")] {
            assert_eq!(name.parse::<Device>().unwrap().ingress().name(), ingress);
        }
        // Names are cut at character boundaries only.
        let umlauts: Device = "ööööööö".parse().unwrap();
        assert_eq!(umlauts.ingress().name(), "in-öööööö");
    }
}
