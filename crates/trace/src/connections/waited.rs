//! Time spent waiting for retransmissions, each moment counted once.

use gentle_units::{Instant, Nanos};

/// Length of the union of waits, in constant memory.
///
/// Segments of a window wait at the same time, so the sum of their waits exceeds the time that passes. Waits are added in
/// order of their ends. Overlapping waits form a run; only the last run can grow. A wait that spans the gap before the
/// run before the last counts from the end of that run, so the result is never too long. It is exact unless one wait
/// spans two gaps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waited {
    /// Total length of the runs before the last.
    before: Nanos,
    /// End of the run before the last.
    floor: Instant,
    /// Beginning of the last run.
    from: Instant,
    /// End of the last run.
    to: Instant,
}

impl Waited {
    /// Adds a wait of length `wait` that ended at `to`. If the capture's clock went back, so that it ended before the last
    /// run began, it does not count.
    pub(crate) fn add(&mut self, wait: Nanos, to: Instant) {
        let from = to - wait;
        if from > self.to {
            self.before = self.total();
            self.floor = self.to;
            self.from = from;
        } else if to >= self.from {
            self.from = self.from.min(from).max(self.floor);
        }
        self.to = self.to.max(to);
    }

    /// End of the last wait.
    pub(crate) fn end(&self) -> Instant {
        self.to
    }

    pub(crate) fn total(&self) -> Nanos {
        self.before + self.to.saturating_since(self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(value: u64) -> Nanos {
        Nanos::from_millis(value)
    }

    fn total(waits: &[(u64, u64)]) -> Nanos {
        let mut waited = Waited::default();
        for (from, to) in waits {
            waited.add(ms(to - from), Instant::from_millis(*to));
        }
        waited.total()
    }

    #[test]
    fn overlapping_waits_count_once() {
        assert_eq!(total(&[]), Nanos::ZERO);
        assert_eq!(total(&[(0, 10)]), ms(10));
        assert_eq!(total(&[(10, 20), (15, 25), (40, 50)]), ms(25));
        // Back over the gap before the last run, and over two gaps: the first is left out.
        assert_eq!(total(&[(10, 20), (30, 40), (5, 50)]), ms(40));
        assert_eq!(total(&[(10, 20), (30, 40), (25, 50)]), ms(35));
        assert_eq!(total(&[(10, 20), (30, 40), (60, 70), (5, 80)]), ms(60));
        // A clock that went back.
        assert_eq!(total(&[(20, 30), (5, 10)]), ms(10));
        assert_eq!(total(&[(20, 30), (15, 25)]), ms(15));
    }

    proptest! {
        #[test]
        fn never_longer_than_the_union_or_shorter_than_the_longest(
            waits in prop::collection::vec((0_u64..100, 0_u64..40), 0..12)
        ) {
            let mut waits: Vec<(u64, u64)> = waits.into_iter().map(|(from, length)| (from, from + length)).collect();
            waits.sort_unstable_by_key(|(_, to)| *to);
            let is_covered = |ms: &u64| waits.iter().any(|(from, to)| (*from..*to).contains(ms));
            let union = ms((0..200).filter(is_covered).count() as u64);
            let found = total(&waits);
            prop_assert!(found <= union);
            let longest = waits.iter().map(|(from, to)| to - from).max();
            // A wait that spans two gaps is cut at the earlier one.
            let spans = |from: u64, to: u64| (from..to).filter(|ms| !waits.iter().any(|(f, t)| (*f, *t) != (from, to) && (*f..*t).contains(ms))).count() > 0;
            if !waits.iter().any(|(from, to)| spans(*from, *to)) {
                prop_assert_eq!(found, union);
            }
            prop_assert!(longest.is_none() || found > Nanos::ZERO || longest == Some(0));
        }
    }
}
