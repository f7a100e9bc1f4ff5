//! Expiry times of Linux's timer wheel (`kernel/time/timer.c`, `calc_wheel_index`).

use gentle_units::{Instant, Nanos};

/// Buckets per level, less the one that rounding up may need.
const USABLE: u64 = 63;
/// log2 of the ratio of bucket widths of consecutive levels.
const LEVEL_SHIFT: u32 = 3;
/// Number of levels at 1000 ticks per second.
const LEVELS: u32 = 9;

const MILLISECOND: Nanos = Nanos::from_millis(1);

/// Whole ticks that cover `time`.
#[inline]
pub(crate) fn ticks(time: Nanos, tick: Nanos) -> u64 {
    // Division by a constant is several times as fast, and this runs for every acknowledgement.
    if tick == MILLISECOND { time.0.div_ceil(MILLISECOND.0) } else { time.0.div_ceil(tick.0) }
}

/// Expiry of a timer set at `now` to `delay`, on a clock with period `tick` that started at 0.
#[inline]
pub(crate) fn expiry(now: Instant, delay: Nanos, tick: Nanos) -> Instant {
    let clock = if tick == MILLISECOND { now.0 / MILLISECOND.0 } else { now.0 / tick.0 };
    let delta = ticks(delay, tick);
    let mut level = 0;
    while level + 1 < LEVELS && delta >= USABLE << (level * LEVEL_SHIFT) {
        level += 1;
    }
    let width = level * LEVEL_SHIFT;
    // The next bucket, so that the timer is never early.
    let bucket = (clock.saturating_add(delta) >> width) + 1;
    Instant((bucket << width).saturating_mul(tick.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    #[test]
    fn longer_timers_are_rounded_more_coarsely() {
        for (delay, expected) in [
            (0, 1),
            (1, 2),
            (62, 63),
            (63, 64),
            (64, 72),
            (200, 208),
            (503, 504),
            (504, 512),
            (1000, 1024),
            (4000, 4032),
            (4031, 4032),
            (4032, 4096),
            (8000, 8192),
        ] {
            assert_eq!(expiry(Instant::ZERO, ms(delay), ms(1)), Instant::from_millis(expected), "{delay}");
        }
    }

    #[test]
    fn the_phase_of_the_clock_matters() {
        for start in 0..200 {
            let at = expiry(Instant::from_millis(start), ms(1000), ms(1));
            assert_eq!(at.as_millis() % 64, 0);
            assert!((1001..=1064).contains(&(at.as_millis() - start)));
        }
        // A tick of 4 ms: 250 ticks per second, and buckets of eight ticks.
        assert_eq!(expiry(Instant::from_millis(3), ms(1000), ms(4)), Instant::from_millis(1024));
        assert_eq!(expiry(Instant::from_millis(1), Nanos::MAX, ms(1)), Instant::NEVER, "never, not wrapped");
    }
}
