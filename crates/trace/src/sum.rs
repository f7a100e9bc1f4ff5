//! Sums of counts: what is known of one trace and of another, added up field by field.
//!
//! A derive of a library does not fit: `derive_more::AddAssign` needs `AddAssign` of every field, which arrays and maps lack and
//! which wraps around for integers, and `merge::Merge` needs a strategy at every field that is not a plain integer.

use gentle_units::Nanos;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

/// Counts that add up with the counts of another trace.
pub(crate) trait Sum: Sized {
    /// Adds the counts of another trace; a sum that is too large stays at the largest number.
    fn add(&mut self, more: Self);

    /// Sum of both.
    fn plus(mut self, more: Self) -> Self {
        self.add(more);
        self
    }
}

/// Implements [`Sum`] for structs. A field that a list lacks does not compile. Each field is added, unless a word follows it:
/// `max` keeps the larger value, `or` the bits of both, `own` the value of the first.
macro_rules! sum {
    (@ $sum:expr, $more:ident) => { $crate::sum::Sum::add(&mut $sum, $more) };
    (@ $sum:expr, $more:ident max) => { $sum = $sum.max($more) };
    (@ $sum:expr, $more:ident or) => { $sum |= $more };
    (@ $sum:expr, $more:ident own) => { let _ = $more; };
    ($($name:ident { $($field:ident $($rule:ident)?),* $(,)? })*) => {$(
        impl $crate::sum::Sum for $name {
            fn add(&mut self, more: Self) {
                let Self { $($field),* } = more;
                $($crate::sum::sum!(@ self.$field, $field $($rule)?);)*
            }
        }
    )*};
}
pub(crate) use sum;

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Sum for $integer {
            fn add(&mut self, more: $integer) {
                *self = self.saturating_add(more);
            }
        }
    )*};
}
integers!(u32 u64 u128);

impl Sum for Nanos {
    fn add(&mut self, more: Nanos) {
        *self += more;
    }
}

impl<T: Sum, const N: usize> Sum for [T; N] {
    fn add(&mut self, more: [T; N]) {
        self.iter_mut().zip(more).for_each(|(sum, more)| sum.add(more));
    }
}

/// Entries of both.
impl<T> Sum for Vec<T> {
    fn add(&mut self, more: Vec<T>) {
        self.extend(more);
    }
}

/// Values of the same key are added.
impl<K: Ord, V: Sum + Default> Sum for BTreeMap<K, V> {
    fn add(&mut self, more: BTreeMap<K, V>) {
        more.into_iter().for_each(|(key, more)| self.entry(key).or_default().add(more));
    }
}

/// Values of the same key are added.
impl<K: Eq + Hash, V: Sum + Default, S: BuildHasher> Sum for HashMap<K, V, S> {
    fn add(&mut self, more: HashMap<K, V, S>) {
        more.into_iter().for_each(|(key, more)| self.entry(key).or_default().add(more));
    }
}

/// Values of the same key are added.
impl<K: Eq + Hash, V: Sum + Default, S: BuildHasher> Sum for hashbrown::HashMap<K, V, S> {
    fn add(&mut self, more: hashbrown::HashMap<K, V, S>) {
        more.into_iter().for_each(|(key, more)| self.entry(key).or_default().add(more));
    }
}
