//! Formatting of numbers: units, digits, separators; shared by tables, pages and sentences.

pub(crate) use gentle_experiment::measure::Quantity;
use gentle_units::Nanos;
pub(crate) use gentle_units::foreign::{inert, plain};
pub(crate) use gentle_units::text::{count, factor, percent, plural, time};
use gentle_units::text::{grouped, significant};

/// Placeholder for "no observation".
pub(crate) const NONE: &str = "–";

/// Non-breaking space.
pub(crate) const NO_BREAK: char = '\u{a0}';

/// Common unit and number of decimals of a column, so that its decimal points line up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    /// Unit for the head of the column; empty for counts.
    pub(crate) unit: &'static str,
    factor: f64,
    decimals: usize,
}

impl Scale {
    /// Scale suited to the largest of `values`.
    pub(crate) fn of(quantity: Quantity, values: impl Iterator<Item = f64>) -> Self {
        let largest = values.filter(|v| v.is_finite()).fold(0.0, |a: f64, b| a.max(b.abs()));
        let (unit, factor) = match quantity {
            Quantity::Count => {
                return Self { unit: "", factor: 1.0, decimals: 0 };
            }
            Quantity::Index => {
                return Self { unit: "", factor: 1.0, decimals: 3 };
            }
            Quantity::Frequency => {
                return Self { unit: "", factor: 1.0, decimals: if largest < 100.0 { 2 } else { 1 } };
            }
            Quantity::Share => {
                let decimals = if largest < 0.2 { 2 } else { 1 };
                return Self { unit: "%", factor: 100.0, decimals };
            }
            Quantity::Rate if largest >= 1e6 => ("Mb/s", 1e-6),
            Quantity::Rate => ("kb/s", 1e-3),
            Quantity::Time if largest >= 1.0 || largest == 0.0 => ("s", 1.0),
            Quantity::Time if largest >= 1e-3 => ("ms", 1e3),
            Quantity::Time => ("µs", 1e6),
        };
        let decimals = match largest * factor {
            shown if shown >= 100.0 => 1,
            shown if shown >= 10.0 => 2,
            _ => 3,
        };
        Self { unit, factor, decimals }
    }

    /// Formats a number without its unit.
    pub(crate) fn show(&self, value: Option<f64>) -> String {
        match value {
            Some(value) if value.is_finite() => grouped(&format!("{:.*}", self.decimals, value * self.factor)),
            _ => NONE.to_owned(),
        }
    }

    /// Formats a difference with its sign and without its unit.
    pub(crate) fn show_signed(&self, value: Option<f64>) -> String {
        let size = self.show(value.map(f64::abs));
        let is_zero = !size.contains(|c: char| ('1'..='9').contains(&c));
        match value {
            Some(value) if value < 0.0 && !is_zero => format!("−{size}"),
            Some(value) if value > 0.0 && !is_zero => format!("+{size}"),
            _ => size,
        }
    }

    /// Formats a number with the half-width of its confidence interval, if it has one.
    pub(crate) fn show_ci(&self, value: Option<f64>, ci95: Option<f64>) -> String {
        match (value, ci95) {
            (Some(_), Some(_)) => format!("{} ±{}", self.show(value), self.show(ci95)),
            _ => self.show(value),
        }
    }
}

