//! Table of live connections: an index by addresses and ports over one array.

use super::connection::{CLIENT, Connection, State};
use super::ends::{EndsHasher, widen};
use crate::segment::Segment;
use crate::table_size::hash_table_bytes;
use gentle_wire::Address;
use hashbrown::{HashMap, HashSet, HashTable};

/// Place of no connection.
pub(crate) const NONE: u32 = u32::MAX;

/// Most connections with the same addresses and ports that are compared one by one, newest first. If there are more (a
/// health check that always uses the same port, a scan of sequence numbers), older ones are found by the initial sequence
/// number of their handshake.
pub(crate) const SAME_ENDS: usize = 32;

/// Inverse of the share of places below which connections are removed from the index one by one, at random places in
/// memory; above it, the whole index is scanned in order.
const SINGLY: usize = 32;

/// Entries of the cache of recent connections, by the low bits of their hash: as many as are active at once on a busy link,
/// and few enough for a core's L1 cache (32 KiB). A lookup in the index takes three dependent accesses to cold memory.
const RECENT: usize = 4096;

/// Connections that are loaded at a time.
const FETCHED: usize = 64;

/// Last-level cache of a usual server, bytes.
const CACHE: usize = 32 << 20;

/// Where the newest connection with ends of this hash was.
#[derive(Debug, Clone, Copy)]
struct Recent {
    hash: u32,
    at: u32,
}

impl Recent {
    const NONE: Recent = Recent { hash: 0, at: NONE };

    #[inline]
    fn place(hash: u32) -> usize {
        hash as usize % RECENT
    }
}

/// Live connections. Connections with the same addresses and ports, in either direction, form a chain from newest to
/// oldest; the index has the newest.
#[derive(Debug)]
pub(crate) struct Table {
    hasher: EndsHasher,
    index: HashTable<u32>,
    /// Cache of the index. Stale entries are detected on use: the place is vacant, or its connection has other ends. A newer
    /// connection with the same ends overwrites the entry.
    recent: Box<[Recent; RECENT]>,
    connections: Vec<Connection>,
    /// Address pairs of IPv6 connections, lower end first.
    wide: Vec<[Address; 2]>,
    free: Vec<u32>,
    free_wide: Vec<u32>,
    /// Places of connections in chains longer than [`SAME_ENDS`], by the hash of their ends and their initiator's initial
    /// sequence number.
    crowd: HashMap<(u32, u32), u32>,
}

impl Table {
    pub(crate) fn new(hasher: EndsHasher) -> Table {
        Table {
            hasher,
            index: HashTable::new(),
            recent: Box::new([Recent::NONE; RECENT]),
            connections: Vec::new(),
            wide: Vec::new(),
            free: Vec::new(),
            free_wide: Vec::new(),
            crowd: HashMap::new(),
        }
    }

    /// Empties the table and frees its memory.
    pub(crate) fn clear(&mut self) {
        *self = Table::new(self.hasher.clone());
    }

    /// Number of live connections.
    pub(crate) fn len(&self) -> usize {
        self.connections.len() - self.free.len()
    }

