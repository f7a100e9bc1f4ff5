//! The two ends of a connection: told apart and hashed for every segment.

use gentle_wire::{Address, PlainTcp};
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// Addresses and ports of both ends, always the lower end first: the same for both directions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ends {
    /// Two IPv4 addresses, or the place of two IPv6 addresses elsewhere.
    pub(crate) addresses: u64,
    pub(crate) ports: [u16; 2],
    /// Of all of it; 32 bits are enough to tell millions apart.
    pub(crate) hash: u32,
}

/// [`Ends`] of a segment as they were found.
pub(crate) struct Found {
    pub(crate) ends: Ends,
    /// Whether the source is the lower end.
    pub(crate) forward: bool,
    /// IPv6 addresses, the lower end's first, for which a place has to be found.
    pub(crate) wide: Option<[Address; 2]>,
}

/// Hashes ends with a key of its own: nobody can choose addresses that collide.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndsHasher(DefaultHashBuilder);

impl EndsHasher {
    /// The ends of a segment.
    #[inline]
    pub(crate) fn ends(&self, src: (Address, u16), dst: (Address, u16)) -> Found {
        if let (Some(a), Some(b)) = (v4(src.0), v4(dst.0)) {
            return self.v4_ends((a, src.1), (b, dst.1));
        }
        // As numbers they are compared at once, not byte by byte.
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

    /// The ends of a plain segment in IPv4.
    #[inline(always)]
    pub(crate) fn plain_v4(&self, plain: &PlainTcp<'_, [u8; 4]>) -> Found {
        self.v4_ends(
            (u32::from_be_bytes(plain.src), plain.tcp.src_port),
            (u32::from_be_bytes(plain.dst), plain.tcp.dst_port),
        )
    }

    /// The ends of a plain segment in IPv6.
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

    /// The hash of the ends of a connection; `wide` are its addresses if they are IPv6.
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
        // Numbers take the hasher a step each, bytes a loop.
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

/// The two IPv4 addresses of [`Ends::addresses`].
pub(super) fn widen(addresses: u64) -> [Address; 2] {
    let [a, b, c, d, e, f, g, h] = addresses.to_be_bytes();
    [Address::v4([a, b, c, d]), Address::v4([e, f, g, h])]
}
