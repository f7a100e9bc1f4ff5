//! A periodic timer that is caught up on, instead of one that fires.

use gentle_units::Nanos;

/// When a timer fires next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Periodic {
    next: Nanos,
    period: Nanos,
}

impl Periodic {
    /// Fires at `first` and then every `period`, which is not zero.
    pub(crate) fn new(first: Nanos, period: Nanos) -> Self {
        Periodic {
            next: first,
            period,
        }
    }

    /// Never fires.
    pub(crate) fn never() -> Self {
        Periodic::new(Nanos::MAX, Nanos::MAX)
    }

    /// How often it fired since the last call, up to and including `now`.
    #[inline]
    pub(crate) fn fired(&mut self, now: Nanos) -> u64 {
        if now < self.next {
            return 0;
        }
        self.count(now)
    }

    #[cold]
    fn count(&mut self, now: Nanos) -> u64 {
        let missed = (now - self.next).0 / self.period.0;
        self.next = Nanos(
            self.period
                .0
                .saturating_mul(missed.saturating_add(1))
                .saturating_add(self.next.0),
        );
        missed + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_every_period_once() {
        let mut timer = Periodic::new(Nanos(500), Nanos(15));
        assert_eq!(timer.fired(Nanos(499)), 0);
        assert_eq!(timer.fired(Nanos(500)), 1);
        assert_eq!(timer.fired(Nanos(500)), 0);
        assert_eq!(timer.fired(Nanos(529)), 1);
        assert_eq!(timer.fired(Nanos(560)), 3);
        assert_eq!(timer.fired(Nanos(574)), 0);
        assert_eq!(timer.fired(Nanos(575)), 1);
    }

    #[test]
    fn never_is_never() {
        assert_eq!(Periodic::never().fired(Nanos(u64::MAX - 1)), 0);
    }
}
