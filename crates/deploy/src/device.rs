//! The name of a network device, and what a plan has to know of the link behind it.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The kernel's `IFNAMSIZ` less the final zero.
const LONGEST: usize = 15;

/// A name that a device can have (kernel: `dev_valid_name`), and that no program takes for an option.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Device(String);

impl Device {
    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The intermediate functional block through which the device's incoming packets are shaped.
    pub(crate) fn ingress(&self) -> Device {
        // The end of a name tells devices apart (wlan0, wlan1), so the beginning goes when it is too long.
        const PREFIX: &str = "in-";
        let surplus = (PREFIX.len() + self.0.len()).saturating_sub(LONGEST);
        let cut = (surplus..)
            .find(|&at| self.0.is_char_boundary(at))
            .unwrap_or(self.0.len());
        Device(format!("{PREFIX}{}", &self.0[cut..]))
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Why a text is not the name of a device.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{0}' is not the name of a network device; expected up to 15 bytes without blank, '/' or ':', as in eth0 (ip link lists them)"
)]
pub struct DeviceError(String);

impl FromStr for Device {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Device, DeviceError> {
        let allowed = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != ':';
        let valid = (1..=LONGEST).contains(&text.len())
            && text != "."
            && text != ".."
            && !text.starts_with('-')
            && text.chars().all(allowed);
        if valid {
            Ok(Device(text.to_owned()))
        } else {
            Err(DeviceError(text.to_owned()))
        }
    }
}

/// What a plan has to know of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Bytes of link-layer header that a queue sees of each packet: 14 for Ethernet, 0 for PPP and tunnels.
    ///
    /// A VLAN tag is not among them: Linux keeps it beside the packet until the device sends it.
    pub header: u32,
    /// The largest IP packet, in bytes.
    pub mtu: u32,
}

impl Link {
    /// Ethernet with its usual packets.
    pub const ETHERNET: Link = Link {
        header: 14,
        mtu: 1500,
    };

    /// The longest frame that a queue sees.
    pub(crate) fn frame(self) -> u64 {
        u64::from(self.header) + u64::from(self.mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::Device;

    #[test]
    fn names_are_those_that_the_kernel_allows() {
        for name in ["eth0", "br-lan", "eth0.5", "wlx00c0caabcdef", "öl"] {
            assert_eq!(name.parse::<Device>().unwrap().name(), name);
        }
        for name in [
            "",
            ".",
            "..",
            "a b",
            "eth0:1",
            "x/y",
            "-s",
            "sixteen-letters.",
        ] {
            assert!(name.parse::<Device>().is_err(), "{name}");
        }
    }

    #[test]
    fn the_ingress_device_has_a_name_that_fits() {
        for (name, ingress) in [("eth0", "in-eth0"), ("wlx00c0caabcdef", "in-00c0caabcdef")] {
            assert_eq!(name.parse::<Device>().unwrap().ingress().name(), ingress);
        }
        // Never cut within a letter.
        let umlauts: Device = "ööööööö".parse().unwrap();
        assert_eq!(umlauts.ingress().name(), "in-öööööö");
    }
}
