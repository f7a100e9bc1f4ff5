//! Map with a fixed capacity: an insertion into a full map evicts the oldest entry.

use std::collections::BTreeMap;

/// Map with a fixed capacity. Ordered trees instead of hash tables: remote senders choose the keys, and no choice of
/// keys makes a tree slow.
#[derive(Debug)]
pub(crate) struct Bounded<K, V> {
    capacity: usize,
    entries: BTreeMap<K, (u64, V)>,
    /// Keys by age, oldest first.
    order: BTreeMap<u64, K>,
    next: u64,
}

impl<K: Ord + Copy, V> Bounded<K, V> {
    /// Creates an empty map; a capacity of zero counts as one.
    pub(crate) fn new(capacity: usize) -> Bounded<K, V> {
        Bounded { capacity: capacity.max(1), entries: BTreeMap::new(), order: BTreeMap::new(), next: 0 }
    }

    /// Adds or replaces an entry, which becomes the youngest. Returns the entry evicted to make room; a replaced value
    /// is not returned.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<(K, V)> {
        self.remove(&key);
        let oldest = match self.entries.len() < self.capacity {
            true => None,
            false => self.order.pop_first().and_then(|(_, oldest)| {
                let (_, value) = self.entries.remove(&oldest)?;
                Some((oldest, value))
            }),
        };
        self.entries.insert(key, (self.next, value));
        self.order.insert(self.next, key);
        self.next += 1;
        oldest
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let (age, value) = self.entries.remove(key)?;
        self.order.remove(&age);
        Some(value)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Entries in the order of their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, (_, value))| (key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room() {
        let mut map = Bounded::new(2);
        assert_eq!(map.insert('a', 1), None);
        assert_eq!(map.insert('b', 2), None);
        // A replaced entry is the youngest.
        assert_eq!(map.insert('a', 3), None);
        assert_eq!(map.insert('c', 4), Some(('b', 2)));
        assert_eq!(map.len(), 2);
        assert_eq!(map.remove(&'a'), Some(3));
        assert_eq!(map.insert('d', 5), None);
        assert_eq!(map.iter().map(|(key, _)| *key).collect::<String>(), "cd");
    }
}
