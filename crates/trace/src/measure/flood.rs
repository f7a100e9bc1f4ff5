//! Detection of flooding addresses: many connections with hardly any data (spa-2018, section III).

use crate::table_size::{hash_table_bytes, hash_table_room, list_bytes_with_one_more};
use gentle_wire::Address;
use hashbrown::{DefaultHashBuilder, HashTable};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::hash::BuildHasher;

/// Smallest number of connections without data of a flooding address.
const FLOOD: u32 = 1_000;
/// Smallest ratio of connections without data to connections with data of a flooding address.
const FLOOD_RATIO: u64 = 1_000;
/// Smallest number of connections without data of a suspect, which is kept when memory is short.
const SUSPECT: u32 = 100;

/// Numbers of connections of an address.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddressCounts {
    #[serde(with = "crate::codec::address")]
    pub(super) address: Address,
    with_data: u32,
    without_data: u32,
    /// Whether the address was found to flood, now or earlier.
    is_flooder: bool,
}

impl AddressCounts {
    /// Number of connections with and without data.
    pub(super) fn connections(&self) -> u32 {
        self.without_data.saturating_add(self.with_data)
    }

    fn floods(&self) -> bool {
        self.without_data >= FLOOD && u64::from(self.without_data) >= FLOOD_RATIO * u64::from(self.with_data)
    }

    /// Sort key: the most suspicious addresses come first and are forgotten last.
    fn suspicion_key(&self) -> (Reverse<u32>, Address) {
        (Reverse(self.without_data), self.address)
    }
}

/// Counts of all addresses seen, and the flooding ones among them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FloodDetector {
    #[serde(skip)]
    hasher: DefaultHashBuilder,
    /// Indices into `addresses`: a table of the counts themselves would be five times larger, and most lookups go to
    /// memory.
    #[serde(skip)]
    index: HashTable<u32>,
    addresses: Vec<AddressCounts>,
    /// Number of flooding addresses forgotten for lack of memory.
    forgotten_flooders: u64,
}

impl FloodDetector {
    /// Counts a connection between two addresses and returns their places.
    pub(super) fn record(&mut self, addresses: [Address; 2], has_data: bool) -> [u32; 2] {
        let places = addresses.map(|address| self.place(address));
        let distinct = if places[0] == places[1] { 1 } else { 2 };
        for &place in &places[..distinct] {
            let counts = &mut self.addresses[place as usize];
            let count = if has_data { &mut counts.with_data } else { &mut counts.without_data };
            *count = count.saturating_add(1);
        }
        places
    }

    /// Adds the counts of another trace; returns the places that its addresses get here.
    pub(super) fn add(&mut self, other: &FloodDetector) -> Vec<u32> {
        self.forgotten_flooders = self.forgotten_flooders.saturating_add(other.forgotten_flooders);
        let mut places = Vec::with_capacity(other.addresses.len());
        for more in &other.addresses {
            let place = self.place(more.address);
            let counts = &mut self.addresses[place as usize];
            counts.with_data = counts.with_data.saturating_add(more.with_data);
            counts.without_data = counts.without_data.saturating_add(more.without_data);
            counts.is_flooder |= more.is_flooder;
            places.push(place);
        }
        places
    }

    /// Number of addresses.
    pub(super) fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Replaces all addresses. Nothing may be recorded afterwards.
    pub(super) fn replace(&mut self, replacement: impl Fn(Address) -> Address) {
        self.index = HashTable::new();
        for counts in &mut self.addresses {
            counts.address = replacement(counts.address);
        }
    }

    /// Marks the addresses that flood by the counts so far; returns whether any does.
    pub(super) fn mark_flooders(&mut self) -> bool {
        let mut any = false;
        for counts in &mut self.addresses {
            let floods = counts.floods();
            counts.is_flooder |= floods;
            any |= floods;
        }
        any
    }

    /// Whether the address at `place` floods by the counts so far.
    pub(super) fn floods(&self, place: u32) -> bool {
        self.addresses[place as usize].floods()
    }

    /// Addresses found to flood so far and not forgotten since, those with most connections first.
    pub(super) fn flooders(&self) -> Vec<&AddressCounts> {
        let mut flooders: Vec<_> = self.known_flooders().collect();
        flooders.sort_unstable_by_key(|counts| (Reverse(counts.connections()), counts.address));
        flooders
    }

