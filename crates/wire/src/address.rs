//! IP addresses of both versions in one representation.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 or IPv6 address in 16 bytes; IPv4 is stored as IPv4-mapped IPv6 (RFC 4291, 2.5.5.2), so that both versions
/// are compared, hashed and ordered in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address(pub [u8; 16]);

impl Address {
    /// Creates an address from the four bytes in an IPv4 header.
    #[inline]
    pub const fn v4(b: [u8; 4]) -> Address {
        const PREFIX: u128 = 0xffff << 32;
        Address((PREFIX | u32::from_be_bytes(b) as u128).to_be_bytes())
    }

    /// Whether the address is an IPv4 address.
    #[inline]
    pub const fn is_v4(&self) -> bool {
        // Little-endian, so that most processors need no byte swap.
        let bytes = u128::from_le_bytes(self.0);
        bytes as u64 == 0 && (bytes >> 64) as u32 == 0xffff_0000
    }
}

impl From<Address> for IpAddr {
    fn from(address: Address) -> IpAddr {
        Ipv6Addr::from(address.0).to_canonical()
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Address {
        match address {
            IpAddr::V4(v4) => v4.into(),
            IpAddr::V6(v6) => Address(v6.octets()),
        }
    }
}

impl From<Ipv4Addr> for Address {
    fn from(address: Ipv4Addr) -> Address {
        Address::v4(address.octets())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        IpAddr::from(*self).fmt(f)
    }
}
