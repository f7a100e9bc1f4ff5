//! Sample of a trace's connections, by which two traces of the same traffic are recognised.

use crate::anonymize::Anonymizer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Number of connections in a sample. If a share `s` of the connections of two traces is in both, about `s` times as many
/// samples are (Broder, "On the resemblance and containment of documents", 1997).
const SIZE: usize = 32;

/// The connections with the smallest hashes of ports and initial sequence numbers, which are the same wherever a connection
/// is captured. Addresses have no part in it, so that a sample does not give them away.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Sample(BTreeSet<u64>);

impl Sample {
    /// Records a connection of which both initial sequence numbers are known; client first.
    pub(super) fn record(&mut self, isn: [u32; 2], ports: [u16; 2]) {
        let (client, server) = (u64::from(isn[0]), u64::from(isn[1]));
        let (from, to) = (u64::from(ports[0]), u64::from(ports[1]));
        // Multiplication by 2^64 divided by the golden ratio, and the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
        let mut hash = (client << 32 | server) ^ (from << 16 | to).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        let is_full = self.0.len() == SIZE;
        if is_full && self.0.last().is_some_and(|&largest| hash >= largest) {
            return;
        }
        if self.0.insert(hash) && is_full {
            self.0.pop_last();
        }
    }

    /// Replaces the hashes, so that only who has the same key can compare them.
    pub(crate) fn anonymize(&mut self, anonymizer: &Anonymizer) {
        let hashes = self.0.iter();
        self.0 = hashes.map(|hash| anonymizer.tag_number(&hash.to_le_bytes())).collect();
    }

    /// The hashes in the sample.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().copied().take(SIZE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_connections_are_found_in_proportion() {
        let sample = |from: u32, to: u32| {
            let mut sample = Sample::default();
            for n in from..to {
                sample.record([n, n.wrapping_mul(77_777)], [(n % 60_000) as u16, 443]);
            }
            assert_eq!(sample.hashes().count(), SIZE);
            sample.0
        };
        let common = |a, b| sample(0, a).intersection(&sample(b, b + a)).count();
        assert_eq!(common(10_000, 10_000), 0);
        assert_eq!(common(10_000, 0), SIZE);
        let half = common(10_000, 5_000);
        assert!((SIZE / 8..SIZE).contains(&half), "{half}");
    }
}
