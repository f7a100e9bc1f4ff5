//! Keyed hash that assigns flows to queues.
//!
//! The kernel hashes the dissected headers with a secret key (`skb_get_hash`, SipHash) and scales the result to the
//! number of queues. Here a flow is a number already. It is mixed with a key drawn from the seed by the finaliser of
//! SplitMix64 (Stafford's variant 13), in which every input bit changes every output bit with probability one half.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A keyed hash from flows to queues.
#[derive(Debug, Clone, Copy)]
pub struct FlowHash {
    key: u64,
}

impl FlowHash {
    /// The initial hash of a scheme built with `seed`, for comparisons with another implementation.
    pub fn seeded(seed: u64) -> Self {
        Self::draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A hash with a key drawn from `rng`.
    pub(crate) fn draw(rng: &mut impl Rng) -> Self {
        FlowHash { key: rng.next_u64() }
    }

    /// The hash of `flow` (Linux: `skb_get_hash`).
    #[inline]
    pub fn value(self, flow: u64) -> u32 {
        let mut x = flow ^ self.key;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 32) as u32
    }

    /// The queue of `flow`, 0 to `queues` - 1 (Linux: `reciprocal_scale`).
    #[inline]
    pub fn queue(self, flow: u64, queues: u32) -> usize {
        ((u64::from(self.value(flow)) * u64::from(queues)) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_flows_spread_like_balls_into_bins() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..20 {
            let hash = FlowHash::draw(&mut rng);
            let mut queues = [0u32; 1024];
            for flow in 0..1024 {
                queues[hash.queue(flow, 1024)] += 1;
            }
            // n balls leave n/e of n bins empty: 377 of 1024, with a standard deviation of 10.
            let empty = queues.iter().filter(|n| **n == 0).count();
            assert!((327..427).contains(&empty), "{empty} of 1024 empty");
            assert!(*queues.iter().max().unwrap() < 12);
        }
    }

    #[test]
    fn another_key_separates_flows_that_collided() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        let first = FlowHash::draw(&mut rng);
        let second = FlowHash::draw(&mut rng);
        let collide = |hash: FlowHash, a, b| hash.queue(a, 16) == hash.queue(b, 16);
        let pairs: Vec<(u64, u64)> =
            (0..200u64).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|&(a, b)| collide(first, a, b)).collect();
        let again = pairs.iter().filter(|&&(a, b)| collide(second, a, b)).count();
        let share = again as f64 / pairs.len() as f64;
        assert!((0.04..0.09).contains(&share), "{share}, expected 1/16");
    }
}
