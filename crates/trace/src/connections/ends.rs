//! The two ends of a connection: compared and hashed for every segment.

use gentle_wire::Address;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// Two IPv4 addresses in eight bytes.
#[inline]
pub(super) fn narrow(client: Address, server: Address) -> Option<u64> {
    if client.is_v4() && server.is_v4() {
        let last = |address: Address| u128::from_be_bytes(address.0) as u32;
        Some(u64::from(last(client)) << 32 | u64::from(last(server)))
    } else {
        None
    }
}

/// The addresses in [`narrow`]'s bytes.
pub(super) fn widen(addresses: u64) -> [Address; 2] {
    let [a, b, c, d, e, f, g, h] = addresses.to_be_bytes();
    [Address::v4([a, b, c, d]), Address::v4([e, f, g, h])]
}

/// Hashes addresses and ports, with a key of its own: nobody can choose addresses that collide.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndsHasher(DefaultHashBuilder);

impl EndsHasher {
    /// The same for both directions of a connection; 32 bits, which are enough to tell millions apart.
    #[inline]
    pub(crate) fn hash(&self, src: (Address, u16), dst: (Address, u16)) -> u32 {
        let hash = match narrow(src.0, dst.0) {
            Some(addresses) => {
                let from = addresses >> 32 << 16 | u64::from(src.1);
                let to = u64::from(addresses as u32) << 16 | u64::from(dst.1);
                self.0.hash_one((from.min(to), from.max(to)))
            }
            None => {
                let from = (u128::from_be_bytes(src.0.0), src.1);
                let to = (u128::from_be_bytes(dst.0.0), dst.1);
                self.0.hash_one((from.min(to), from.max(to)))
            }
        };
        (hash ^ hash >> 32) as u32
    }
}