/// Formats seconds as an exact decimal for programs, `1.25`.
pub(crate) fn seconds(time: Nanos) -> String {
    const A_SECOND: u64 = Nanos::from_secs(1).0;
    let text = format!("{}.{:09}", time.0 / A_SECOND, time.0 % A_SECOND);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a nominal bit rate, `2.4 Mb/s`.
pub(crate) fn rate(bits_per_second: u64) -> String {
    let (divisor, unit) = match bits_per_second {
        1_000_000_000.. => (1_000_000_000, "Gb/s"),
        1_000_000.. => (1_000_000, "Mb/s"),
        1_000.. => (1_000, "kb/s"),
        _ => (1, "b/s"),
    };
    format!("{} {unit}", bits_per_second as f64 / f64::from(divisor))
}

/// Formats a measured bit rate, `2.41 Mb/s`: three significant digits.
pub(crate) fn throughput(bits_per_second: f64) -> String {
    let (value, unit) = match bits_per_second {
        // Values that three digits would show as 1,000 of a unit are shown as 1 of the next.
        r if r >= 0.9995e9 => (r / 1e9, "Gb/s"),
        r if r >= 0.9995e6 => (r / 1e6, "Mb/s"),
        r if r >= 0.9995e3 => (r / 1e3, "kb/s"),
        r => (r, "b/s"),
    };
    format!("{} {unit}", significant(value, 3))
}

/// Formats a number of bytes, `1.23 GB`: three significant digits, decimal units.
pub(crate) fn bytes(n: u64) -> String {
    let (value, unit) = match n as f64 {
        n if n >= 0.9995e12 => (n / 1e12, "TB"),
        n if n >= 0.9995e9 => (n / 1e9, "GB"),
        n if n >= 0.9995e6 => (n / 1e6, "MB"),
        n if n >= 0.9995e3 => (n / 1e3, "kB"),
        _ => return plural(n, "byte", "bytes"),
    };
    format!("{} {unit}", significant(value, 3))
}

/// Formats a nominal time with its own digits: `1 s`, `0.3 s`, `10 ms`.
pub(crate) fn interval(seconds: f64) -> String {
    match seconds {
        s if s < 0.1 => format!("{} ms", (s * 1e6).round() / 1e3),
        s => format!("{} s", (s * 1e3).round() / 1e3),
    }
}

/// Formats a range of connection sizes: `1–3`, `>100`, `1`.
pub(crate) fn sizes(min_segments: u64, max_segments: Option<u64>) -> String {
    match max_segments {
        None => format!(">{}", count(min_segments.saturating_sub(1))),
        Some(max) if max == min_segments => count(max),
        Some(max) => format!("{}–{}", count(min_segments), count(max)),
    }
}

/// List in a sentence, `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The text with a capital at its beginning, as a sentence.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Sentence with non-breaking spaces between numbers and units.
pub(crate) fn unbroken(sentence: &str) -> String {
    const UNITS: [&str; 13] = ["s", "ms", "µs", "%", "Gb/s", "Mb/s", "kb/s", "b/s", "TB", "GB", "MB", "kB", "bytes"];
    let mut out = String::new();
    for word in sentence.split(' ') {
        let unit = word.trim_end_matches([',', '.', ';', ':', ')']);
        if !out.is_empty() {
            let after_number = out.ends_with(|c: char| c.is_ascii_digit());
            out.push(if after_number && UNITS.contains(&unit) { NO_BREAK } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nominal_rates_have_their_own_digits() {
        assert_eq!(rate(2_400_000), "2.4 Mb/s");
        assert_eq!(rate(10_000_000_000), "10 Gb/s");
    }

    #[test]
    fn measured_rates_and_sizes_have_three_digits() {
        assert_eq!(throughput(2_412_345.0), "2.41 Mb/s");
        assert_eq!(throughput(999_700_000.0), "1.00 Gb/s");
        assert_eq!(throughput(0.0), "0 b/s");
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(999_600), "1.00 MB");
        assert_eq!(bytes(1_234_567_890), "1.23 GB");
    }

    #[test]
    fn nominal_times_have_their_own_digits() {
        assert_eq!(interval(1.0), "1 s");
        assert_eq!(interval(0.3), "0.3 s");
        assert_eq!(interval(0.01), "10 ms");
        assert_eq!(interval(64.0), "64 s");
    }

    #[test]
    fn a_column_shares_unit_and_digits() {
        let scale = Scale::of(Quantity::Time, [0.0941, 0.3402].into_iter());
        assert_eq!(scale.unit, "ms");
        assert_eq!(scale.show(Some(0.0941)), "94.1");
        assert_eq!(scale.show_ci(Some(0.3402), Some(0.0021)), "340.2 ±2.1");
        assert_eq!(scale.show_ci(Some(0.3402), None), "340.2");
        assert_eq!(scale.show(None), NONE);
        assert_eq!(scale.show(Some(f64::NAN)), NONE);
        assert_eq!(scale.show_signed(Some(0.0123)), "+12.3");
        assert_eq!(scale.show_signed(Some(-0.0123)), "−12.3");
        assert_eq!(scale.show_signed(Some(-0.000_01)), "0.0");
        assert_eq!(scale.show_signed(None), NONE);
        assert_eq!(Scale::of(Quantity::Share, [0.05].into_iter()).show(Some(0.0312)), "3.12");
        assert_eq!(Scale::of(Quantity::Count, [].into_iter()).show(Some(-1234567.0)), "-1,234,567");
    }

    #[test]
    fn seconds_for_programs_are_exact() {
        assert_eq!(seconds(Nanos::ZERO), "0");
        assert_eq!(seconds(Nanos::from_secs(120)), "120");
        assert_eq!(seconds(Nanos(1_250_000_000)), "1.25");
        assert_eq!(seconds(Nanos(1_700_000_000_000_000_001)), "1700000000.000000001");
        assert_eq!(seconds(Nanos::MAX), "18446744073.709551615");
    }

    #[test]
    fn sizes_read_as_ranges() {
        assert_eq!(sizes(1, Some(3)), "1–3");
        assert_eq!(sizes(101, None), ">100");
        assert_eq!(sizes(1, None), ">0");
        assert_eq!(sizes(7, Some(7)), "7");
    }

    #[test]
    fn numbers_and_units_stay_together() {
        assert_eq!(
            unbroken("take 2.19 s on average (95 %), at 10 Mb/s, of 3 seeds"),
            "take 2.19\u{a0}s on average (95\u{a0}%), at 10\u{a0}Mb/s, of 3 seeds"
        );
        assert_eq!(unbroken("pfifo  s"), "pfifo  s");
    }
}