    /// Memory of live connections and the index, bytes; without vacant places.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * size_of::<Connection>()
            + (self.wide.len() - self.free_wide.len()) * size_of::<[Address; 2]>()
            + hash_table_bytes(self.connections.len(), size_of::<u32>())
            + (self.free.capacity() + self.free_wide.capacity()) * size_of::<u32>()
            + hash_table_bytes(self.crowd.len(), size_of::<((u32, u32), u32)>())
    }

    /// Addresses of client and server.
    pub(crate) fn addresses(&self, connection: &Connection) -> [Address; 2] {
        let mut addresses = if connection.state.has(State::WIDE) {
            self.wide[connection.addresses as usize]
        } else {
            widen(connection.addresses)
        };
        if connection.state.has(State::FROM_UPPER) {
            addresses.reverse();
        }
        addresses
    }

    /// Loads the connections of `segments` into the processor's cache, all of those at a time that were not found lately.
    /// One after the other, as the segments need them, each would be waited for on its own: with 400,000 connections alive,
    /// an eighth of the time. Does nothing while the connections fit into a cache, where it costs a twentieth.
    #[inline(never)]
    pub(crate) fn fetch(&self, segments: &[Segment]) {
        if self.connections.len() * size_of::<Connection>() < CACHE {
            return;
        }
        let mut likely = [NONE; FETCHED];
        let mut count = 0;
        for segment in segments {
            let hash = segment.ends.hash;
            if self.recent[Recent::place(hash)].hash != hash && count < FETCHED {
                // Whether it has the same ends shows when it is there. That it has not is rare.
                if let Some(&at) = self.index.find(spread(hash), |_| true) {
                    likely[count] = at;
                    count += 1;
                }
            }
        }
        let mut loaded = 0;
        for &at in &likely[..count] {
            if let Some(connection) = self.connections.get(at as usize) {
                // A field of each end of it.
                loaded ^= connection.addresses as u32 ^ connection.isn[0];
            }
        }
        std::hint::black_box(loaded);
    }

    /// The newest connection with the addresses and ports of `segment`; `wide` are its addresses if they are IPv6.
    // As `Connection::sent`.
    #[inline(always)]
    pub(crate) fn newest(&mut self, segment: &Segment, wide: Option<[Address; 2]>) -> u32 {
        let hash = segment.ends.hash;
        let Recent { hash: seen, at } = self.recent[Recent::place(hash)];
        if seen == hash
            && let Some(connection) = self.connections.get(at as usize)
            && self.has_ends(connection, segment, wide)
            && !connection.state.has(State::VACANT)
        {
            return at;
        }
        self.look_up(segment, wide)
    }

    /// Slow path of [`Table::newest`], for ends that are not in the cache.
    #[inline(never)]
    fn look_up(&mut self, segment: &Segment, wide: Option<[Address; 2]>) -> u32 {
        let hash = segment.ends.hash;
        let found = self.index.find(spread(hash), |&at| {
            self.has_ends(&self.connections[at as usize], segment, wide)
        });
        let Some(&at) = found else {
            return NONE;
        };
        self.recent[Recent::place(hash)] = Recent { hash, at };
        at
    }

    #[inline(always)]
    fn has_ends(
        &self,
        connection: &Connection,
        segment: &Segment,
        wide: Option<[Address; 2]>,
    ) -> bool {
        connection.ports == segment.ends.ports
            && match wide {
                None => {
                    connection.addresses == segment.ends.addresses
                        && !connection.state.has(State::WIDE)
                }
                Some(wide) => {
                    connection.state.has(State::WIDE)
                        && self.wide[connection.addresses as usize] == wide
                }
            }
    }

    #[inline]
    pub(crate) fn get(&self, at: u32) -> &Connection {
        &self.connections[at as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: u32) -> &mut Connection {
        &mut self.connections[at as usize]
    }

    /// The connection at `at`, if there is no older one with the same ends.
    #[inline(always)]
    pub(crate) fn alone(&mut self, at: u32) -> Option<&mut Connection> {
        let connection = self.connections.get_mut(at as usize)?;
        (connection.older == NONE).then_some(connection)
    }

    /// Places of the connection at `at` and of older ones with the same ends.
    pub(crate) fn chain(&self, at: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = at;
        std::iter::from_fn(move || {
            let current = next;
            if current == NONE {
                return None;
            }
            next = self.connections[current as usize].older;
            Some(current)
        })
    }

    /// Place of the connection with the initial sequence number `isn`, among more than [`SAME_ENDS`] with the ends of `segment`.
    pub(crate) fn of_crowd(
        &self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        isn: u32,
    ) -> Option<u32> {
        let at = *self.crowd.get(&(segment.ends.hash, isn))?;
        let has_ends = self.has_ends(&self.connections[at as usize], segment, wide);
        has_ends.then_some(at)
    }

    /// Indexes the newest connection with its ends, at `at`, by its initiator's initial sequence number, now known.
    pub(crate) fn isn_known(&mut self, at: u32, hash: u32) {
        let older = self.chain(at).take(SAME_ENDS + 2).count() - 1;
        // When the chain first exceeds the limit, its older connections are added, too.
        let members: Vec<u32> = match older {
            ..SAME_ENDS => return,
            SAME_ENDS => self.chain(at).collect(),
            _ => vec![at],
        };
        for at in members {
            let isn = self.get(at).isn[CLIENT];
            self.crowd.insert((hash, isn), at);
        }
    }

    /// Adds a connection as the newest with its ends; `hash` is the hash of these, `wide` has the addresses if they are IPv6,
    /// `newest` is the place of the newest so far.
    pub(crate) fn insert(
        &mut self,
        mut connection: Connection,
        hash: u32,
        wide: Option<[Address; 2]>,
        newest: u32,
    ) -> u32 {
        if let Some(wide) = wide {
            connection.state.add(State::WIDE);
            let at = match self.free_wide.pop() {
                Some(at) => {
                    self.wide[at as usize] = wide;
                    at
                }
                None => {
                    self.wide.push(wide);
                    (self.wide.len() - 1) as u32
                }
            };
            connection.addresses = u64::from(at);
        }
        connection.older = newest;
        let at = match self.free.pop() {
            Some(at) => {
                self.connections[at as usize] = connection;
                at
            }
            None => {
                self.connections.push(connection);
                (self.connections.len() - 1) as u32
            }
        };
        self.recent[Recent::place(hash)] = Recent { hash, at };
        if newest == NONE {
            if self.index.len() == self.index.capacity() {
                self.make_room_in_index();
            }
            let hash_of = |&other: &u32| {
                let connection = &self.connections[other as usize];
                spread(hash_of(&self.hasher, &self.wide, connection))
            };
            self.index.insert_unique(spread(hash), at, hash_of);
        } else {
            self.repoint(hash, newest, at);
            self.connections[newest as usize]
                .state
                .add(State::OVERTAKEN);
        }
        at
    }

    /// Grows the index by one, rehashing in the order of the connections: a table that grows by itself rehashes in its own
    /// order, which accesses connections at random.
    #[cold]
    fn make_room_in_index(&mut self) {
        let mut in_index = vec![false; self.connections.len()];
        for &at in &self.index {
            in_index[at as usize] = true;
        }
        let hash = |at: usize| spread(self.hash(&self.connections[at]));
        let mut index = HashTable::with_capacity(self.index.len() + 1);
        for at in (0..in_index.len()).filter(|&at| in_index[at]) {
            index.insert_unique(hash(at), at as u32, |&other| hash(other as usize));
        }
        self.index = index;
    }

    /// Removes connections from the index and their chains, so that they are no longer found.
    pub(crate) fn unlink_all(&mut self, places: &[u32]) {
        let is_chained = |at: u32| {
            let connection = &self.connections[at as usize];
            connection.older != NONE || connection.state.has(State::OVERTAKEN)
        };
        let (chained, alone): (Vec<u32>, Vec<u32>) = places.iter().partition(|&&at| is_chained(at));
        self.unlink_chained(&chained);
        if alone.len() < self.connections.len() / SINGLY {
            for at in alone {
                let hash = self.hash(&self.connections[at as usize]);
                if let Ok(entry) = self.index.find_entry(spread(hash), |&head| head == at) {
                    entry.remove();
                }
            }
            return;
        }
        let mut goes = vec![false; self.connections.len()];
        for at in alone {
            goes[at as usize] = true;
        }
        self.index.retain(|&mut at| !goes[at as usize]);
    }

    /// Removes connections from their chains, in one pass over each chain.
    fn unlink_chained(&mut self, places: &[u32]) {
        let mut going: HashSet<u32> = places.iter().copied().collect();
        for &at in places {
            let connection = &self.connections[at as usize];
            let hash = self.hash(connection);
            let key = (hash, connection.isn[CLIENT]);
            if self.crowd.get(&key) == Some(&at) {
                self.crowd.remove(&key);
            }
            if !going.contains(&at) {
                continue;
            }
            let found = self.index.find_entry(spread(hash), |&head| {
                same_ends(&self.connections, &self.wide, head, at)
            });
            let Ok(mut entry) = found else {
                debug_assert!(false, "a connection is in the index or behind one that is");
                continue;
            };
            // `newest`: the first connection that stays. `last`: the last one so far, to which the next is linked.
            let (mut newest, mut last) = (NONE, NONE);
            let mut next = *entry.get();
            while next != NONE {
                let link = next;
                next = self.connections[link as usize].older;
                if going.remove(&link) {
                    continue;
                }
                match last {
                    NONE => newest = link,
                    _ => self.connections[last as usize].older = link,
                }
                last = link;
            }
            if last == NONE {
                entry.remove();
            } else {
                *entry.get_mut() = newest;
                self.connections[last as usize].older = NONE;
            }
        }
    }

    /// Removes an [unlinked](Table::unlink_all) connection and frees its place.
    pub(crate) fn remove_unlinked(&mut self, at: u32) -> Connection {
        let connection = self.take(at);
        if connection.state.has(State::WIDE) {
            self.free_wide.push(connection.addresses as u32);
        }
        self.free.push(at);
        connection
    }

    /// Removes a connection from its place; the index keeps its entry.
    pub(crate) fn take(&mut self, at: u32) -> Connection {
        let place = &mut self.connections[at as usize];
        let connection = Connection {
            windows: place.windows.take(),
            trouble: place.trouble.take(),
            ..*place
        };
        place.state = State::VACANT;
        place.older = NONE;
        connection
    }

    fn hash(&self, connection: &Connection) -> u32 {
        hash_of(&self.hasher, &self.wide, connection)
    }

    fn repoint(&mut self, hash: u32, from: u32, to: u32) {
        if let Some(head) = self.index.find_mut(spread(hash), |&head| head == from) {
            *head = to;
        }
    }

    /// Live connections with their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Connection)> {
        self.connections
            .iter()
            .enumerate()
            .filter(|(_, connection)| !connection.state.has(State::VACANT))
            .map(|(at, connection)| (at as u32, connection))
    }
}

