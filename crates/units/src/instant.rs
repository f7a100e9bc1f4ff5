//! Points in time in integer nanoseconds.

use crate::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Point in time, in nanoseconds since the origin of some clock: the start of a simulation or of 1970.
///
/// Instants cannot be added to each other, and two of them differ by a duration, [`Nanos`]. No result wraps: what
/// lies beyond the range of 584 years becomes [`Instant::NEVER`], what lies before the origin becomes
/// [`Instant::ZERO`]. To subtract a later instant is a mistake: it panics in debug builds and gives zero otherwise. Where
/// the order is not known, use [`Instant::saturating_since`]. Serialised as the integer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(pub u64);

impl Instant {
    /// Origin of the clock.
    pub const ZERO: Instant = Instant(0);
    /// Latest representable point in time, which no event reaches.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// Point in time `n` microseconds after the origin.
    pub const fn from_micros(n: u64) -> Instant {
        Instant(Nanos::from_micros(n).0)
    }
    /// Point in time `n` milliseconds after the origin.
    pub const fn from_millis(n: u64) -> Instant {
        Instant(Nanos::from_millis(n).0)
    }
    /// Point in time `n` seconds after the origin.
    pub const fn from_secs(n: u64) -> Instant {
        Instant(Nanos::from_secs(n).0)
    }
    /// Point in time `s` seconds after the origin, rounded to the nanosecond; negative values and NaN give the origin.
    pub fn from_secs_f64(s: f64) -> Instant {
        Instant(Nanos::from_secs_f64(s).0)
    }
    /// Seconds since the origin.
    pub fn as_secs_f64(self) -> f64 {
        self.since_origin().as_secs_f64()
    }
    /// Whole milliseconds since the origin, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.since_origin().as_millis()
    }
    /// Time since the origin.
    pub const fn since_origin(self) -> Nanos {
        Nanos(self.0)
    }
    /// Time since `earlier`, or zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Instant) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Nanos> for Instant {
    type Output = Instant;
    fn add(self, duration: Nanos) -> Instant {
        Instant(self.0.saturating_add(duration.0))
    }
}

impl AddAssign<Nanos> for Instant {
    fn add_assign(&mut self, duration: Nanos) {
        *self = *self + duration;
    }
}

impl Sub<Nanos> for Instant {
    type Output = Instant;
    fn sub(self, duration: Nanos) -> Instant {
        Instant(self.0.saturating_sub(duration.0))
    }
}

impl SubAssign<Nanos> for Instant {
    fn sub_assign(&mut self, duration: Nanos) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Nanos;
    #[track_caller]
    fn sub(self, earlier: Instant) -> Nanos {
        debug_assert!(self >= earlier, "{self} is before {earlier}");
        self.saturating_since(earlier)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.since_origin().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_wraps(at in any::<u64>(), other in any::<u64>(), by in any::<u64>()) {
            let (at, other, by) = (Instant(at), Instant(other), Nanos(by));
            prop_assert!(at + by >= at && at - by <= at);
            prop_assert!((at + by) - at == by || at + by == Instant::NEVER);
            prop_assert!(at - (at - by) == by || at - by == Instant::ZERO);
            let (early, late) = (at.min(other), at.max(other));
            prop_assert_eq!(early + (late - early), late);
            prop_assert_eq!(early.saturating_since(late), Nanos::ZERO);
        }

        #[test]
        fn durations_stop_at_their_ends(a in any::<u64>(), b in any::<u64>()) {
            let sum = u128::from(a) + u128::from(b);
            prop_assert_eq!(u128::from((Nanos(a) + Nanos(b)).0), sum.min(u64::MAX.into()));
            let product = u128::from(a) * u128::from(b);
            prop_assert_eq!(u128::from((Nanos(a) * b).0), product.min(u64::MAX.into()));
            prop_assert_eq!(Nanos(a.max(b)) - Nanos(a.min(b)), Nanos(a.abs_diff(b)));
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "1s is before 2s")]
    fn an_earlier_instant_minus_a_later_one_is_a_mistake() {
        let _ = Instant::from_secs(1) - Instant::from_secs(2);
    }
}
