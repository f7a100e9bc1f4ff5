//! Isolation of flows and hosts: set-associative hashing, and each host's number of bulk flows (Linux: `cake_hash`,
//! `cake_get_flow_quantum`).

use super::QUEUES;
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::packet::Packet;

/// Flows that share a queue, and hosts that share fairly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isolation {
    /// Each flow has a queue; without it, each host that counts.
    pub(super) flows: bool,
    /// The source host counts.
    pub(super) source: bool,
    /// The destination host counts.
    pub(super) destination: bool,
}

/// Words of the option, in the order of tc-cake(8).
pub(super) const WORDS: &[&str] =
    &["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"];

impl Isolation {
    /// The isolation that one of [`WORDS`] stands for.
    pub(super) fn named(word: &str) -> Isolation {
        let (flows, source, destination) = match word {
            "flowblind" => (false, false, false),
            "srchost" => (false, true, false),
            "dsthost" => (false, false, true),
            "hosts" => (false, true, true),
            "flows" => (true, false, false),
            "dual-srchost" => (true, true, false),
            "dual-dsthost" => (true, false, true),
            _ => (true, true, true),
        };
        Isolation { flows, source, destination }
    }

    /// Whether the flows of a source host share what the host gets.
    #[inline]
    pub(super) fn by_source(self) -> bool {
        self.flows && self.source
    }

    /// Whether the flows to a destination host share what the host gets.
    #[inline]
    pub(super) fn by_destination(self) -> bool {
        self.flows && self.destination
    }
}

/// Hashes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hashes {
    /// Hash of the unit with a separate queue: the flow, or the hosts.
    pub(super) queue: u32,
    pub(super) source: u32,
    pub(super) destination: u32,
}

impl Hashes {
    #[inline]
    pub(super) fn of<P: Packet>(packet: &P, isolation: Isolation, hash: FlowHash) -> Hashes {
        let Isolation { flows, source, destination } = isolation;
        let (mut from, mut to) = (0, 0);
        if source || destination {
            let hosts = packet.hosts();
            (from, to) = (hash.value(hosts.source), hash.value(hosts.destination));
        }
        let hosts = if source { from } else { 0 } ^ if destination { to } else { 0 };
        Hashes { queue: if flows { hash.value(packet.flow()) } else { hosts }, source: from, destination: to }
    }
}

/// Entries that a hash may use: the tables are 8-way set-associative (Linux: `CAKE_SET_WAYS`).
const WAYS: usize = 8;

/// The places in a table at which `hash` may be, its own first.
#[inline]
pub(super) fn ways(hash: u32) -> impl Iterator<Item = usize> {
    let own = hash as usize % QUEUES;
    let (set, way) = (own - own % WAYS, own % WAYS);
    (0..WAYS).map(move |step| set + (way + step) % WAYS)
}

/// One end of the hosts' flows: the sources or the destinations.
#[derive(Debug)]
pub(super) struct Hosts {
    entries: Box<[Host]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Host {
    tag: u32,
    bulk_flows: u16,
}

impl Hosts {
    /// No hosts; `counts` is whether hosts of this end count.
    pub(super) fn new(counts: bool) -> Hosts {
        let size = if counts { QUEUES } else { 0 };
        Hosts { entries: vec![Host::default(); size].into_boxed_slice() }
    }

    /// The entry of a host. A host without one takes an entry without bulk flows or, if none is left, its own one,
    /// which it then shares with others.
    pub(super) fn entry(&mut self, hash: u32) -> u16 {
        let known = ways(hash).find(|place| self.entries[*place].tag == hash);
        let place = known.unwrap_or_else(|| {
            let free = ways(hash).find(|place| self.entries[*place].bulk_flows == 0);
            let place = free.unwrap_or(hash as usize % QUEUES);
            self.entries[place].tag = hash;
            place
        });
        place as u16
    }

    /// Number of bulk flows of the hosts of an entry.
    #[inline]
    pub(super) fn bulk_flows(&self, entry: u16) -> u16 {
        self.entries[usize::from(entry)].bulk_flows
    }

    /// Adds a bulk flow to the hosts of an entry.
    #[inline]
    pub(super) fn add(&mut self, entry: u16) {
        let count = &mut self.entries[usize::from(entry)].bulk_flows;
        if usize::from(*count) < QUEUES {
            *count += 1;
        }
    }

    /// Takes a bulk flow from the hosts of an entry.
    #[inline]
    pub(super) fn remove(&mut self, entry: u16) {
        let count = &mut self.entries[usize::from(entry)].bulk_flows;
        *count = count.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_has_eight_places_and_begins_at_its_own() {
        let places: Vec<usize> = ways(1024 * 7 + 13).collect();
        assert_eq!(places, [13, 14, 15, 8, 9, 10, 11, 12]);
    }

    #[test]
    fn hosts_get_entries_of_their_own_until_a_set_is_full_of_bulk_flows() {
        let mut hosts = Hosts::new(true);
        // Nine hosts whose own entry is the same.
        let entries: Vec<u16> = (1..=8)
            .map(|number| {
                let entry = hosts.entry(number * 1024 + 2);
                hosts.add(entry);
                entry
            })
            .collect();
        assert_eq!(entries, [2, 3, 4, 5, 6, 7, 0, 1]);
        assert_eq!(hosts.entry(9 * 1024 + 2), 2);
        // The first host has lost its entry, and gets one that is free again.
        hosts.remove(5);
        assert_eq!(hosts.entry(1024 + 2), 5);
        assert_eq!(hosts.bulk_flows(5), 0);
    }
}
