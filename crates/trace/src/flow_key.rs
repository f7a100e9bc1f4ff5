//! Flow keys: addresses and ports of both endpoints, computed and hashed for every segment.

use gentle_wire::{Address, PlainTcp};
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// Addresses and ports of both endpoints, lower endpoint first, so that both directions of a connection have equal
/// keys.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FlowKey {
    /// Two IPv4 addresses, or the index of two IPv6 addresses in the list of their owner.
    pub(crate) addresses: u64,
    pub(crate) ports: [u16; 2],
    /// Hash of addresses and ports; 32 bits suffice to distinguish millions of connections.
    pub(crate) hash: u32,
}

/// [`FlowKey`] of a segment with its direction.
pub(crate) struct DirectedKey {
    pub(crate) key: FlowKey,
    /// Whether the source is the lower endpoint.
    pub(crate) forward: bool,
    /// IPv6 addresses, lower endpoint first, that are yet to be stored; `None` for IPv4.
    pub(crate) v6: Option<[Address; 2]>,
}

/// Computes flow keys. The hash is seeded at random, so that nobody can choose addresses that collide.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowKeyHasher(DefaultHashBuilder);

impl FlowKeyHasher {
    /// Flow key of a segment from `src` to `dst`.
    #[inline]
    pub(crate) fn key(&self, src: (Address, u16), dst: (Address, u16)) -> DirectedKey {
        if let (Some(a), Some(b)) = (v4(src.0), v4(dst.0)) {
            return self.v4_key((a, src.1), (b, dst.1));
        }
        // Compared as numbers, in one step rather than byte by byte.
        let number = |(address, port): (Address, u16)| (u128::from_be_bytes(address.0), port);
        let forward = number(src) <= number(dst);
        let (lower, upper) = if forward { (src, dst) } else { (dst, src) };
        let (addresses, ports) = ([lower.0, upper.0], [lower.1, upper.1]);
        DirectedKey {
            key: FlowKey { addresses: 0, ports, hash: self.hash_v6(addresses, ports) },
            forward,
            v6: Some(addresses),
        }
    }

    /// Flow key of a plain IPv4 segment.
    #[inline(always)]
    pub(crate) fn of_plain_v4(&self, plain: &PlainTcp<'_, [u8; 4]>) -> DirectedKey {
        self.v4_key(
            (u32::from_be_bytes(plain.src), plain.tcp.src_port),
            (u32::from_be_bytes(plain.dst), plain.tcp.dst_port),
        )
    }

    /// Flow key of a plain IPv6 segment.
    #[inline]
    pub(crate) fn of_plain_v6(&self, plain: &PlainTcp<'_, [u8; 16]>) -> DirectedKey {
        self.key((Address(plain.src), plain.tcp.src_port), (Address(plain.dst), plain.tcp.dst_port))
    }

    #[inline(always)]
    fn v4_key(&self, src: (u32, u16), dst: (u32, u16)) -> DirectedKey {
        let from = u64::from(src.0) << 16 | u64::from(src.1);
        let to = u64::from(dst.0) << 16 | u64::from(dst.1);
        let (lower, upper) = (from.min(to), from.max(to));
        DirectedKey {
            key: FlowKey {
                addresses: lower >> 16 << 32 | upper >> 16,
                ports: [lower as u16, upper as u16],
                hash: self.hash_v4(lower, upper),
            },
            forward: from <= to,
            v6: None,
        }
    }

    /// Hash of the addresses and ports of a connection; `v6` has the addresses if they are IPv6.
    pub(crate) fn hash(&self, addresses: u64, ports: [u16; 2], v6: Option<[Address; 2]>) -> u32 {
        match v6 {
            None => {
                self.hash_v4(addresses >> 32 << 16 | u64::from(ports[0]), addresses << 32 >> 16 | u64::from(ports[1]))
            }
            Some(addresses) => self.hash_v6(addresses, ports),
        }
    }

    #[inline(always)]
    fn hash_v4(&self, lower: u64, upper: u64) -> u32 {
        fold(self.0.hash_one((lower, upper)))
    }

    #[inline]
    fn hash_v6(&self, addresses: [Address; 2], ports: [u16; 2]) -> u32 {
        // The hasher takes one step per number, but loops over bytes.
        let number = |address: Address| u128::from_ne_bytes(address.0);
        let (lower, upper) = (number(addresses[0]), number(addresses[1]));
        let ports = u32::from(ports[0]) << 16 | u32::from(ports[1]);
        fold(self.0.hash_one((lower, upper, ports)))
    }
}

#[inline]
fn fold(hash: u64) -> u32 {
    (hash ^ hash >> 32) as u32
}

#[inline]
fn v4(address: Address) -> Option<u32> {
    let [.., a, b, c, d] = address.0;
    address.is_v4().then(|| u32::from_be_bytes([a, b, c, d]))
}

/// The two IPv4 addresses in [`FlowKey::addresses`], lower endpoint first.
pub(crate) fn v4_pair(addresses: u64) -> [Address; 2] {
    let [a, b, c, d, e, f, g, h] = addresses.to_be_bytes();
    [Address::v4([a, b, c, d]), Address::v4([e, f, g, h])]
}
