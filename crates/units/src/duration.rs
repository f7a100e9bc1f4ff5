//! Durations in integer nanoseconds.

use crate::parse::{self, QuantityError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

/// Duration in nanoseconds, at most 584 years.
///
/// Sums and products that are too large give [`Nanos::MAX`]. A difference below zero is a mistake: it panics in debug
/// builds and gives zero otherwise. Where it is a legitimate result, use [`Nanos::saturating_sub`]. Serialised as the integer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Empty duration.
    pub const ZERO: Nanos = Nanos(0);
    /// Longest representable duration, also for one without end.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// Duration of `n` microseconds.
    pub const fn from_micros(n: u64) -> Nanos {
        Nanos(n.saturating_mul(1_000))
    }
    /// Duration of `n` milliseconds.
    pub const fn from_millis(n: u64) -> Nanos {
        Nanos(n.saturating_mul(1_000_000))
    }
    /// Duration of `n` seconds.
    pub const fn from_secs(n: u64) -> Nanos {
        Nanos(n.saturating_mul(1_000_000_000))
    }
    /// Duration of `s` seconds, rounded to the nanosecond; negative values and NaN give zero.
    pub fn from_secs_f64(s: f64) -> Nanos {
        // A float-to-integer cast saturates, and maps NaN and negative values to 0.
        Nanos((s * 1e9).round() as u64)
    }
    /// Value in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Value in whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Value in whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Difference `self - other`, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    #[track_caller]
    fn sub(self, other: Nanos) -> Nanos {
        debug_assert!(self >= other, "{self} - {other} is below zero");
        self.saturating_sub(other)
    }
}

impl SubAssign for Nanos {
    #[track_caller]
    fn sub_assign(&mut self, other: Nanos) {
        *self = *self - other;
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;
    fn mul(self, factor: u64) -> Nanos {
        Nanos(self.0.saturating_mul(factor))
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(values: I) -> Nanos {
        values.fold(Nanos::ZERO, Add::add)
    }
}

const EXPECTED: &str = "a time such as 5ms, 1.5s, 2min or 0";

/// Units up to a second as in `tc`; minutes, hours and days as in systemd.time(7).
const UNITS: &[(&str, u64)] = &[
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("secs", 1_000_000_000),
    ("ms", 1_000_000),
    ("msec", 1_000_000),
    ("msecs", 1_000_000),
    ("us", 1_000),
    ("usec", 1_000),
    ("usecs", 1_000),
    ("ns", 1),
    ("nsec", 1),
    ("nsecs", 1),
    ("min", 60_000_000_000),
    ("mins", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("hour", 3_600_000_000_000),
    ("hours", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("day", 86_400_000_000_000),
    ("days", 86_400_000_000_000),
];

impl FromStr for Nanos {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Nanos, QuantityError> {
        parse::quantity(text, UNITS, None, EXPECTED).map(Nanos)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.pad("0s");
        }
        f.pad(&parse::format(self.0, &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_tc_reads() {
        for (text, ns) in [
            ("5ms", 5_000_000),
            ("1.5s", 1_500_000_000),
            ("200us", 200_000),
            ("100msec", 100_000_000),
            ("2 secs", 2_000_000_000),
            ("7ns", 7),
            ("1min", 60_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("1d", 86_400_000_000_000),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(ns)), "{text}");
        }
    }

    #[test]
    fn refuses_and_says_what_was_expected() {
        for (text, part) in [
            ("5", "no unit"),
            ("ms", "does not begin with a number"),
            ("5 parsecs", "unknown unit 'parsecs'"),
            ("1.2.3s", "does not begin with a number"),
            ("-5ms", "is below zero"),
            ("-ms", "does not begin with a number"),
            ("5m", "unknown unit 'm'"),
        ] {
            let error = text.parse::<Nanos>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.contains("5ms"), "{text}: {error}");
        }
        for text in ["365d", "99999999999s"] {
            let error = text.parse::<Nanos>().unwrap_err().to_string();
            assert_eq!(error, format!("'{text}' is too large; expected at most 104d"));
        }
    }

    proptest! {
        #[test]
        fn written_and_read_again_is_the_same(ns in 0u64..9_007_199_254_740_992) {
            prop_assert_eq!(Nanos(ns).to_string().parse(), Ok(Nanos(ns)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = text.parse::<Nanos>();
        }
    }
}
