//! Who floods: addresses with many connections and hardly any data (spa-2018, section III).

use crate::table_size::{hash_table_bytes, list_bytes_with_one_more};
use gentle_wire::Address;
use hashbrown::{DefaultHashBuilder, HashTable};
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
}

impl Party {
    /// Its connections.
    pub(super) fn connections(&self) -> u32 {
        self.without_data.saturating_add(self.with_data)
    }

    pub(super) fn floods(&self) -> bool {
        self.without_data >= FLOOD
            && u64::from(self.without_data) >= FLOOD_RATIO * u64::from(self.with_data)
    }
}

/// Every address seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Parties {
    hasher: DefaultHashBuilder,
    /// Places in `parties`: a table of addresses would be five times larger, and most looks into it go to memory.
    index: HashTable<u32>,
    parties: Vec<Party>,
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

    /// Whether the party at `place` floods.
    pub(super) fn floods(&self, place: u32) -> bool {
        self.parties[place as usize].floods()
    }

    /// Those that flood.
    pub(super) fn flooders(&self) -> impl Iterator<Item = &Party> {
        self.parties.iter().filter(|party| party.floods())
    }

    /// Forgets those that are far from flooding; the others get new places.
    pub(super) fn forget_the_harmless(&mut self) {
        for party in std::mem::take(self).parties {
            if party.without_data >= SUSPECT {
                let place = self.place(party.address);
                self.parties[place as usize] = party;
            }
        }
    }

    fn place(&mut self, address: Address) -> u32 {
        let Parties {
            hasher,
            index,
            parties,
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
