//! Ranges of connection sizes.

use serde::{Deserialize, Serialize};

/// Upper ends, in segments, of the default ranges: 1–3, 4–10, 11–100 and above.
pub const DEFAULT_BINS: [u64; 3] = [3, 10, 100];

/// Contiguous ranges of sizes in segments; the first starts at 1, the last has no upper end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Bins {
    upper: Vec<u64>,
}

impl Bins {
    /// Ranges with the given upper ends, ascending, and one range above.
    pub(crate) fn new(upper: &[u64]) -> Bins {
        Bins { upper: upper.to_vec() }
    }

    /// Ranges for plots, of about equal width on a logarithmic axis; the first are single sizes.
    pub(crate) fn fine() -> Bins {
        let mut upper = vec![1_u64];
        while upper[upper.len() - 1] < 1_000_000 {
            let last = upper[upper.len() - 1];
            upper.push((last * 3).div_ceil(2));
        }
        Bins { upper }
    }

    /// Number of ranges.
    pub(crate) fn len(&self) -> usize {
        self.upper.len() + 1
    }

    /// Index of the range that contains `segments`.
    pub(crate) fn of(&self, segments: u64) -> usize {
        self.upper.partition_point(|upper| *upper < segments)
    }

    /// First and last size of a range; `None`: no upper end.
    pub(crate) fn range(&self, index: usize) -> (u64, Option<u64>) {
        let min = match index {
            0 => 1,
            _ => self.upper[index - 1] + 1,
        };
        (min, self.upper.get(index).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_in_the_range_that_names_it() {
        for bins in [Bins::new(&DEFAULT_BINS), Bins::fine(), Bins::new(&[])] {
            for segments in (1..2000).chain([999_999, 10_000_000]) {
                let (min, max) = bins.range(bins.of(segments));
                assert!(min <= segments && max.is_none_or(|max| segments <= max));
            }
            for index in 1..bins.len() {
                assert_eq!(bins.range(index - 1).1.unwrap() + 1, bins.range(index).0);
            }
        }
    }
}
