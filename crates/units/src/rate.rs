//! Link rates.

use crate::Nanos;
use crate::parse::{self, QuantityError};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// Rate in bits per second, never zero. Serialised as the integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Rate(u64);

impl Rate {
    /// Rate of `n` bits per second; `None` for zero.
    pub const fn from_bits_per_second(n: u64) -> Option<Rate> {
        if n == 0 { None } else { Some(Rate(n)) }
    }

    /// Value in bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// The rate times `factor`, rounded, at least 1 bit per second and at most `most`.
    #[must_use]
    pub fn scaled(self, factor: f64, most: Option<Rate>) -> Rate {
        let bits = (self.0 as f64 * factor).round().max(1.0);
        let scaled = Rate(bits as u64);
        most.map_or(scaled, |most| scaled.min(most))
    }

    /// Serialization time of `bytes`, rounded up to the nanosecond so that a link never exceeds its rate.
    pub const fn time_to_send(self, bytes: u64) -> Nanos {
        const BITS_NANOS: u64 = 8 * 1_000_000_000;
        // The product fits in 64 bits below 2.3 GB. This is the per-packet path.
        match bytes.checked_mul(BITS_NANOS) {
            Some(product) => Nanos(product.div_ceil(self.0)),
            None => Nanos((bytes as u128 * BITS_NANOS as u128).div_ceil(self.0 as u128) as u64),
        }
    }

    /// Number of bytes sent in `span`, rounded down.
    pub const fn bytes_in(self, span: Nanos) -> u64 {
        (span.0 as u128 * self.0 as u128 / (8 * 1_000_000_000)) as u64
    }
}

impl Rate {
    /// Warning about a rate `text` in bytes per second: `20Mbps` is 160 Mb/s to `tc` and 20 Mb/s to most people. `None`
    /// for any other unit, and for text that is not a rate.
    pub fn remark(text: &str) -> Option<String> {
        let written = text.trim();
        let lower = written.to_ascii_lowercase();
        let before = lower.strip_suffix("bps")?;
        let rate: Rate = written.parse().ok()?;
        let number = before.trim_end_matches(['k', 'm', 'g', 't']);
        let (prefix, bytes) = match &before[number.len()..] {
            "k" => ("k", "kilobytes"),
            "m" => ("m", "megabytes"),
            "g" => ("g", "gigabytes"),
            "t" => ("t", "terabytes"),
            _ => ("", "bytes"),
        };
        let number = number.trim_end();
        Some(format!("{written} is {rate} ({number} {bytes}/s), as tc has it; did you mean {number}{prefix}bit?"))
    }
}

const EXPECTED: &str = "a rate such as 2.4mbit, 400kbit or 1gbit";

/// Units of `tc`: decimal prefixes; `bit` is bits per second, `bps` is bytes per second.
const UNITS: &[(&str, u64)] = &[
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("tbit", 1_000_000_000_000),
    ("bps", 8),
    ("kbps", 8_000),
    ("mbps", 8_000_000),
    ("gbps", 8_000_000_000),
    ("tbps", 8_000_000_000_000),
];

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Rate, QuantityError> {
        let bits = parse::quantity(text, UNITS, None, EXPECTED)?;
        Rate::from_bits_per_second(bits).ok_or_else(|| QuantityError::Unit {
            text: text.to_owned(),
            problem: "no value above zero".to_owned(),
            expected: EXPECTED,
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&parse::format(self.0, &[("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_tc_reads() {
        for (text, bits) in [
            ("2.4mbit", 2_400_000),
            ("400kbit", 400_000),
            ("1gbit", 1_000_000_000),
            ("10 Mbit", 10_000_000),
            ("1mbps", 8_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Rate(bits)), "{text}");
        }
        assert!("0mbit".parse::<Rate>().is_err());
        let negative = "-5mbit".parse::<Rate>().unwrap_err().to_string();
        assert_eq!(negative, "'-5mbit' is below zero; expected a rate such as 2.4mbit, 400kbit or 1gbit");
        assert!("100".parse::<Rate>().is_err());
    }

    #[test]
    fn a_rate_in_bytes_is_remarked_on() {
        for (text, remark) in [
            ("20Mbps", "20Mbps is 160mbit (20 megabytes/s), as tc has it; did you mean 20mbit?"),
            (" 1.5 gbps", "1.5 gbps is 12gbit (1.5 gigabytes/s), as tc has it; did you mean 1.5gbit?"),
            ("100bps", "100bps is 800bit (100 bytes/s), as tc has it; did you mean 100bit?"),
        ] {
            assert_eq!(Rate::remark(text).as_deref(), Some(remark));
        }
        for text in ["20mbit", "0bps", "bps", "xbps", ""] {
            assert_eq!(Rate::remark(text), None, "{text}");
        }
    }

    #[test]
    fn bytes_and_time_convert_exactly() {
        let rate: Rate = "2.4mbit".parse().unwrap();
        assert_eq!(rate.time_to_send(1500), Nanos::from_millis(5));
        assert_eq!(rate.bytes_in(Nanos::from_millis(5)), 1500);
        // Product beyond 64 bits: ten gigabytes.
        assert_eq!(Rate(8).time_to_send(10_000_000_000), Nanos::from_secs(10_000_000_000));
    }

    proptest! {
        #[test]
        fn written_and_read_again_is_the_same(bits in 1u64..9_007_199_254_740_992) {
            prop_assert_eq!(Rate(bits).to_string().parse(), Ok(Rate(bits)));
        }

        #[test]
        fn sending_is_never_faster_than_the_rate(bits in 1u64..1_000_000_000_000, bytes in 1u64..100_000_000) {
            let time = Rate(bits).time_to_send(bytes);
            prop_assert!(Rate(bits).bytes_in(time) >= bytes);
            prop_assert!(Rate(bits).bytes_in(Nanos(time.0 - 1)) <= bytes);
        }
    }
}