/// Whether two connections have the same addresses and ports.
fn same_ends(connections: &[Connection], wide: &[[Address; 2]], a: u32, b: u32) -> bool {
    let [a, b] = [a, b].map(|at| &connections[at as usize]);
    let is_wide = a.state.has(State::WIDE);
    a.ports == b.ports
        && is_wide == b.state.has(State::WIDE)
        && match is_wide {
            false => a.addresses == b.addresses,
            true => wide[a.addresses as usize] == wide[b.addresses as usize],
        }
}

/// Hash of a connection's ends; recomputed when needed, because storing it would take 8 bytes per connection.
fn hash_of(hasher: &EndsHasher, wide: &[[Address; 2]], connection: &Connection) -> u32 {
    let wide = connection
        .state
        .has(State::WIDE)
        .then(|| wide[connection.addresses as usize]);
    hasher.hash(connection.addresses, connection.ports, wide)
}

/// Widens a hash to 64 bits, because the index takes its tag from the highest bits.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Around, Batch};
    use gentle_units::Nanos;
    use gentle_wire::{LinkType, plain_tcp_v4};
    use proptest::prelude::*;

    /// Acknowledgement from the given port.
    fn segment(hasher: &EndsHasher, port: u16) -> Segment {
        let mut frame = [0; 54];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[17] = 40;
        frame[23] = 6;
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        frame[46..48].copy_from_slice(&[0x50, 0x10]);
        let plain = plain_tcp_v4(LinkType::ETHERNET, &frame).unwrap();
        let mut batch = Batch::with_capacity(1);
        let around = Around {
            time: Nanos::ZERO,
            wire_len: 54,
            ip_id: 0,
            ttl: 64,
        };
        batch.push(around, &plain.tcp, || hasher.plain_v4(&plain));
        batch.segments()[0]
    }

    /// Begins a connection with the ends of `segment`, even if there is one already.
    fn begin(table: &mut Table, segment: &Segment) -> u32 {
        let newest = table.newest(segment, None);
        table.insert(
            Connection::new(segment, CLIENT),
            segment.ends.hash,
            None,
            newest,
        )
    }

    proptest! {
        /// Exceeds the cache with connections, some with the ends of others, and removes some, singly or many at a time.
        #[test]
        fn what_was_found_lately_is_what_the_index_has(
            steps in proptest::collection::vec(
                (0..8, prop_oneof![0_u16..4, 0_u16..3 * RECENT as u16]),
                1..300,
            ),
        ) {
            let hasher = EndsHasher::default();
            let mut table = Table::new(hasher.clone());
            let mut alive: Vec<u32> = (0..2 * RECENT as u16)
                .map(|port| begin(&mut table, &segment(&hasher, port)))
                .collect();
            for (step, port) in steps {
                let segment = segment(&hasher, port);
                let newest = table.newest(&segment, None);
                prop_assert_eq!(newest, table.look_up(&segment, None));
                let goes: Vec<u32> = match step {
                    0..4 => {
                        let began = begin(&mut table, &segment);
                        alive.push(began);
                        prop_assert_eq!(table.newest(&segment, None), began);
                        Vec::new()
                    }
                    4 => alive.extract_if(.., |at| *at == newest).collect(),
                    5 => alive.extract_if(.., |at| *at == u32::from(port)).collect(),
                    6 => alive.extract_if(.., |at| *at % 8 == u32::from(port) % 8).collect(),
                    _ => Vec::new(),
                };
                table.unlink_all(&goes);
                for at in goes {
                    table.remove_unlinked(at);
                }
                prop_assert_eq!(table.len(), alive.len());
                let newest = table.newest(&segment, None);
                prop_assert!(newest == NONE || alive.contains(&newest));
                prop_assert_eq!(newest, table.look_up(&segment, None));
            }
        }
    }
}
