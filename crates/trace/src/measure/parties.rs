//! Who loses most time: servers, clients, prefixes.

use crate::connections::{Connection, State};
use crate::results::{Top, TopEntry};
use crate::table_size::{hash_table_bytes, hash_table_room};
use gentle_units::Nanos;
use gentle_wire::Address;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::Hash;

/// What one of them lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Loss {
    lost: Nanos,
    failed: Nanos,
    with_loss: u32,
    failures: u32,
    attempts: u32,
}

impl Loss {
    fn add(&mut self, more: &Loss) {
        self.lost = self.lost.saturating_add(more.lost);
        self.failed = self.failed.saturating_add(more.failed);
        self.with_loss = self.with_loss.saturating_add(more.with_loss);
        self.failures = self.failures.saturating_add(more.failures);
        self.attempts = self.attempts.saturating_add(more.attempts);
    }

    fn entry(&self, name: String) -> TopEntry {
        TopEntry {
            name,
            attempts: self.attempts.into(),
            failures: self.failures.into(),
            with_loss: self.with_loss.into(),
            time_lost_s: self.lost.as_secs_f64(),
            failed_s: self.failed.as_secs_f64(),
        }
    }
}

/// Losses by client and by server.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartyCounts {
    servers: HashMap<(Address, u16), Loss>,
    clients: HashMap<Address, Loss>,
}

/// Prefix length of servers put together, IPv4 (in mapped form) and IPv6.
const PREFIX_V4: usize = 24;
const PREFIX_V6: usize = 48;

impl PartyCounts {
    /// An attempt is over; `failed` is what it waited for nothing.
    pub(crate) fn record(
        &mut self,
        connection: &Connection,
        [client, server]: [Address; 2],
        failed: Nanos,
    ) {
        let success = connection.state.has(State::ESTABLISHED);
        let again =
            connection.handshake_retransmissions(0) + connection.handshake_retransmissions(1);
        let loss = Loss {
            lost: if success {
                connection.handshake_delay()
            } else {
                Nanos::ZERO
            },
            failed: if success { Nanos::ZERO } else { failed },
            with_loss: u32::from(again > 0),
            failures: u32::from(!success),
            attempts: 1,
        };
        self.servers
            .entry((server, connection.ports()[1]))
            .or_default()
            .add(&loss);
        self.clients.entry(client).or_default().add(&loss);
    }

    /// Memory with one more of each, bytes.
    pub(crate) fn bytes_with_one_more(&self) -> usize {
        hash_table_bytes(self.servers.len() + 1, size_of::<((Address, u16), Loss)>())
            + hash_table_bytes(self.clients.len() + 1, size_of::<(Address, Loss)>())
    }

    /// Keeps those that lose most: as many as take `bytes` with one more of each.
    pub(crate) fn settle(&mut self, bytes: usize) {
        keep(&mut self.servers, bytes / 2);
        keep(&mut self.clients, bytes / 2);
    }

    /// The first `n` of each list; `show` writes an address, `show_prefix` a prefix.
    pub(crate) fn result(
        &self,
        n: usize,
        show: impl Fn(Address) -> String,
        show_prefix: impl Fn(Address, usize) -> String,
    ) -> Top {
        let mut prefixes: BTreeMap<(Address, usize), Loss> = BTreeMap::new();
        for ((server, _), loss) in &self.servers {
            prefixes.entry(prefix(*server)).or_default().add(loss);
        }
        Top {
            servers: first(n, self.servers.iter(), |&(server, port)| {
                if server.is_v4() {
                    format!("{}:{port}", show(server))
                } else {
                    format!("[{}]:{port}", show(server))
                }
            }),
            clients: first(n, self.clients.iter(), |&client| show(client)),
            prefixes: first(n, prefixes.iter(), |&(network, length)| {
                show_prefix(network, length)
            }),
        }
    }
}

/// The network of an address with its length.
fn prefix(address: Address) -> (Address, usize) {
    let (length, bytes) = if address.is_v4() {
        (PREFIX_V4, 12 + PREFIX_V4 / 8)
    } else {
        (PREFIX_V6, PREFIX_V6 / 8)
    };
    let mut network = address;
    network.0[bytes..].fill(0);
    (network, length)
}

/// The first `n` by time lost; those that lost none are left out.
fn first<'a, K: Ord + 'a>(
    n: usize,
    all: impl Iterator<Item = (&'a K, &'a Loss)>,
    name: impl Fn(&K) -> String,
) -> Vec<TopEntry> {
    let mut losers: Vec<_> = all
        .filter(|(_, loss)| loss.lost > Nanos::ZERO || loss.failed > Nanos::ZERO)
        .collect();
    losers.sort_unstable_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
    losers
        .into_iter()
        .take(n)
        .map(|(key, loss)| loss.entry(name(key)))
        .collect()
}

fn keep<K: Ord + Hash + Copy>(map: &mut HashMap<K, Loss>, bytes: usize) {
    let room = hash_table_room(bytes, size_of::<(K, Loss)>()).saturating_sub(1);
    if map.len() <= room {
        return;
    }
    let mut all: Vec<(Reverse<Loss>, K)> = map
        .iter()
        .map(|(&key, &loss)| (Reverse(loss), key))
        .collect();
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
    fn those_who_stay_fit_and_lose_most() {
        const ALL: u32 = 3_000;
        let name = |i: u32| Address::v4(i.to_be_bytes());
        let mut all = PartyCounts::default();
        for i in 0..ALL {
            let loss = Loss {
                lost: Nanos(i.into()),
                ..Loss::default()
            };
            all.servers.insert((name(i), 80), loss);
            all.clients.insert(name(i), loss);
        }
        for bytes in (0..100_000).step_by(97).chain([1 << 20]) {
            let mut counts = all.clone();
            counts.settle(bytes);
            let stay = counts.clients.len() as u32;
            if stay > 0 {
                assert!(counts.bytes_with_one_more() <= bytes, "{stay} in {bytes}");
            }
            // Two tables, of each place more than half of the time an entry.
            let room = bytes / 5 / (size_of::<(Address, Loss)>() + 1);
            assert!(stay + 2 >= ALL.min(room as u32), "{stay} in {bytes}");
            for i in 0..ALL {
                let stays = i >= ALL - stay;
                assert_eq!(counts.clients.contains_key(&name(i)), stays);
            }
            assert!(counts.servers.len() as u32 <= stay.max(1));
        }
    }
}
