//! Table of live connections: an index by addresses and ports over one array.

use super::connection::{Connection, ConnectionFlags, NONE};
use super::exchange::CLIENT;
use crate::flow_key::{FlowKeyHasher, v4_pair};
use crate::segment::Segment;
use crate::table_size::hash_table_bytes;
use gentle_wire::Address;
use hashbrown::{HashMap, HashSet, HashTable};

/// Largest number of connections with the same flow key that are compared one by one, newest first. If there are more
/// (a health check that always uses the same port, a scan of sequence numbers), older ones are found by the initial
/// sequence number of their initiator.
pub(crate) const CHAIN_SCAN: usize = 32;

/// Inverse of the share of places below which connections are removed from the index one by one, at random places in
/// memory; above it, the whole index is scanned in order.
const SCAN_FRACTION: usize = 32;

/// Entries of the cache of recent connections, by the low bits of their hash: as many as are active at once on a busy
/// link, and few enough for a core's L1 cache (32 KiB). A lookup in the index takes three dependent accesses to cold
/// memory.
const RECENT: usize = 4096;

/// Largest number of connections that are prefetched at a time.
const PREFETCHED: usize = 64;

/// Last-level cache of a typical server, bytes.
const CACHE: usize = 32 << 20;

/// Entry of the cache of recent connections: the place of the newest connection whose flow key has this hash.
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

/// Live connections. Connections with the same flow key form a chain from newest to oldest; the index has the newest.
#[derive(Debug)]
pub(crate) struct Table {
    hasher: FlowKeyHasher,
    index: HashTable<u32>,
    /// Cache of the index. Stale entries are detected on use: the place is vacant, or its connection has another flow
    /// key. A newer connection with the same flow key overwrites the entry.
    recent: Box<[Recent; RECENT]>,
    connections: Vec<Connection>,
    /// Address pairs of IPv6 connections, lower endpoint first.
    v6: Vec<[Address; 2]>,
    free: Vec<u32>,
    free_v6: Vec<u32>,
    /// Places of connections in chains longer than [`CHAIN_SCAN`], by the hash of their flow key and the initial
    /// sequence number of their initiator.
    by_isn: HashMap<(u32, u32), u32>,
}

