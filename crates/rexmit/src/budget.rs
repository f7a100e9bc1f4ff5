//! How many copies may be sent: an outage must not be answered with a storm.

use gentle_units::Nanos;

/// The limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Copies and duplicates per second, and at once.
    pub per_second: u32,
    /// Copies per hundred packets that opened a connection; duplicates do not count.
    pub share_percent: u32,
}

/// Copies that the share allows beyond itself, so that the first losses of a quiet host are not held back.
pub const SHARE_BURST: u64 = 100;

const SECOND: u64 = 1_000_000_000;

/// Two buckets of tokens.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    /// In copies times nanoseconds per second.
    rate: u128,
    refilled: Nanos,
    /// In hundredths of a copy.
    share: u64,
}

/// Which limit says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhausted {
    Rate,
    Share,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Budget {
        Budget {
            limits,
            rate: u128::from(limits.per_second) * u128::from(SECOND),
            refilled: Nanos::ZERO,
            share: SHARE_BURST * 100,
        }
    }

    /// A packet that opens a connection has passed.
    pub(crate) fn opened(&mut self) {
        self.share = (self.share + u64::from(self.limits.share_percent)).min(SHARE_BURST * 100);
    }

    /// Pays for a copy.
    pub(crate) fn copy(&mut self, now: Nanos) -> Result<(), Exhausted> {
        if self.share < 100 {
            return Err(Exhausted::Share);
        }
        self.duplicate(now)?;
        self.share -= 100;
        Ok(())
    }

    /// Pays for a duplicate.
    pub(crate) fn duplicate(&mut self, now: Nanos) -> Result<(), Exhausted> {
        let per_second = u128::from(self.limits.per_second);
        let passed = now.saturating_sub(self.refilled);
        self.refilled = self.refilled.max(now);
        let full = per_second * u128::from(SECOND);
        self.rate = (self.rate + u128::from(passed.0) * per_second).min(full);
        self.rate = self
            .rate
            .checked_sub(u128::from(SECOND))
            .ok_or(Exhausted::Rate)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_so_many() {
        let mut budget = Budget::new(Limits {
            per_second: 10,
            share_percent: 100,
        });
        let start = Nanos::from_secs(5);
        let sent = |budget: &mut Budget, now| (0..50).filter(|_| budget.copy(now).is_ok()).count();
        assert_eq!(sent(&mut budget, start), 10);
        assert_eq!(budget.copy(start), Err(Exhausted::Rate));
        assert_eq!(sent(&mut budget, start + Nanos::from_millis(300)), 3);
    }

    #[test]
    fn a_share_of_what_was_opened() {
        let mut budget = Budget::new(Limits {
            per_second: 1_000_000,
            share_percent: 25,
        });
        let sent = |budget: &mut Budget| {
            (0..1000)
                .filter(|_| budget.copy(Nanos::ZERO).is_ok())
                .count()
        };
        assert_eq!(sent(&mut budget), 100);
        for _ in 0..40 {
            budget.opened();
        }
        assert_eq!(sent(&mut budget), 10);
        assert_eq!(budget.copy(Nanos::ZERO), Err(Exhausted::Share));
    }
}
