//! Flow key of a connection: addresses and ports of both ends, computed and hashed for every segment.

use gentle_wire::{Address, PlainTcp};
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// Addresses and ports of both ends, lower end first, so that both directions are equal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ends {
    /// Two IPv4 addresses, or the index of two IPv6 addresses in a list elsewhere.
    pub(crate) addresses: u64,
    pub(crate) ports: [u16; 2],
    /// Hash of addresses and ports; 32 bits suffice to tell millions of connections apart.
    pub(crate) hash: u32,
}

/// [`Ends`] of a segment with its direction.
pub(crate) struct Found {
    pub(crate) ends: Ends,
    /// Whether the source is the lower end.
    pub(crate) forward: bool,
    /// IPv6 addresses, lower end first, that are yet to be stored.
    pub(crate) wide: Option<[Address; 2]>,
}

/// Hasher of flow keys with a random key, so that nobody can choose addresses that collide.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndsHasher(DefaultHashBuilder);

impl EndsHasher {
    /// Ends of a segment.
    #[inline]
    pub(crate) fn ends(&self, src: (Address, u16), dst: (Address, u16)) -> Found {
        if let (Some(a), Some(b)) = (v4(src.0), v4(dst.0)) {
            return self.v4_ends((a, src.1), (b, dst.1));
        }
        // Compared as numbers, in one step rather than byte by byte.
        let number = |(address, port): (Address, u16)| (u128::from_be_bytes(address.0), port);
        let forward = number(src) <= number(dst);
        let (lower, upper) = if forward { (src, dst) } else { (dst, src) };
        let (addresses, ports) = ([lower.0, upper.0], [lower.1, upper.1]);
        Found {
            ends: Ends {
                addresses: 0,
                ports,
                hash: self.of_wide(addresses, ports),
            },
            forward,
            wide: Some(addresses),
        }
    }

    /// Ends of a plain IPv4 segment.
    #[inline(always)]
    pub(crate) fn plain_v4(&self, plain: &PlainTcp<'_, [u8; 4]>) -> Found {
        self.v4_ends(
            (u32::from_be_bytes(plain.src), plain.tcp.src_port),
            (u32::from_be_bytes(plain.dst), plain.tcp.dst_port),
        )
    }

    /// Ends of a plain IPv6 segment.
    #[inline]
    pub(crate) fn plain_v6(&self, plain: &PlainTcp<'_, [u8; 16]>) -> Found {
        self.ends(
            (Address(plain.src), plain.tcp.src_port),
            (Address(plain.dst), plain.tcp.dst_port),
        )
    }

    #[inline(always)]
    fn v4_ends(&self, src: (u32, u16), dst: (u32, u16)) -> Found {
        let from = u64::from(src.0) << 16 | u64::from(src.1);
        let to = u64::from(dst.0) << 16 | u64::from(dst.1);
        let (lower, upper) = (from.min(to), from.max(to));
        Found {
            ends: Ends {
                addresses: lower >> 16 << 32 | upper >> 16,
                ports: [lower as u16, upper as u16],
                hash: self.of_v4(lower, upper),
            },
            forward: from <= to,
            wide: None,
        }
    }

    /// Hash of the ends of a connection; `wide` has the addresses if they are IPv6.
    pub(super) fn hash(&self, addresses: u64, ports: [u16; 2], wide: Option<[Address; 2]>) -> u32 {
        match wide {
            None => self.of_v4(
                addresses >> 32 << 16 | u64::from(ports[0]),
                addresses << 32 >> 16 | u64::from(ports[1]),
            ),
            Some(addresses) => self.of_wide(addresses, ports),
        }
    }

    #[inline(always)]
    fn of_v4(&self, lower: u64, upper: u64) -> u32 {
        folded(self.0.hash_one((lower, upper)))
    }

    #[inline]
    fn of_wide(&self, addresses: [Address; 2], ports: [u16; 2]) -> u32 {
        // The hasher takes one step per number, but loops over bytes.
        let [lower, upper] = addresses.map(|address| u128::from_ne_bytes(address.0));
        let ports = u32::from(ports[0]) << 16 | u32::from(ports[1]);
        folded(self.0.hash_one((lower, upper, ports)))
    }
}

#[inline]
fn folded(hash: u64) -> u32 {
    (hash ^ hash >> 32) as u32
}

#[inline]
fn v4(address: Address) -> Option<u32> {
    let [.., a, b, c, d] = address.0;
    address.is_v4().then(|| u32::from_be_bytes([a, b, c, d]))
}

/// Converts [`Ends::addresses`] to two IPv4 addresses.
pub(super) fn widen(addresses: u64) -> [Address; 2] {
    let [a, b, c, d, e, f, g, h] = addresses.to_be_bytes();
    [Address::v4([a, b, c, d]), Address::v4([e, f, g, h])]
}
