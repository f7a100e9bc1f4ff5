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
    let decimals = digits.saturating_sub(1).saturating_add_signed(-exponent.unwrap_or(0_isize));
    grouped(&format!("{value:.decimals$}"))
}

/// Inserts thousands separators before the decimal point of a number.
pub fn grouped(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
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

/// A label as a part of a file name: `codel target=20ms` gives `codel-target-20ms`.
pub fn file_name_part(label: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    label.chars().map(|c| if kept(c) { c } else { '-' }).collect()
}

/// Formats a fraction in percent, `9.3 %`: two significant digits.
pub fn percent(fraction: f64) -> String {
    format!("{} %", significant(fraction * 100.0, 2))
}

/// Formats a time in seconds, `412 ms`: three significant digits in a suitable unit. Two days and more are days, two years
/// and more years.
pub fn time(seconds: f64) -> String {
    const DAY: f64 = 86_400.0;
    const YEAR: f64 = 365.25 * DAY;
    let (value, unit) = match seconds.abs() {
        s if s >= 2.0 * YEAR => (seconds / YEAR, "years"),
        s if s >= 2.0 * DAY => (seconds / DAY, "days"),
        // Values that three digits would show as 1,000 of a unit are shown as 1 of the next.
        s if s >= 0.9995 || s == 0.0 => (seconds, "s"),
        s if s >= 0.9995e-3 => (seconds * 1e3, "ms"),
        _ => (seconds * 1e6, "µs"),
    };
    format!("{} {unit}", significant(value, 3))
}

/// Formats a ratio with the half-width of its interval, `4.3 ± 0.2`, down to the first digit of the interval, which is
/// rounded up, and below 10 to one decimal at least. `None` below 1.05, which is no result.
pub fn factor(ratio: f64, ci95: Option<f64>) -> Option<String> {
    if ratio.is_nan() || ratio < 1.05 {
        return None;
    }
    let half = ci95.filter(|half| half.is_finite() && *half > 0.0);
    let least = if ratio < 10.0 { 1.0 } else { 0.0 };
    let wanted = half.map_or(least, |half| -libm::log10(half).floor());
    let decimals = wanted.clamp(least, 2.0) as usize;
    let half = half.map_or(String::new(), |half| {
        let unit = libm::exp10(f64::from(decimals as i32));
        // Rounded first: 0.2 in binary is a little more than two tenths.
        let up = ((half * unit * 1e6).round() / 1e6).ceil() / unit;
        format!(" ± {up:.decimals$}")
    });
    Some(format!("{}{half}", grouped(&format!("{ratio:.decimals$}"))))
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
        assert_eq!(time(172_799.0), "172,799 s");
        assert_eq!(time(1_680_000.0), "19.4 days");
        assert_eq!(time(614_690_629.0), "19.5 years");
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

    #[test]
    fn a_ratio_has_its_interval_and_one_near_1_is_none() {
        assert_eq!(factor(4.321, Some(0.2)).unwrap(), "4.3 ± 0.2");
        assert_eq!(factor(4.321, Some(0.21)).unwrap(), "4.3 ± 0.3");
        assert_eq!(factor(4.321, Some(0.003)).unwrap(), "4.32 ± 0.01");
        assert_eq!(factor(4.321, Some(1.17)).unwrap(), "4.3 ± 1.2");
        assert_eq!(factor(1_234.0, Some(321.0)).unwrap(), "1,234 ± 321");
        assert_eq!(factor(4.321, None).unwrap(), "4.3");
        assert_eq!(factor(1.049, Some(0.001)), None);
        assert_eq!(factor(f64::NAN, None), None);
    }
}
