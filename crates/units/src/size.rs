//! Sizes in bytes in `tc` notation: binary prefixes; `kbit` and similar count bits.

use crate::parse::{self, QuantityError};

const EXPECTED: &str = "a size such as 75000, 75kb or 1mb";

const UNITS: &[(&str, u64)] = &[
    ("b", 1),
    ("k", 1024),
    ("kb", 1024),
    ("m", 1_048_576),
    ("mb", 1_048_576),
    ("g", 1_073_741_824),
    ("gb", 1_073_741_824),
    ("kbit", 128),
    ("mbit", 131_072),
    ("gbit", 134_217_728),
];

/// Parses a size in bytes; a bare number is bytes, and `kb` is 1024 bytes (iproute2, `get_size`).
///
/// # Errors
/// If the text is not a number with a known unit, or is 2^53 bytes or more.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    parse::quantity(text, UNITS, Some(1), EXPECTED)
}

/// Formats a size so that [`parse_size`] reads the same value: `75000b`, `64kb`.
pub fn format_size(bytes: u64) -> String {
    for (name, worth) in [("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10)] {
        if bytes >= worth && bytes.is_multiple_of(worth) {
            return format!("{}{name}", bytes / worth);
        }
    }
    format!("{bytes}b")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_tc_reads() {
        for (text, bytes) in [("75000", 75_000), ("64kb", 65_536), ("1mb", 1_048_576), ("8kbit", 1024)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        assert!(parse_size("12 bananas").is_err());
    }

    proptest! {
        #[test]
        fn written_and_read_again_is_the_same(bytes in 0u64..9_007_199_254_740_992) {
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }
    }
}
