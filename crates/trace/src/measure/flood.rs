//! Detection of flooding addresses: many connections with hardly any data (spa-2018, section III).

use crate::table_size::{hash_table_bytes, hash_table_room, list_bytes_with_one_more};
use gentle_wire::Address;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::cmp::Reverse;
use std::hash::BuildHasher;

/// Smallest number of connections without data of a flooding address.
const FLOOD: u32 = 1_000;
/// Smallest ratio of connections without data to connections with data of a flooding address.
const FLOOD_RATIO: u64 = 1_000;
/// Smallest number of connections without data of a suspect, which is kept when memory is short.
const SUSPECT: u32 = 100;

/// Address with the number of its connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct Party {
    pub(super) address: Address,
    with_data: u32,
    without_data: u32,
    /// Whether the address was found to flood, now or earlier.
    caught: bool,
}

impl Party {
    /// Number of connections with and without data.
    pub(super) fn connections(&self) -> u32 {
        self.without_data.saturating_add(self.with_data)
    }

    fn floods(&self) -> bool {
        self.without_data >= FLOOD
            && u64::from(self.without_data) >= FLOOD_RATIO * u64::from(self.with_data)
    }

    /// Sort key: the most suspicious parties come first and are forgotten last.
    fn harmlessness(&self) -> (Reverse<u32>, Address) {
        (Reverse(self.without_data), self.address)
    }
}

/// All addresses seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Parties {
    hasher: DefaultHashBuilder,
    /// Indices into `parties`: a table of addresses would be five times larger, and most lookups go to memory.
    index: HashTable<u32>,
    parties: Vec<Party>,
    /// Number of flooding addresses forgotten for lack of memory.
    caught_and_forgotten: u64,
}

impl Parties {
    /// Counts a connection between `ends` and returns their places.
    pub(super) fn record(&mut self, ends: [Address; 2], has_data: bool) -> [u32; 2] {
        let places = ends.map(|address| self.place(address));
        let distinct = if places[0] == places[1] { 1 } else { 2 };
        for &place in &places[..distinct] {
            let party = &mut self.parties[place as usize];
            let count = if has_data {
                &mut party.with_data
            } else {
                &mut party.without_data
            };
            *count = count.saturating_add(1);
        }
        places
    }

    /// Marks the addresses that flood now; returns whether any does.
    pub(super) fn catch(&mut self) -> bool {
        let mut anybody = false;
        for party in &mut self.parties {
            let floods = party.floods();
            party.caught |= floods;
            anybody |= floods;
        }
        anybody
    }

    /// Whether the party at `place` floods.
    pub(super) fn floods(&self, place: u32) -> bool {
        self.parties[place as usize].floods()
    }

    /// Addresses found to flood so far and not forgotten since, those with most connections first.
    pub(super) fn caught(&self) -> Vec<&Party> {
        let mut caught: Vec<_> = self.all_caught().collect();
        caught.sort_unstable_by_key(|party| (Reverse(party.connections()), party.address));
        caught
    }

    /// Number of addresses found to flood so far. One that was forgotten and found again counts twice.
    pub(super) fn number_caught(&self) -> u64 {
        self.caught_and_forgotten + self.all_caught().count() as u64
    }

    fn all_caught(&self) -> impl Iterator<Item = &Party> {
        self.parties.iter().filter(|party| party.caught)
    }

    /// Forgets the parties that are far from flooding and, if more are left than fit into `bytes` with one connection more, the
    /// least suspicious of the others. The places of those that stay change.
    pub(super) fn forget_the_harmless(&mut self, bytes: usize) {
        let mut stay = std::mem::take(&mut self.parties);
        stay.retain(|party| party.without_data >= SUSPECT);
        let room = (bytes / 4 * 3 / (2 * size_of::<Party>()))
            .min(hash_table_room(bytes / 4, size_of::<u32>()).saturating_sub(2));
        if stay.len() > room {
            stay.select_nth_unstable_by_key(room, Party::harmlessness);
            let gone = stay.drain(room..);
            self.caught_and_forgotten += gone.filter(|party| party.caught).count() as u64;
        }
        self.index = HashTable::new();
        for party in stay {
            let place = self.place(party.address);
            self.parties[place as usize] = party;
        }
    }

    fn place(&mut self, address: Address) -> u32 {
        let Parties {
            hasher,
            index,
            parties,
            ..
        } = self;
        let entry = index.entry(
            hasher.hash_one(address),
            |&place| parties[place as usize].address == address,
            |&place| hasher.hash_one(parties[place as usize].address),
        );
        *entry
            .or_insert_with(|| {
                parties.push(Party {
                    address,
                    with_data: 0,
                    without_data: 0,
                    caught: false,
                });
                (parties.len() - 1) as u32
            })
            .get()
    }

    /// Memory after one more connection between new addresses, bytes.
    pub(super) fn bytes_with_one_more(&self) -> usize {
        hash_table_bytes(self.parties.len() + 2, size_of::<u32>())
            + list_bytes_with_one_more(&self.parties)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(i: u32) -> Address {
        Address::v4(i.to_be_bytes())
    }

    /// Clients with 0 to `n` - 1 connections without data each, all to one server with data.
    fn parties(n: u32) -> Parties {
        let mut parties = Parties::default();
        for i in 0..n {
            let [client, _] = parties.record([address(i), address(u32::MAX)], true);
            let party = &mut parties.parties[client as usize];
            party.with_data = 0;
            party.without_data = i;
        }
        parties
    }

    #[test]
    fn those_who_stay_fit_and_are_the_most_suspicious() {
        const ALL: u32 = 3_000;
        for bytes in (0..20_000).step_by(37).chain([100_000, 1 << 20]) {
            let mut parties = parties(ALL);
            parties.forget_the_harmless(bytes);
            let least = 4 * size_of::<Party>() + hash_table_bytes(2, size_of::<u32>());
            assert!(parties.bytes_with_one_more() <= bytes.max(least));
            let suspects = ALL - SUSPECT;
            let stay = parties.parties.len() as u32;
            // Lower bound of the number of parties that fit.
            let room = bytes / (4 * (size_of::<Party>() + 3 * size_of::<u32>()));
            assert!(stay >= suspects.min(room as u32), "{stay} in {bytes}");
            for i in 0..ALL {
                let party = parties.parties.iter().find(|p| p.address == address(i));
                let without_data = party.map(|party| party.without_data);
                assert_eq!(without_data, (i >= ALL - stay).then_some(i));
            }
            assert!(
                parties
                    .parties
                    .iter()
                    .all(|p| p.address != address(u32::MAX))
            );
        }
    }

    #[test]
    fn who_was_caught_is_counted_though_forgotten() {
        let mut parties = parties(FLOOD + 7);
        assert!(parties.catch());
        assert_eq!(parties.number_caught(), 7);
        parties.forget_the_harmless(4_000);
        assert_eq!(parties.number_caught(), 7);
        let most = parties.caught()[0].address;
        assert_eq!(most, address(FLOOD + 6));
        parties.forget_the_harmless(0);
        assert_eq!(parties.number_caught(), 7);
        assert!(parties.caught().is_empty());
        assert!(!parties.catch());
    }
}
