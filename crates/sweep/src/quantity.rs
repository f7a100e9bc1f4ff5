//! Values with units as numbers in SI units, and numbers as values with units.

use gentle_units::{Nanos, Rate, format_size, parse_size};

/// Kind of a quantity, which decides how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Number without a unit.
    Plain,
    /// Time; the number is in seconds.
    Time,
    /// Rate; the number is in bits per second.
    Rate,
    /// Size; the number is in bytes.
    Size,
    /// Percentage; the number is the fraction.
    Percent,
}

/// A quantity and its kind; `None` if the text is none.
pub(crate) fn parse(text: &str) -> Option<(Kind, f64)> {
    let text = text.trim();
    // Words such as `infinite` are numbers to f64's parser.
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-') {
        return None;
    }
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some((Kind::Plain, number));
    }
    if let Some(percent) = text.strip_suffix('%') {
        let percent: f64 = percent.trim().parse().ok()?;
        return Some((Kind::Percent, percent / 100.0));
    }
    if let Ok(time) = text.parse::<Nanos>() {
        return Some((Kind::Time, time.as_secs_f64()));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((Kind::Rate, rate.bits_per_second() as f64));
    }
    Some((Kind::Size, parse_size(text).ok()? as f64))
}

/// The text of a quantity, to the resolution of its base unit.
pub(crate) fn format(kind: Kind, number: f64) -> String {
    match kind {
        Kind::Plain => number.to_string(),
        Kind::Time => Nanos::from_secs_f64(number).to_string(),
        Kind::Rate => {
            let rate = Rate::from_bits_per_second(number.round().max(1.0) as u64);
            rate.map_or_else(String::new, |rate| rate.to_string())
        }
        Kind::Size => format_size(number.round() as u64),
        Kind::Percent => format!("{}%", significant(100.0 * number)),
    }
}

/// The number to six significant digits: the values of a range have short texts.
pub(crate) fn significant(number: f64) -> f64 {
    let text = format!("{number:.5e}");
    text.parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_become_si() {
        for (text, kind, number) in [
            ("10ms", Kind::Time, 0.01),
            ("2.4mbit", Kind::Rate, 2.4e6),
            ("64kb", Kind::Size, 65_536.0),
            ("88%", Kind::Percent, 0.88),
            ("1.5", Kind::Plain, 1.5),
        ] {
            assert_eq!(parse(text), Some((kind, number)), "{text}");
            assert_eq!(parse(&format(kind, number)), Some((kind, number)), "{text}");
        }
        for text in ["infinite", "nan", "reno", "", "5 bananas", "--3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn ranges_have_short_values() {
        assert_eq!(format(Kind::Time, significant(0.019_743_504)), "19743.5us");
        assert_eq!(significant(1e6 / 3.0), 333_333.0);
    }
}
