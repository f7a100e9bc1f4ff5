//! Table of fixed size that forgets the oldest entries.

use gentle_units::{Instant, Nanos};
use hashbrown::HashMap;
use std::hash::Hash;

/// Smallest number of entries of a generation.
const LEAST: usize = 16;

#[derive(Debug)]
struct Entry<V> {
    last: Instant,
    value: V,
}

/// Map in two generations. Values in use are in the young one; when that is full or as old as the idle timeout, the old
/// one is forgotten and the young one takes its place. So the last `capacity` values in use are always present, at the
/// cost of at most as many more, and nothing has to be kept in order.
#[derive(Debug)]
pub(super) struct Table<K, V> {
    young: HashMap<K, Entry<V>>,
    old: HashMap<K, Entry<V>>,
    capacity: usize,
    idle: Nanos,
    /// Start of the young generation.
    since: Instant,
}

impl<K: Eq + Hash, V> Table<K, V> {
    /// Creates a table for values that are used again within `idle`, in at most `bytes`, but for at least 16 of them.
    pub(super) fn new(bytes: usize, idle: Nanos) -> Table<K, V> {
        let slot = size_of::<(K, Entry<V>)>() + 1;
        // Two full generations, and half of one more while its table is moved as it grows.
        let slots = (bytes / slot * 2 / 5).max(LEAST);
        // The slots of a hash map are a power of two, of which it fills seven eighths.
        let power = 1 << slots.ilog2();
        Table { young: HashMap::new(), old: HashMap::new(), capacity: power / 8 * 7, idle, since: Instant::ZERO }
    }

    /// Value of a key, used at `time`; `None` if it is missing or was idle for too long.
    pub(super) fn get(&mut self, time: Instant, key: &K) -> Option<&mut V>
    where
        K: Clone,
    {
        let entry = match self.young.get_mut(key) {
            Some(entry) => entry,
            None => {
                let (key, entry) = self.old.remove_entry(key)?;
                self.make_room(time);
                self.young.entry(key).or_insert(entry)
            }
        };
        if time.saturating_since(entry.last) > self.idle {
            self.young.remove(key);
            return None;
        }
        // If the clock goes back, the entry has been used at a later time.
        entry.last = entry.last.max(time);
        self.young.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Sets the value of a key.
    pub(super) fn insert(&mut self, time: Instant, key: K, value: V) {
        self.old.remove(&key);
        self.make_room(time);
        self.young.insert(key, Entry { last: time, value });
    }

    fn make_room(&mut self, time: Instant) {
        let aged = time.saturating_since(self.since) > self.idle;
        if self.young.len() >= self.capacity || aged {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
            self.since = time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: usize) -> Table<u32, u32> {
        let bytes = (size_of::<(u32, Entry<u32>)>() + 1) * entries * 5 / 2;
        Table::new(bytes, Nanos::from_secs(10))
    }

    #[test]
    fn a_flood_leaves_the_newest_and_no_more() {
        let mut table = table(64);
        let allocated = |t: &Table<u32, u32>| t.young.capacity() + t.old.capacity();
        for i in 0..100_000 {
            table.insert(Instant(u64::from(i)), i, i);
            assert!(allocated(&table) <= 2 * 56);
        }
        for i in 100_000 - 56..100_000 {
            assert_eq!(table.get(Instant(100_000), &i), Some(&mut i.clone()));
        }
        assert_eq!(table.get(Instant(100_000), &5), None);
    }

    #[test]
    fn what_is_used_stays_through_a_flood() {
        let mut table = table(64);
        table.insert(Instant::ZERO, u32::MAX, 1);
        for i in 0..10_000 {
            table.insert(Instant::ZERO, i, i);
            *table.get(Instant::ZERO, &u32::MAX).unwrap() += 1;
        }
        assert_eq!(table.get(Instant::ZERO, &u32::MAX), Some(&mut 10_001));
    }

    #[test]
    fn what_is_idle_is_forgotten() {
        let mut table = table(64);
        table.insert(Instant::from_secs(100), 1, 1);
        assert!(table.get(Instant::from_secs(110), &1).is_some());
        assert!(table.get(Instant::from_secs(50), &1).is_some());
        assert!(table.get(Instant::from_secs(121), &1).is_none());
        assert!(table.get(Instant::from_secs(50), &1).is_none());
    }

    #[test]
    fn a_new_value_replaces_one_of_the_old_generation() {
        let mut table = table(64);
        table.insert(Instant::ZERO, 1, 1);
        table.insert(Instant::from_secs(11), 2, 2);
        table.insert(Instant::from_secs(11), 1, 3);
        assert_eq!(table.get(Instant::from_secs(11), &1), Some(&mut 3));
        assert!(table.old.is_empty() || table.old.get(&1).is_none());
    }

    #[test]
    fn without_memory_a_few_are_kept() {
        let mut table: Table<u32, [u8; 1000]> = Table::new(0, Nanos::ZERO);
        table.insert(Instant(7), 1, [0; 1000]);
        assert!(table.get(Instant(7), &1).is_some());
    }
}
