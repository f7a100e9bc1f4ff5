//! A periodic timer that is polled: it returns how often it has expired since the last call.

use gentle_units::{Instant, Nanos};

/// A periodic timer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeriodicTimer {
    next: Instant,
    period: Nanos,
}

impl PeriodicTimer {
    /// A timer that expires at `first` and then every `period`, which must not be zero.
    pub(crate) fn new(first: Instant, period: Nanos) -> Self {
        PeriodicTimer { next: first, period }
    }

    /// A timer that never expires.
    pub(crate) fn never() -> Self {
        PeriodicTimer::new(Instant::NEVER, Nanos::MAX)
    }

    /// Returns the number of expirations since the last call, up to and including `now`.
    #[inline]
    pub(crate) fn expirations(&mut self, now: Instant) -> u64 {
        if now < self.next {
            return 0;
        }
        self.count(now)
    }

    #[cold]
    fn count(&mut self, now: Instant) -> u64 {
        let missed = (now - self.next).0 / self.period.0;
        self.next += self.period * (missed + 1);
        missed + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_every_period_once() {
        let mut timer = PeriodicTimer::new(Instant(500), Nanos(15));
        assert_eq!(timer.expirations(Instant(499)), 0);
        assert_eq!(timer.expirations(Instant(500)), 1);
        assert_eq!(timer.expirations(Instant(500)), 0);
        assert_eq!(timer.expirations(Instant(529)), 1);
        assert_eq!(timer.expirations(Instant(560)), 3);
        assert_eq!(timer.expirations(Instant(574)), 0);
        assert_eq!(timer.expirations(Instant(575)), 1);
    }

    #[test]
    fn never_is_never() {
        assert_eq!(PeriodicTimer::never().expirations(Instant(u64::MAX - 1)), 0);
    }
}
