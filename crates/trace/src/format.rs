//! Numbers formatted for sentences.

/// Number with a comma between thousands.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Fraction as a percentage, with fewer decimals for larger values.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 10.0 {
        format!("{percent:.0} %")
    } else if percent >= 0.1 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.2} %")
    }
}

/// Duration in seconds or milliseconds.
pub(crate) fn time(seconds: f64) -> String {
    // Thresholds after rounding: neither "1000 ms" nor "100.0 s".
    if seconds >= 99.95 {
        format!("{} s", count(seconds.round() as u64))
    } else if seconds >= 0.999_5 {
        format!("{seconds:.1} s")
    } else {
        format!("{:.0} ms", seconds * 1e3)
    }
}

/// Count with the noun `one` or `many`.
pub(crate) fn of(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}
