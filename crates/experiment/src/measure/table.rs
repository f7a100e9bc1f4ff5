//! The macro `results!`: structs of results, with the numbers in them.
//!
//! ```text
//! /// Description, also in the JSON Schema.
//! name / /// Description of the field with the intervals.
//!     name_ci95: Type
//!     = times(|part| …)              value of a run, pooled: see `Sample`; without it, the field is filled elsewhere
//!     => Time [".mean" Lower => ("subject", "statistic", rank, "explanation"), ".p99" Lower]
//!     , all of Type;                 the numbers of the type are numbers of the result too
//! ```
//!
//! The field with the intervals, the numbers (path below the field, direction of improvement), the column of each, and `all of` are
//! optional. `(without_interval)` and `(unlisted)` after the direction: see [`Number`].

use super::{Measured, Metric, Number};
use crate::results::{Curves, Distribution, Harm, Mean, Paired, Series, SizeBin};
use std::collections::BTreeMap;

/// An entry of a `results!` block.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A number.
    Number(Number),
    /// The numbers of another block, below this field.
    All(&'static str, &'static [Entry]),
}

/// The number at `path` in `entries`. If it is missing, evaluation in a constant is a compiler error.
pub(crate) const fn number(entries: &'static [Entry], path: &str) -> &'static Number {
    let mut index = 0;
    while index < entries.len() {
        if let Entry::Number(number) = &entries[index]
            && equal(number.path.as_bytes(), path.as_bytes())
        {
            return number;
        }
        index += 1;
    }
    panic!("no number has this path")
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}

/// The numbers of `entries` and of the blocks below.
pub(super) fn metrics(entries: &'static [Entry]) -> Vec<Metric> {
    fn add(entries: &'static [Entry], before: &str, all: &mut Vec<Metric>) {
        for entry in entries {
            match entry {
                Entry::Number(number) => all.push(Metric { name: format!("{before}{}", number.path), number }),
                Entry::All(field, entries) => add(entries, &format!("{before}{field}."), all),
            }
        }
    }
    let mut all = Vec::new();
    add(entries, "", &mut all);
    all
}

/// Results in which numbers are found by their paths in the JSON.
pub(crate) trait Numbers {
    /// The number at `path`, if any.
    fn at(&self, _path: &str) -> Option<Measured> {
        None
    }
}

/// Parts of a path: the first name, and the rest.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}

macro_rules! without_numbers {
    ($($type:ty)*) => { $(impl Numbers for $type {})* };
}

without_numbers!(String u32 bool BTreeMap<String, String> BTreeMap<&'static str, u64> BTreeMap<String, Paired> Curves Series Harm);

impl Numbers for u64 {
    fn at(&self, path: &str) -> Option<Measured> {
        path.is_empty().then(|| Measured::bare(Some(*self as f64)))
    }
}

impl Numbers for Option<f64> {
    fn at(&self, path: &str) -> Option<Measured> {
        path.is_empty().then(|| Measured::bare(*self))
    }
}

impl Numbers for Mean {
    fn at(&self, path: &str) -> Option<Measured> {
        (path == "mean").then(|| Measured::sampled(self.mean, self.ci95))
    }
}

impl Numbers for Distribution {
    fn at(&self, path: &str) -> Option<Measured> {
        Some(match path {
            "mean" => Measured::sampled(self.mean, self.ci95),
            "p50" => Measured::bare(self.p50),
            "p95" => Measured::bare(self.p95),
            "p99" => Measured::bare(self.p99),
            _ => return None,
        })
    }
}

impl Numbers for SizeBin {
    fn at(&self, path: &str) -> Option<Measured> {
        (path == "mean_s").then(|| Measured::sampled(self.mean_s, self.ci95_s))
    }
}

impl<N: Numbers> Numbers for Vec<N> {
    fn at(&self, path: &str) -> Option<Measured> {
        let (index, rest) = split(path);
        self.get(index.parse::<usize>().ok()?)?.at(rest)
    }
}

macro_rules! results {
    (
        $(#[$meta:meta])*
        pub struct $result:ident of $part:ty {
            $(
                $(#[$of_field:meta])*
                $field:ident $(/ $(#[$of_twin:meta])* $twin:ident)? : $type:ty
                $(= $pooled:ident($($value:expr),+))?
                $(=> $quantity:ident [$(
                    $path:literal $judged:ident $(($mark:ident))?
                    $(=> ($subject:literal, $statistic:literal, $rank:literal, $about:literal $(, of $whole:literal)?))?
                ),* $(,)?])*
                $(, all of $all:ty)?
                ;
            )*
        }
    ) => {
        $(#[$meta])*
        pub struct $result {
            $(
                $(#[$of_field])*
                pub $field: $type,
                $(
                    $(#[$of_twin])*
                    pub $twin: $type,
                )?
            )*
        }

        impl $result {
            pub(crate) const ENTRIES: &'static [$crate::measure::table::Entry] = &[
                $(
                    $($(
                        $crate::measure::table::Entry::Number(
                            $crate::measure::Number::new(
                                concat!(stringify!($field), $path),
                                $crate::measure::Judged::$judged,
                                $crate::measure::Quantity::$quantity,
                            )
                            $(.$mark())?
                            $(.column($subject, $statistic, $rank, $about) $(.share_of($whole))?)?
                        ),
                    )*)*
                    $($crate::measure::table::Entry::All(stringify!($field), <$all>::ENTRIES),)?
                )*
            ];

            /// The number at `path` in the JSON of this result, if any.
            pub fn at(&self, path: &str) -> Option<$crate::measure::Measured> {
                $crate::measure::table::Numbers::at(self, path)
            }
        }

        impl $crate::measure::table::Numbers for $result {
            fn at(&self, path: &str) -> Option<$crate::measure::Measured> {
                let (field, rest) = $crate::measure::table::split(path);
                match field {
                    $(stringify!($field) => {
                        let found = $crate::measure::table::Numbers::at(&self.$field, rest);
                        $(
                            let interval = $crate::measure::table::Numbers::at(&self.$twin, rest)?.value;
                            let found = Some($crate::measure::Measured::sampled(found?.value, interval));
                        )?
                        found
                    })*
                    _ => None,
                }
            }
        }

        impl $crate::measure::sample::Pooled<$crate::measure::sample::Sample<'_, $part>> for $result {
            fn pooled(sample: $crate::measure::sample::Sample<'_, $part>) -> ($result, $result) {
                let mut both = (<$result>::default(), <$result>::default());
                $($(
                    if sample.has(Self::ENTRIES, stringify!($field)) {
                        let (value, interval) = $crate::measure::sample::Pooled::pooled(sample.$pooled($($value),+));
                        both.0.$field = value;
                        both.1.$field = interval;
                    }
                )?
                $(both.0.$twin = both.1.$field;)?
                )*
                both
            }
        }
    };
}
pub(crate) use results;
