//! Time lost by server, client and prefix.

use super::data_counts::DataCounts;
use crate::codec::Host;
use crate::connections::{Classification, Connection};
use crate::results::{Top, TopEntry};
use crate::row::Outcome;
use crate::segment::SynExtras;
use crate::sum::{Sum, sum};
use crate::table_size::{hash_table_bytes, hash_table_room};
use gentle_units::Nanos;
use gentle_wire::Address;
use hashbrown::{HashMap, HashSet};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::Hash;

/// Losses of one server, client or prefix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartyLoss {
    lost: Nanos,
    failed: Nanos,
    with_loss: u32,
    failures: u32,
    attempts: u32,
    facts: PartyFacts,
    /// For a server: data of its connections.
    data: DataCounts,
}

/// Answers of a server, or failed attempts of a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartyFacts {
    /// For a client: the servers and ports of its failed attempts, as a set of 64 hash bits.
    tried: u64,
    /// For a server: an answer to an attempt was captured.
    seen: bool,
    /// For a server: a client went on although no answer of the server was captured.
    unseen: bool,
    /// For a server: parts of the SYNs that it answered ([`SynExtras`]).
    answered: u8,
}

/// Smallest number of bits set in `tried`, of 64, of a client that scans; about 63 servers and ports set that many.
const SCAN_BITS: u32 = 40;
/// Inverse of the smallest share of failed attempts of a client that scans.
const SCAN_SHARE: u32 = 2;

/// Hash of server and port to one of 64 bits, the same in every run.
fn bit(server: Address, port: u16) -> u64 {
    // Multiplication by 2^128 divided by the golden ratio spreads neighbours (Knuth, The Art of Computer Programming,
    // volume 3, 6.4).
    let number = u128::from_be_bytes(server.0) ^ u128::from(port) << 64;
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    1 << (spread >> 122)
}

sum! {
    PartyLoss { lost, failed, with_loss, failures, attempts, facts, data }
    PartyFacts { tried or, seen or, unseen or, answered or }
    PartyCounts { servers, clients, alive own }
}

impl PartyLoss {
    fn entry(&self, name: String) -> TopEntry {
        TopEntry {
            name,
            attempts: self.attempts.into(),
            answered: self.attempts.saturating_sub(self.failures).into(),
            failures: self.failures.into(),
            with_loss: self.with_loss.into(),
            time_lost_s: self.lost.as_secs_f64(),
            failed_s: self.failed.as_secs_f64(),
        }
    }
}

/// Losses by server and by client.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Kept", into = "Kept")]
pub(crate) struct PartyCounts {
    servers: HashMap<(Address, u16), PartyLoss>,
    clients: HashMap<Address, PartyLoss>,
    alive: HashSet<Address>,
}

/// Form in analysis records: lists in the order of the addresses.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    servers: Vec<(Host, u16, PartyLoss)>,
    clients: Vec<(Host, PartyLoss)>,
}

impl From<PartyCounts> for Kept {
    fn from(counts: PartyCounts) -> Kept {
        let servers = counts.servers.into_iter();
        let clients = counts.clients.into_iter();
        let mut kept = Kept {
            servers: servers.map(|((address, port), loss)| (Host(address), port, loss)).collect(),
            clients: clients.map(|(address, loss)| (Host(address), loss)).collect(),
        };
        kept.servers.sort_unstable();
        kept.clients.sort_unstable();
        kept
    }
}

impl From<Kept> for PartyCounts {
    fn from(kept: Kept) -> PartyCounts {
        let servers = kept.servers.into_iter();
        let clients = kept.clients.into_iter();
        PartyCounts {
            servers: servers.map(|(Host(address), port, loss)| ((address, port), loss)).collect(),
            clients: clients.map(|(Host(address), loss)| (address, loss)).collect(),
            alive: HashSet::new(),
        }
    }
}

/// Length of the prefixes by which IPv4 servers are grouped; IPv6 below.
const PREFIX_V4: usize = 24;
const PREFIX_V6: usize = 48;

