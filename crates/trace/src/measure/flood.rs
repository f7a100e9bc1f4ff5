//! Who floods: addresses with many connections and hardly any data (spa-2018, section III).

use crate::table_size::{hash_table_bytes, hash_table_room, list_bytes_with_one_more};
use gentle_wire::Address;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::cmp::Reverse;
use std::hash::BuildHasher;

/// An address floods if it has at least so many connections without data …
const FLOOD: u32 = 1_000;
/// … and so many times more of them than of those with data.
const FLOOD_RATIO: u64 = 1_000;
/// Addresses with fewer connections without data are not suspected.
const SUSPECT: u32 = 100;

/// An address and its connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct Party {
    pub(super) address: Address,
    with_data: u32,
    without_data: u32,
    /// It flooded at some time when that was asked.
    caught: bool,
}

impl Party {
    /// Its connections.
    pub(super) fn connections(&self) -> u32 {
        self.without_data.saturating_add(self.with_data)
    }

    fn floods(&self) -> bool {
        self.without_data >= FLOOD
            && u64::from(self.without_data) >= FLOOD_RATIO * u64::from(self.with_data)
    }

    /// Orders parties: those come first who are most suspicious, and so are forgotten last.
    fn harmlessness(&self) -> (Reverse<u32>, Address) {
        (Reverse(self.without_data), self.address)
    }
}

/// Every address seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Parties {
    hasher: DefaultHashBuilder,
    /// Places in `parties`: a table of addresses would be five times larger, and most looks into it go to memory.
    index: HashTable<u32>,
    parties: Vec<Party>,
    /// Of those caught, those for whom there was no memory.
    caught_and_forgotten: u64,
}

impl Parties {
    /// Counts a connection between `ends`; their places.
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

    /// Takes note of those that flood now, and says whether anybody does.
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

    /// Those caught so far, those with most connections first, but for those forgotten since.
    pub(super) fn caught(&self) -> Vec<&Party> {
        let mut caught: Vec<_> = self.all_caught().collect();
        caught.sort_unstable_by_key(|party| (Reverse(party.connections()), party.address));
        caught
    }

    /// How many were caught so far. Who was forgotten and is caught again counts again.
    pub(super) fn number_caught(&self) -> u64 {
        self.caught_and_forgotten + self.all_caught().count() as u64
    }

    fn all_caught(&self) -> impl Iterator<Item = &Party> {
        self.parties.iter().filter(|party| party.caught)
    }

    /// Forgets those that are far from flooding, and the farthest of the others if there are more than take `bytes` with
    /// one more. Who stays gets a new place.
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

    /// Memory with the ends of one more connection, bytes.
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

    /// Addresses of which each has one connection more than the one before, all to a server with data.
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
            // Of the bytes at most so many are left for nobody.
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
