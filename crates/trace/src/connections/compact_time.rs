//! Times and durations within a connection, in half the memory of [`Nanos`].

use gentle_units::{Instant, Nanos};

/// Time in microseconds, modulo 71 minutes. Only differences have a meaning, and only between times that one connection
/// holds at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CompactTime(u32);

impl CompactTime {
    /// Converts a time since 1970.
    #[inline]
    pub(crate) fn at(time: Instant) -> CompactTime {
        CompactTime(time.since_origin().as_micros() as u32)
    }

    /// Duration from `earlier`; zero if the capture's clock went back.
    #[inline]
    pub(crate) fn since(self, earlier: CompactTime) -> Nanos {
        let ticks = self.0.wrapping_sub(earlier.0);
        // A difference in the top sixteenth of the range is a small step backwards.
        if ticks > u32::MAX - (u32::MAX >> 4) { Nanos::ZERO } else { Nanos::from_micros(u64::from(ticks)) }
    }
}

/// Optional duration: up to 35 minutes in microseconds, up to 24 days in milliseconds;
/// longer ones saturate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompactDuration(u32);

impl CompactDuration {
    /// No duration.
    pub(crate) const NONE: CompactDuration = CompactDuration(u32::MAX);

    /// Flag: the other bits are milliseconds instead of microseconds.
    const MILLIS: u32 = 1 << 31;

    /// Converts a duration.
    #[inline]
    pub(crate) fn new(length: Nanos) -> CompactDuration {
        let micros = length.as_micros();
        if micros < u64::from(CompactDuration::MILLIS) {
            CompactDuration(micros as u32)
        } else {
            let most = u64::from(CompactDuration::MILLIS) - 2;
            CompactDuration(CompactDuration::MILLIS | (micros / 1_000).min(most) as u32)
        }
    }

    /// The duration, if there is one.
    #[inline]
    pub(crate) fn get(self) -> Option<Nanos> {
        let number = self.0 & !CompactDuration::MILLIS;
        if self == CompactDuration::NONE {
            None
        } else if self.0 & CompactDuration::MILLIS == 0 {
            Some(Nanos::from_micros(u64::from(number)))
        } else {
            Some(Nanos::from_millis(u64::from(number)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn spans_lose_less_than_their_unit(nanos in 0_u64..2_000_000_000_000_000) {
            let kept = CompactDuration::new(Nanos(nanos)).get().unwrap();
            let unit = if nanos < 2_147_483_648_000 { 1_000 } else { 1_000_000 };
            prop_assert!(kept.0 <= nanos && nanos - kept.0 < unit, "{kept:?}");
        }
    }

    #[test]
    fn the_longest_span_is_not_none() {
        assert_eq!(CompactDuration::NONE.get(), None);
        let longest = CompactDuration::new(Nanos::MAX).get().unwrap();
        assert_eq!(longest, Nanos::from_millis((1 << 31) - 2));
        assert_eq!(CompactDuration::new(Nanos::ZERO).get(), Some(Nanos::ZERO));
    }
}