impl Table {
    pub(crate) fn new(hasher: FlowKeyHasher) -> Table {
        Table {
            hasher,
            index: HashTable::new(),
            recent: Box::new([Recent::NONE; RECENT]),
            connections: Vec::new(),
            v6: Vec::new(),
            free: Vec::new(),
            free_v6: Vec::new(),
            by_isn: HashMap::new(),
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
            + (self.v6.len() - self.free_v6.len()) * size_of::<[Address; 2]>()
            + hash_table_bytes(self.connections.len(), size_of::<u32>())
            + (self.free.capacity() + self.free_v6.capacity()) * size_of::<u32>()
            + hash_table_bytes(self.by_isn.len(), size_of::<((u32, u32), u32)>())
    }

    /// Addresses of client and server.
    pub(crate) fn addresses(&self, connection: &Connection) -> [Address; 2] {
        let mut addresses = if connection.flags.has(ConnectionFlags::V6) {
            self.v6[connection.addresses as usize]
        } else {
            v4_pair(connection.addresses)
        };
        if connection.flags.has(ConnectionFlags::CLIENT_IS_UPPER) {
            addresses.reverse();
        }
        addresses
    }

    /// Loads the connections of `segments` that are not in the cache of recent ones into the processor's cache, so that
    /// their cache misses overlap. Without it, each segment waits for its own connection, which took an eighth of the
    /// time with 400,000 live connections. Does nothing while all connections fit into the last-level cache, where it
    /// would cost a twentieth.
    #[inline(never)]
    pub(crate) fn prefetch(&self, segments: &[Segment]) {
        if self.connections.len() * size_of::<Connection>() < CACHE {
            return;
        }
        let mut likely = [NONE; PREFETCHED];
        let mut count = 0;
        for segment in segments {
            let hash = segment.key.hash;
            if self.recent[Recent::place(hash)].hash != hash && count < PREFETCHED {
                // The flow key is compared when the connection is used; an unequal one with this hash is rare.
                if let Some(&at) = self.index.find(index_hash(hash), |_| true) {
                    likely[count] = at;
                    count += 1;
                }
            }
        }
        let mut loaded = 0;
        for &at in &likely[..count] {
            if let Some(connection) = self.connections.get(at as usize) {
                // One field near the beginning of the connection and one near its end.
                loaded ^= connection.addresses as u32 ^ connection.isn[0];
            }
        }
        std::hint::black_box(loaded);
    }

    /// Place of the newest connection with the flow key of `segment`, or [`NONE`]; `v6` has the addresses if they are
    /// IPv6.
    // Inlined for the same reason as `Connection::sent`.
    #[inline(always)]
    pub(crate) fn newest(&mut self, segment: &Segment, v6: Option<[Address; 2]>) -> u32 {
        let hash = segment.key.hash;
        let Recent { hash: seen, at } = self.recent[Recent::place(hash)];
        if seen == hash
            && let Some(connection) = self.connections.get(at as usize)
            && self.has_key(connection, segment, v6)
            && !connection.flags.has(ConnectionFlags::VACANT)
        {
            return at;
        }
        self.look_up(segment, v6)
    }

    /// Slow path of [`Table::newest`], for flow keys that are not in the cache.
    #[inline(never)]
    fn look_up(&mut self, segment: &Segment, v6: Option<[Address; 2]>) -> u32 {
        let hash = segment.key.hash;
        let found = self.index.find(index_hash(hash), |&at| self.has_key(&self.connections[at as usize], segment, v6));
        let Some(&at) = found else {
            return NONE;
        };
        self.recent[Recent::place(hash)] = Recent { hash, at };
        at
    }

    #[inline(always)]
    fn has_key(&self, connection: &Connection, segment: &Segment, v6: Option<[Address; 2]>) -> bool {
        connection.ports == segment.key.ports
            && match v6 {
                None => connection.addresses == segment.key.addresses && !connection.flags.has(ConnectionFlags::V6),
                Some(v6) => connection.flags.has(ConnectionFlags::V6) && self.v6[connection.addresses as usize] == v6,
            }
    }

    /// The connection at `at`.
    #[inline]
    pub(crate) fn get(&self, at: u32) -> &Connection {
        &self.connections[at as usize]
    }

    /// The connection at `at`, mutable.
    #[inline]
    pub(crate) fn get_mut(&mut self, at: u32) -> &mut Connection {
        &mut self.connections[at as usize]
    }

    /// The connection at `at`, if there is no older one with the same flow key.
    #[inline(always)]
    pub(crate) fn unchained(&mut self, at: u32) -> Option<&mut Connection> {
        let connection = self.connections.get_mut(at as usize)?;
        (connection.older == NONE).then_some(connection)
    }

    /// Places of the connection at `at` and of older ones with the same flow key, newest first.
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

    /// Place of the connection whose initiator has the initial sequence number `isn`, among more than [`CHAIN_SCAN`]
    /// with the flow key of `segment`.
    pub(crate) fn find_by_isn(&self, segment: &Segment, v6: Option<[Address; 2]>, isn: u32) -> Option<u32> {
        let at = *self.by_isn.get(&(segment.key.hash, isn))?;
        let has_key = self.has_key(&self.connections[at as usize], segment, v6);
        has_key.then_some(at)
    }

    /// Indexes the connection at `at`, the newest of its chain, by the initial sequence number of its initiator if the
    /// chain is longer than [`CHAIN_SCAN`].
    pub(crate) fn index_isn(&mut self, at: u32, hash: u32) {
        let older = self.chain(at).take(CHAIN_SCAN + 2).count() - 1;
        // When the chain first exceeds the limit, its older connections are added, too.
        let members: Vec<u32> = match older {
            ..CHAIN_SCAN => return,
            CHAIN_SCAN => self.chain(at).collect(),
            _ => vec![at],
        };
        for at in members {
            let isn = self.get(at).isn[CLIENT];
            self.by_isn.insert((hash, isn), at);
        }
    }

    /// Adds a connection as the newest with its flow key, which hashes to `hash`; `v6` has the addresses if they are
    /// IPv6, `newest` is the place of the newest so far. Returns its place.
    pub(crate) fn insert(
        &mut self,
        mut connection: Connection,
        hash: u32,
        v6: Option<[Address; 2]>,
        newest: u32,
    ) -> u32 {
        if let Some(v6) = v6 {
            connection.flags.add(ConnectionFlags::V6);
            let at = match self.free_v6.pop() {
                Some(at) => {
                    self.v6[at as usize] = v6;
                    at
                }
                None => {
                    self.v6.push(v6);
                    (self.v6.len() - 1) as u32
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
                self.grow_index();
            }
            let hash_of = |&other: &u32| {
                let connection = &self.connections[other as usize];
                index_hash(hash_of(&self.hasher, &self.v6, connection))
            };
            self.index.insert_unique(index_hash(hash), at, hash_of);
        } else {
            self.repoint(hash, newest, at);
            self.connections[newest as usize].flags.add(ConnectionFlags::SUPERSEDED);
        }
        at
    }

    /// Grows the index by one, rehashing in the order of the connections: a table that grows automatically rehashes in
    /// its own order, which accesses connections at random.
    #[cold]
    fn grow_index(&mut self) {
        let mut in_index = vec![false; self.connections.len()];
        for &at in &self.index {
            in_index[at as usize] = true;
        }
        let hash = |at: usize| index_hash(self.hash(&self.connections[at]));
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
            connection.older != NONE || connection.flags.has(ConnectionFlags::SUPERSEDED)
        };
        let (chained, unchained): (Vec<u32>, Vec<u32>) = places.iter().partition(|&&at| is_chained(at));
        self.unlink_chained(&chained);
        if unchained.len() < self.connections.len() / SCAN_FRACTION {
            for at in unchained {
                let hash = self.hash(&self.connections[at as usize]);
                if let Ok(entry) = self.index.find_entry(index_hash(hash), |&head| head == at) {
                    entry.remove();
                }
            }
            return;
        }
        let mut is_removed = vec![false; self.connections.len()];
        for at in unchained {
            is_removed[at as usize] = true;
        }
        self.index.retain(|&mut at| !is_removed[at as usize]);
    }

    /// Removes connections from their chains, in one pass over each chain.
    fn unlink_chained(&mut self, places: &[u32]) {
        let mut going: HashSet<u32> = places.iter().copied().collect();
        for &at in places {
            let connection = &self.connections[at as usize];
            let hash = self.hash(connection);
            let key = (hash, connection.isn[CLIENT]);
            if self.by_isn.get(&key) == Some(&at) {
                self.by_isn.remove(&key);
            }
            if !going.contains(&at) {
                continue;
            }
            let found =
                self.index.find_entry(index_hash(hash), |&head| same_key(&self.connections, &self.v6, head, at));
            let Ok(mut entry) = found else {
                debug_assert!(false, "a connection is in the index, or linked from one in the index");
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
        if connection.flags.has(ConnectionFlags::V6) {
            self.free_v6.push(connection.addresses as u32);
        }
        self.free.push(at);
        connection
    }

    /// Removes a connection from its place; the index keeps its entry.
    pub(crate) fn take(&mut self, at: u32) -> Connection {
        let place = &mut self.connections[at as usize];
        let connection = Connection { windows: place.windows.take(), loss_state: place.loss_state.take(), ..*place };
        place.flags = ConnectionFlags::VACANT;
        place.older = NONE;
        connection
    }

    /// Hash of the flow key of a connection.
    fn hash(&self, connection: &Connection) -> u32 {
        hash_of(&self.hasher, &self.v6, connection)
    }

    /// Replaces the place `from` in the index by `to`.
    fn repoint(&mut self, hash: u32, from: u32, to: u32) {
        if let Some(head) = self.index.find_mut(index_hash(hash), |&head| head == from) {
            *head = to;
        }
    }

    /// Live connections with their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Connection)> {
        self.connections
            .iter()
            .enumerate()
            .filter(|(_, connection)| !connection.flags.has(ConnectionFlags::VACANT))
            .map(|(at, connection)| (at as u32, connection))
    }
}

/// Whether two connections have the same flow key.
fn same_key(connections: &[Connection], v6: &[[Address; 2]], a: u32, b: u32) -> bool {
    let [a, b] = [a, b].map(|at| &connections[at as usize]);
    let is_v6 = a.flags.has(ConnectionFlags::V6);
    a.ports == b.ports
        && is_v6 == b.flags.has(ConnectionFlags::V6)
        && match is_v6 {
            false => a.addresses == b.addresses,
            true => v6[a.addresses as usize] == v6[b.addresses as usize],
        }
}

/// Hash of a connection's flow key; recomputed when needed, because storing it would take 8 bytes per connection.
fn hash_of(hasher: &FlowKeyHasher, v6: &[[Address; 2]], connection: &Connection) -> u32 {
    let v6 = connection.flags.has(ConnectionFlags::V6).then(|| v6[connection.addresses as usize]);
    hasher.hash(connection.addresses, connection.ports, v6)
}

/// Extends a hash to 64 bits; the index takes its tag from the highest bits.
#[inline]
fn index_hash(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Batch, PacketMeta};
    use gentle_units::Instant;
    use gentle_wire::{Tcp, TcpFlags};
    use proptest::prelude::*;

    /// Acknowledgement from the given port.
    fn segment(hasher: &FlowKeyHasher, port: u16) -> Segment {
        let tcp = Tcp {
            src_port: port,
            dst_port: 0,
            seq: 0,
            ack: 0,
            flags: TcpFlags::ACK,
            window: 0,
            payload_len: 0,
            options: &[],
            payload: &[],
        };
        let meta = PacketMeta { time: Instant::ZERO, wire_len: 54, ip_id: 0, ttl: 64 };
        let host = Address::v4([0; 4]);
        let mut batch = Batch::with_capacity(1);
        batch.push(meta, &tcp, || hasher.key((host, port), (host, 0)));
        batch.segments()[0]
    }

    /// Begins a connection with the flow key of `segment`, even if there is one already.
    fn begin(table: &mut Table, segment: &Segment) -> u32 {
        let newest = table.newest(segment, None);
        table.insert(Connection::new(segment, CLIENT), segment.key.hash, None, newest)
    }

    proptest! {
        /// Exceeds the cache with connections, some with the flow key of others, and removes some, singly or many at a
        /// time.
        #[test]
        fn the_cache_of_recent_connections_agrees_with_the_index(
            steps in proptest::collection::vec(
                (0..8, prop_oneof![0_u16..4, 0_u16..3 * RECENT as u16]),
                1..300,
            ),
        ) {
            let hasher = FlowKeyHasher::default();
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
