//! A decimal number followed by a unit: the shape that all quantities share.

use thiserror::Error;

/// Why a text is not the quantity that was expected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// The text does not begin with a decimal number.
    #[error("'{text}' does not begin with a number; expected {expected}")]
    Number {
        /// What was written.
        text: String,
        /// An example of what is accepted.
        expected: &'static str,
    },
    /// The unit is missing or unknown.
    #[error("'{text}' has {problem}; expected {expected}")]
    Unit {
        /// What was written.
        text: String,
        /// Which of the two it is.
        problem: String,
        /// An example of what is accepted.
        expected: &'static str,
    },
    /// The value does not fit.
    #[error("'{text}' is too large; expected {expected}")]
    Range {
        /// What was written.
        text: String,
        /// An example of what is accepted.
        expected: &'static str,
    },
}

/// Reads `<number><unit>` where `units` gives each unit's worth in the base unit.
///
/// Zero needs no unit; any other bare number is refused, because which unit it would have differs between tools.
pub(crate) fn quantity(
    text: &str,
    units: &[(&str, f64)],
    bare: Option<f64>,
    expected: &'static str,
) -> Result<u64, QuantityError> {
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(end);
    let number: f64 = digits.parse().map_err(|_| QuantityError::Number {
        text: text.to_owned(),
        expected,
    })?;
    let unit = unit.trim().to_ascii_lowercase();
    let worth = if unit.is_empty() {
        match bare {
            Some(worth) => worth,
            None if number == 0.0 => 1.0,
            None => {
                return Err(QuantityError::Unit {
                    text: text.to_owned(),
                    problem: "no unit".to_owned(),
                    expected,
                });
            }
        }
    } else {
        units
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, worth)| *worth)
            .ok_or_else(|| QuantityError::Unit {
                text: text.to_owned(),
                problem: format!("an unknown unit '{unit}'"),
                expected,
            })?
    };
    let value = (number * worth).round();
    // 2^53: beyond it a decimal no longer maps to one integer.
    if value >= 9_007_199_254_740_992.0 {
        return Err(QuantityError::Range {
            text: text.to_owned(),
            expected,
        });
    }
    Ok(value as u64)
}

/// Writes `value` in the largest of `units` (descending worth) in which it needs few digits.
pub(crate) fn format(value: u64, units: &[(&str, u64)]) -> String {
    for (name, worth) in units {
        // A unit fits when the value has at most three decimals in it.
        if value >= *worth && (value as u128 * 1000).is_multiple_of(*worth as u128) {
            let whole = value / worth;
            let thousandths = (value % worth) as u128 * 1000 / *worth as u128;
            if thousandths == 0 {
                return format!("{whole}{name}");
            }
            let decimals = format!("{thousandths:03}");
            return format!("{whole}.{}{name}", decimals.trim_end_matches('0'));
        }
    }
    let (name, _) = units.last().expect("a quantity has units");
    format!("{value}{name}")
}