impl PartyCounts {
    /// Records an attempt; `failed` is the time waited if it was not completed.
    pub(crate) fn record(
        &mut self,
        connection: &Connection,
        [client, server]: [Address; 2],
        class: &Classification,
        failed: Nanos,
    ) {
        let complete = class.outcome.is_complete();
        let port = connection.ports()[1];
        let mut loss = PartyLoss {
            lost: if complete { class.waited } else { Nanos::ZERO },
            failed,
            with_loss: u32::from(complete && class.has_loss()),
            failures: u32::from(!complete),
            attempts: 1,
            facts: PartyFacts::default(),
            data: DataCounts::default(),
        };
        if !complete {
            loss.facts.tried = bit(server, port);
        }
        self.clients.entry(client).or_default().add(loss);
        loss.facts = PartyFacts {
            tried: 0,
            seen: matches!(
                class.outcome,
                Outcome::Succeeded | Outcome::HalfOpen | Outcome::Refused | Outcome::Challenged
            ),
            unseen: class.outcome == Outcome::OneSided,
            answered: if complete { class.answered_extras.bits() as u8 } else { 0 },
        };
        self.servers.entry((server, port)).or_default().add(loss);
    }

    /// Records that a server has answered an attempt that does not count yet.
    pub(crate) fn record_answer(&mut self, connection: &Connection, server: Address) {
        self.servers.entry((server, connection.ports()[1])).or_default().facts.seen = true;
    }

    /// Records the data of an attempt's connection.
    pub(crate) fn record_data(&mut self, connection: &Connection, server: Address) {
        let data = DataCounts::of(connection);
        if data != DataCounts::default() {
            self.servers.entry((server, connection.ports()[1])).or_default().data.add(data);
        }
    }

    /// Replaces all addresses.
    pub(super) fn replace(&mut self, replacement: impl Fn(Address) -> Address) {
        let servers = std::mem::take(&mut self.servers).into_iter();
        let clients = std::mem::take(&mut self.clients).into_iter();
        self.servers = servers.map(|((address, port), loss)| ((replacement(address), port), loss)).collect();
        self.clients = clients.map(|(address, loss)| (replacement(address), loss)).collect();
    }

    /// Updates the set of hosts for [`PartyCounts::is_alive`].
    pub(super) fn update_alive(&mut self) {
        let alive = self.servers.iter().filter(|(_, loss)| loss.facts.seen);
        self.alive = alive.map(|(&(server, _), _)| server).collect();
    }

    /// Whether an answer of the host to an attempt was captured.
    pub(super) fn is_alive(&self, host: Address) -> bool {
        self.alive.contains(&host)
    }

    /// Whether only the clients' side of the server's connections was captured.
    pub(super) fn is_unseen(&self, server: (Address, u16)) -> bool {
        self.servers.get(&server).is_some_and(|loss| loss.facts.unseen && !loss.facts.seen)
    }

    /// Attempts at the server, and the data of its connections.
    pub(super) fn data_of(&self, server: (Address, u16)) -> (u64, DataCounts) {
        self.servers.get(&server).map_or_else(Default::default, |loss| (loss.attempts.into(), loss.data))
    }

    /// Parts of the SYNs that the server answered.
    pub(super) fn answered_extras(&self, server: (Address, u16)) -> SynExtras {
        let facts = self.servers.get(&server).map(|loss| loss.facts);
        facts.map_or_else(Default::default, |facts| SynExtras::from_bits(facts.answered.into()))
    }

    /// Whether the server completed a handshake.
    pub(super) fn has_answered(&self, server: (Address, u16)) -> bool {
        self.servers.get(&server).is_some_and(|loss| loss.failures < loss.attempts)
    }

    /// Whether the client's failed attempts go to many servers and ports.
    pub(super) fn scans(&self, client: Address) -> bool {
        self.clients.get(&client).is_some_and(|loss| {
            loss.facts.tried.count_ones() >= SCAN_BITS && loss.failures.saturating_mul(SCAN_SHARE) >= loss.attempts
        })
    }

    /// Whether the client has completed a handshake.
    pub(super) fn has_completed(&self, client: Address) -> bool {
        self.clients.get(&client).is_some_and(|loss| loss.failures < loss.attempts)
    }

    /// Memory after one more server and client, bytes.
    pub(crate) fn bytes_with_one_more(&self) -> usize {
        hash_table_bytes(self.servers.len() + 1, size_of::<((Address, u16), PartyLoss)>())
            + hash_table_bytes(self.clients.len() + 1, size_of::<(Address, PartyLoss)>())
    }

    /// Keeps the parties that lose most, as many as fit into `bytes` with one more of each.
    pub(crate) fn keep_largest(&mut self, bytes: usize) {
        keep(&mut self.servers, bytes / 2);
        keep(&mut self.clients, bytes / 2);
    }

