//! Increase of counters whose objects come and go.

use std::collections::BTreeMap;

/// Latest values of 32-bit counters, by object.
#[derive(Debug)]
pub(crate) struct Growth<K> {
    /// `None` before the first read.
    values: Option<BTreeMap<K, u32>>,
    /// Whether the latest read left objects out.
    incomplete: bool,
}

impl<K: Ord + Clone> Growth<K> {
    pub(crate) fn new() -> Growth<K> {
        Growth { values: None, incomplete: false }
    }

    /// Increase of each counter since the previous call, in the order of `now`; `incomplete` if `now` leaves objects out.
    ///
    /// An object that has appeared since has counted from zero, unless it may have been left out before. A counter that
    /// went backwards has wrapped or belongs to an object that replaced another with the same key.
    pub(crate) fn update(&mut self, now: &[(K, u32)], incomplete: bool) -> Vec<u64> {
        let increase = |(key, new): &(K, u32)| {
            let Some(values) = &self.values else { return 0 };
            match values.get(key) {
                Some(old) if new >= old => u64::from(new - old),
                Some(old) if old - new > u32::MAX / 2 => u64::from(new.wrapping_sub(*old)),
                Some(_) => u64::from(*new),
                None if self.incomplete => 0,
                None => u64::from(*new),
            }
        };
        let increases = now.iter().map(increase).collect();
        self.values = Some(now.iter().cloned().collect());
        self.incomplete = incomplete;
        increases
    }
}

#[cfg(test)]
mod tests {
    use super::Growth;
    use proptest::prelude::*;

    #[test]
    fn objects_come_go_and_are_replaced() {
        let mut growth = Growth::new();
        assert_eq!(growth.update(&[("old", 100)], false), [0]);
        assert_eq!(growth.update(&[("old", 103), ("new", 7)], false), [3, 7]);
        // Replaced by an object of the same name.
        assert_eq!(growth.update(&[("old", 2)], false), [2]);
        assert_eq!(growth.update(&[("old", u32::MAX - 1)], false), [u64::from(u32::MAX - 3)]);
        // Wrapped.
        assert_eq!(growth.update(&[("old", 3)], true), [5]);
        // Present before, but possibly left out.
        assert_eq!(growth.update(&[("old", 3), ("later", 50)], false), [0, 0]);
        assert_eq!(growth.update(&[("old", 3), ("later", 51)], false), [0, 1]);
    }

    proptest! {
        #[test]
        fn any_values_are_counted(reads: Vec<(Vec<(u8, u32)>, bool)>) {
            let mut growth = Growth::new();
            for (now, incomplete) in reads {
                prop_assert_eq!(growth.update(&now, incomplete).len(), now.len());
            }
        }
    }
}