    /// Number of addresses found to flood so far. One that was forgotten and found again counts twice.
    pub(super) fn flooder_count(&self) -> u64 {
        self.forgotten_flooders + self.known_flooders().count() as u64
    }

    fn known_flooders(&self) -> impl Iterator<Item = &AddressCounts> {
        self.addresses.iter().filter(|counts| counts.is_flooder)
    }

    /// Forgets the addresses that are far from flooding and, if more are left than fit into `bytes` with one connection
    /// more, the least suspicious of the others. The places of the addresses that stay change.
    pub(super) fn forget_benign(&mut self, bytes: usize) {
        let mut stay = std::mem::take(&mut self.addresses);
        stay.retain(|counts| counts.without_data >= SUSPECT);
        let room = (bytes / 4 * 3 / (2 * size_of::<AddressCounts>()))
            .min(hash_table_room(bytes / 4, size_of::<u32>()).saturating_sub(2));
        if stay.len() > room {
            stay.select_nth_unstable_by_key(room, AddressCounts::suspicion_key);
            let gone = stay.drain(room..);
            self.forgotten_flooders += gone.filter(|counts| counts.is_flooder).count() as u64;
        }
        self.index = HashTable::new();
        for counts in stay {
            let place = self.place(counts.address);
            self.addresses[place as usize] = counts;
        }
    }

    fn place(&mut self, address: Address) -> u32 {
        let FloodDetector { hasher, index, addresses, .. } = self;
        let entry = index.entry(
            hasher.hash_one(address),
            |&place| addresses[place as usize].address == address,
            |&place| hasher.hash_one(addresses[place as usize].address),
        );
        *entry
            .or_insert_with(|| {
                addresses.push(AddressCounts { address, with_data: 0, without_data: 0, is_flooder: false });
                (addresses.len() - 1) as u32
            })
            .get()
    }

    /// Memory after one more connection between new addresses, bytes.
    pub(super) fn bytes_with_one_more(&self) -> usize {
        hash_table_bytes(self.addresses.len() + 2, size_of::<u32>()) + list_bytes_with_one_more(&self.addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(i: u32) -> Address {
        Address::v4(i.to_be_bytes())
    }

    /// Clients with 0 to `n` - 1 connections without data each, all to one server with data.
    fn detector(n: u32) -> FloodDetector {
        let mut detector = FloodDetector::default();
        for i in 0..n {
            let [client, _] = detector.record([address(i), address(u32::MAX)], true);
            let counts = &mut detector.addresses[client as usize];
            counts.with_data = 0;
            counts.without_data = i;
        }
        detector
    }

    #[test]
    fn the_most_suspicious_addresses_are_kept_as_far_as_they_fit() {
        const ALL: u32 = 3_000;
        for bytes in (0..20_000).step_by(37).chain([100_000, 1 << 20]) {
            let mut detector = detector(ALL);
            detector.forget_benign(bytes);
            let least = 4 * size_of::<AddressCounts>() + hash_table_bytes(2, size_of::<u32>());
            assert!(detector.bytes_with_one_more() <= bytes.max(least));
            let suspects = ALL - SUSPECT;
            let stay = detector.addresses.len() as u32;
            // Lower bound of the number of addresses that fit.
            let room = bytes / (4 * (size_of::<AddressCounts>() + 3 * size_of::<u32>()));
            assert!(stay >= suspects.min(room as u32), "{stay} in {bytes}");
            for i in 0..ALL {
                let counts = detector.addresses.iter().find(|p| p.address == address(i));
                let without_data = counts.map(|counts| counts.without_data);
                assert_eq!(without_data, (i >= ALL - stay).then_some(i));
            }
            assert!(detector.addresses.iter().all(|p| p.address != address(u32::MAX)));
        }
    }

    #[test]
    fn forgotten_flooders_stay_counted() {
        let mut detector = detector(FLOOD + 7);
        assert!(detector.mark_flooders());
        assert_eq!(detector.flooder_count(), 7);
        detector.forget_benign(4_000);
        assert_eq!(detector.flooder_count(), 7);
        let most = detector.flooders()[0].address;
        assert_eq!(most, address(FLOOD + 6));
        detector.forget_benign(0);
        assert_eq!(detector.flooder_count(), 7);
        assert!(detector.flooders().is_empty());
        assert!(!detector.mark_flooders());
    }
}