    /// Ports of servers with most attempts, at most `n`.
    pub(crate) fn by_port(&self, n: usize) -> Vec<TopEntry> {
        let mut ports: BTreeMap<u16, PartyLoss> = BTreeMap::new();
        for ((_, port), loss) in &self.servers {
            ports.entry(*port).or_default().add(*loss);
        }
        let mut ports: Vec<(u16, PartyLoss)> = ports.into_iter().collect();
        ports.sort_by_key(|(_, loss)| Reverse(loss.attempts));
        ports.into_iter().take(n).map(|(port, loss)| loss.entry(port.to_string())).collect()
    }

    /// First `n` of each list; `show` formats an address, `show_server` one with its port, `show_prefix` a prefix.
    pub(crate) fn result(
        &self,
        n: usize,
        show: impl Fn(Address) -> String,
        show_server: impl Fn(Address, u16) -> String,
        show_prefix: impl Fn(Address, usize) -> String,
    ) -> Top {
        let mut prefixes: BTreeMap<(Address, usize), PartyLoss> = BTreeMap::new();
        for ((server, _), loss) in &self.servers {
            prefixes.entry(prefix(*server)).or_default().add(*loss);
        }
        Top {
            servers: first(n, self.servers.iter(), |&(server, port)| show_server(server, port)),
            clients: first(n, self.clients.iter(), |&client| show(client)),
            prefixes: first(n, prefixes.iter(), |&(network, length)| show_prefix(network, length)),
        }
    }
}

/// Network of an address, with the prefix length.
fn prefix(address: Address) -> (Address, usize) {
    let (length, bytes) = if address.is_v4() { (PREFIX_V4, 12 + PREFIX_V4 / 8) } else { (PREFIX_V6, PREFIX_V6 / 8) };
    let mut network = address;
    network.0[bytes..].fill(0);
    (network, length)
}

/// First `n` by time lost, without those that lost none.
fn first<'a, K: Ord + 'a>(
    n: usize,
    all: impl Iterator<Item = (&'a K, &'a PartyLoss)>,
    name: impl Fn(&K) -> String,
) -> Vec<TopEntry> {
    let mut losers: Vec<_> = all.filter(|(_, loss)| loss.lost > Nanos::ZERO || loss.failed > Nanos::ZERO).collect();
    losers.sort_unstable_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
    losers.into_iter().take(n).map(|(key, loss)| loss.entry(name(key))).collect()
}

fn keep<K: Ord + Hash + Copy>(map: &mut HashMap<K, PartyLoss>, bytes: usize) {
    let room = hash_table_room(bytes, size_of::<(K, PartyLoss)>()).saturating_sub(1);
    if map.len() <= room {
        return;
    }
    let mut all: Vec<(Reverse<PartyLoss>, K)> = map.iter().map(|(&key, &loss)| (Reverse(loss), key)).collect();
    if room < all.len() {
        all.select_nth_unstable(room);
        all.truncate(room);
    }
    *map = all.into_iter().map(|(loss, key)| (key, loss.0)).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parties_that_lose_most_are_kept_as_far_as_they_fit() {
        const ALL: u32 = 3_000;
        let name = |i: u32| Address::v4(i.to_be_bytes());
        let mut all = PartyCounts::default();
        for i in 0..ALL {
            let loss = PartyLoss { lost: Nanos(i.into()), ..PartyLoss::default() };
            all.servers.insert((name(i), 80), loss);
            all.clients.insert(name(i), loss);
        }
        for bytes in (0..100_000).step_by(97).chain([1 << 20]) {
            let mut counts = all.clone();
            counts.keep_largest(bytes);
            let stay = counts.clients.len() as u32;
            if stay > 0 {
                assert!(counts.bytes_with_one_more() <= bytes, "{stay} in {bytes}");
            }
            // Lower bound of the entries of a table, which has half of the bytes and may leave about half of these
            // unused, because its number of slots is a power of two.
            let room = bytes / 5 / (size_of::<(Address, PartyLoss)>() + 1);
            assert!(stay + 2 >= ALL.min(room as u32), "{stay} in {bytes}");
            for i in 0..ALL {
                let stays = i >= ALL - stay;
                assert_eq!(counts.clients.contains_key(&name(i)), stays);
            }
            assert!(counts.servers.len() as u32 <= stay.max(1));
        }
    }
}
