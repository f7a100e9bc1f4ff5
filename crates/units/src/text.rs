//! Numbers in text for people, with a fixed number of significant digits, thousands separators, and a space before the
//! unit. The notation that [`Nanos`](crate::Nanos) and [`Rate`](crate::Rate) are parsed from is that of `tc` instead.

/// Formats a number with `digits` significant digits: `412`, `0.0930`, `41,630`. Zero is `0`.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Exponent after rounding: with three digits, 9.996 rounds to two digits before the decimal point.
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent = rounded.rsplit('e').next().and_then(|e| e.parse().ok());
    let decimals = digits
        .saturating_sub(1)
        .saturating_add_signed(-exponent.unwrap_or(0_isize));
    grouped(&format!("{value:.decimals$}"))
}

/// Inserts thousands separators before the decimal point of a number.
pub fn grouped(number: &str) -> String {
    let (sign, rest) = number
        .strip_prefix('-')
        .map_or(("", number), |rest| ("-", rest));
    let whole = rest.find('.').unwrap_or(rest.len());
    let mut out = String::from(sign);
    for (i, c) in rest.char_indices() {
        if i > 0 && i < whole && (whole - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Formats a whole number, `41,630`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// Formats a count with its noun in the singular or plural, `41,630 packets`.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// Formats a fraction in percent, `9.3 %`: two significant digits.
pub fn percent(fraction: f64) -> String {
    format!("{} %", significant(fraction * 100.0, 2))
}

/// Formats a time in seconds, `412 ms`: three significant digits in a suitable unit.
pub fn time(seconds: f64) -> String {
    let (value, unit) = match seconds.abs() {
        // Values that three digits would show as 1,000 of a unit are shown as 1 of the next.
        s if s >= 0.9995 || s == 0.0 => (seconds, "s"),
        s if s >= 0.9995e-3 => (seconds * 1e3, "ms"),
        _ => (seconds * 1e6, "µs"),
    };
    format!("{} {unit}", significant(value, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_fixed_number_of_significant_digits() {
        assert_eq!(time(2.1), "2.10 s");
        assert_eq!(time(0.4124), "412 ms");
        assert_eq!(time(0.9996), "1.00 s");
        assert_eq!(time(0.000_999_6), "1.00 ms");
        assert_eq!(time(0.000_35), "350 µs");
        assert_eq!(time(0.0), "0 s");
        assert_eq!(time(1234.6), "1,235 s");
        assert_eq!(percent(0.093), "9.3 %");
        assert_eq!(percent(0.0996), "10 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(1.0), "100 %");
    }

    #[test]
    fn counts_have_thousands_separators() {
        assert_eq!(count(41_630), "41,630");
        assert_eq!(count(999), "999");
        assert_eq!(plural(1, "packet", "packets"), "1 packet");
        assert_eq!(plural(1_000, "packet", "packets"), "1,000 packets");
        assert_eq!(grouped("-1234567.25"), "-1,234,567.25");
    }
}
