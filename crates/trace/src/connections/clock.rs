//! Compact times and durations within a connection.

use gentle_units::Nanos;

/// Time in microseconds, modulo 71 minutes, in half the memory of [`Nanos`]. Only differences have a meaning, and only
/// between times that one connection holds at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tick(u32);

impl Tick {
    #[inline]
    pub(crate) fn at(time: Nanos) -> Tick {
        Tick(time.as_micros() as u32)
    }

    /// Duration from `earlier`; zero if the capture's clock went back.
    #[inline]
    pub(crate) fn since(self, earlier: Tick) -> Nanos {
        let ticks = self.0.wrapping_sub(earlier.0);
        // A difference in the top sixteenth of the range is a small step backwards.
        if ticks > u32::MAX - (u32::MAX >> 4) {
            Nanos::ZERO
        } else {
            Nanos::from_micros(u64::from(ticks))
        }
    }
}

/// Duration in half the memory of [`Nanos`], or none: up to 35 minutes in microseconds, up to 24 days in milliseconds;
/// longer ones saturate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(u32);

impl Span {
    pub(crate) const NONE: Span = Span(u32::MAX);

    /// Flag: the other bits are milliseconds instead of microseconds.
    const MILLIS: u32 = 1 << 31;

    #[inline]
    pub(crate) fn new(length: Nanos) -> Span {
        let micros = length.as_micros();
        if micros < u64::from(Span::MILLIS) {
            Span(micros as u32)
        } else {
            let most = u64::from(Span::MILLIS) - 2;
            Span(Span::MILLIS | (micros / 1_000).min(most) as u32)
        }
    }

    #[inline]
    pub(crate) fn get(self) -> Option<Nanos> {
        let number = self.0 & !Span::MILLIS;
        if self == Span::NONE {
            None
        } else if self.0 & Span::MILLIS == 0 {
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
            let kept = Span::new(Nanos(nanos)).get().unwrap();
            let unit = if nanos < 2_147_483_648_000 { 1_000 } else { 1_000_000 };
            prop_assert!(kept.0 <= nanos && nanos - kept.0 < unit, "{kept:?}");
        }
    }

    #[test]
    fn the_longest_span_is_not_none() {
        assert_eq!(Span::NONE.get(), None);
        let longest = Span::new(Nanos::MAX).get().unwrap();
        assert_eq!(longest, Nanos::from_millis((1 << 31) - 2));
        assert_eq!(Span::new(Nanos::ZERO).get(), Some(Nanos::ZERO));
    }
}
