//! Conversion of timestamps of any resolution to nanoseconds.

use gentle_units::Instant;

/// Clock of a pcapng interface, from its options `if_tsresol` and `if_tsoffset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clock {
    unit: Unit,
    /// Nanoseconds added to each time.
    offset: i128,
}

/// Length of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// This number of nanoseconds.
    Nanos(u64),
    /// A nanosecond divided by this number.
    OfNanos(u64),
    /// A second divided by two to this power.
    OfSecond(u32),
}

impl Clock {
    /// Creates the clock of the options `if_tsresol` (the highest bit chooses powers of two, the others are the
    /// negative exponent) and `if_tsoffset` (seconds).
    pub(crate) fn new(resolution: u8, offset_seconds: i64) -> Clock {
        let exponent = u32::from(resolution & 0x7f);
        let unit = if resolution & 0x80 != 0 {
            Unit::OfSecond(exponent)
        } else if exponent <= 9 {
            Unit::Nanos(10u64.pow(9 - exponent))
        } else {
            // Beyond 10^-28 s, 64 bits of ticks do not fill a nanosecond.
            Unit::OfNanos(10u64.checked_pow(exponent - 9).unwrap_or(u64::MAX))
        };
        Clock { unit, offset: i128::from(offset_seconds) * 1_000_000_000 }
    }

    /// Time of `ticks`, rounded down to a nanosecond and limited to the range of [`Instant`].
    #[inline]
    pub(crate) fn time(&self, ticks: u64) -> Instant {
        let nanos = match self.unit {
            Unit::Nanos(n) => u128::from(ticks) * u128::from(n),
            Unit::OfNanos(n) => u128::from(ticks / n),
            Unit::OfSecond(exponent) => (u128::from(ticks) * 1_000_000_000) >> exponent,
        };
        // Less than 2^94, so the cast keeps the value.
        let nanos = nanos as i128 + self.offset;
        Instant(nanos.clamp(0, i128::from(u64::MAX)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn powers_of_ten() {
        for exponent in 0..=9 {
            let ticks = 1_234_567_891 * 10u64.pow(u32::from(exponent)) + 1;
            let tick = 10u64.pow(9 - u32::from(exponent));
            let expected = 1_234_567_891 * SECOND + tick;
            assert_eq!(Clock::new(exponent, 0).time(ticks), Instant(expected));
        }
        // Picoseconds are cut, not rounded.
        assert_eq!(Clock::new(12, 0).time(1_999), Instant(1));
        assert_eq!(Clock::new(28, 0).time(u64::MAX), Instant(1));
        assert_eq!(Clock::new(29, 0).time(u64::MAX - 1), Instant(0));
        assert_eq!(Clock::new(127, 0).time(u64::MAX - 1), Instant(0));
    }

    #[test]
    fn powers_of_two() {
        assert_eq!(Clock::new(0x80, 0).time(7), Instant(7 * SECOND));
        assert_eq!(Clock::new(0x80 | 1, 0).time(3), Instant(SECOND * 3 / 2));
        assert_eq!(Clock::new(0x80 | 32, 0).time((5 << 32) | 0x4000_0000), Instant(5 * SECOND + SECOND / 4));
        assert_eq!(Clock::new(0x80 | 64, 0).time(1 << 63), Instant(SECOND / 2));
        assert_eq!(Clock::new(0xff, 0).time(u64::MAX), Instant(0));
    }

    #[test]
    fn offsets_either_way_and_beyond_what_can_be_said() {
        assert_eq!(Clock::new(6, 2).time(1), Instant(2 * SECOND + 1_000));
        assert_eq!(Clock::new(6, -2).time(2_000_001), Instant(1_000));
        assert_eq!(Clock::new(6, -2).time(1), Instant(0));
        assert_eq!(Clock::new(6, i64::MAX).time(u64::MAX), Instant::NEVER);
        assert_eq!(Clock::new(6, i64::MIN).time(u64::MAX), Instant(0));
        assert_eq!(Clock::new(0, 0).time(u64::MAX), Instant::NEVER);
    }
}
