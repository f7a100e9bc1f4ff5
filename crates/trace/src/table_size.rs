//! Memory use of growing tables and lists.

/// Bytes of a hash table that has held at most `entries` of `size` bytes each: a power of two of slots, an eighth of
/// them free, and a control byte per slot (hashbrown's layout).
///
/// Computed rather than read from the table's capacity, because after removals that depends on which slots were used,
/// and so on the table's random key. The results of an analysis must not depend on it.
pub(crate) fn hash_table_bytes(entries: usize, size: usize) -> usize {
    match entries {
        0 => 0,
        _ => (entries * 8).div_ceil(7).next_power_of_two() * (size + 1),
    }
}

/// Largest number of entries of `size` bytes whose table takes at most `bytes`.
pub(crate) fn hash_table_room(bytes: usize, size: usize) -> usize {
    match (bytes / (size + 1)).checked_ilog2() {
        None => 0,
        Some(power) => (1 << power) * 7 / 8,
    }
}

/// Bytes of a list after one more push; a full list doubles its capacity.
pub(crate) fn list_bytes_with_one_more<T>(list: &Vec<T>) -> usize {
    let places = if list.len() < list.capacity() { list.capacity() } else { (2 * list.capacity()).max(4) };
    places * size_of::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashbrown::HashTable;

    #[test]
    fn it_is_what_a_table_that_only_grows_allocates() {
        let mut table = HashTable::new();
        for entry in 0..100_000_u32 {
            table.insert_unique(u64::from(entry) << 32, entry, |&entry| u64::from(entry) << 32);
            if table.len() > 28 {
                let said = hash_table_bytes(table.len(), size_of::<u32>());
                let allocated = table.allocation_size();
                assert!(allocated.abs_diff(said) <= 64, "{entry}: {said} {allocated}");
            }
        }
    }

    #[test]
    fn what_has_room_fits_and_one_more_does_not() {
        for size in [4, 46, 199] {
            for bytes in (0..3_000).chain([1 << 20, (1 << 20) - 1, 4 << 20, 4_915_200]) {
                let room = hash_table_room(bytes, size);
                assert!(hash_table_bytes(room, size) <= bytes, "{bytes} {size}");
                assert!(hash_table_bytes(room + 1, size) > bytes, "{bytes} {size}");
            }
        }
    }

    #[test]
    fn it_is_what_a_list_allocates_next() {
        let mut list = Vec::new();
        for entry in 0..10_000_u32 {
            let said = list_bytes_with_one_more(&list);
            list.push(entry);
            assert_eq!(said, list.capacity() * size_of::<u32>());
        }
    }
}
