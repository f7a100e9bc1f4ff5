//! Parser and formatter for a decimal number followed by a unit, shared by all quantities.

use thiserror::Error;

/// Error of parsing a quantity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// The text does not begin with a decimal number.
    #[error("'{text}' does not begin with a number; expected {expected}")]
    Number {
        /// Text as given.
        text: String,
        /// Example of an accepted value.
        expected: &'static str,
    },
    /// The text is a number below zero.
    #[error("'{text}' is below zero; expected {expected}")]
    Negative {
        /// Text as given.
        text: String,
        /// Example of an accepted value.
        expected: &'static str,
    },
    /// The unit is missing or unknown.
    #[error("'{text}' has {problem}; expected {expected}")]
    Unit {
        /// Text as given.
        text: String,
        /// Description of the problem: no unit, or an unknown one.
        problem: String,
        /// Example of an accepted value.
        expected: &'static str,
    },
    /// The value is out of range.
    #[error("'{text}' is too large; expected at most {most}")]
    Range {
        /// Text as given.
        text: String,
        /// Largest accepted value, in whole numbers of the largest unit.
        most: String,
    },
}

/// Parses `<number><unit>`, where `units` gives the size of each unit in base units; rounds to the nearest base unit.
///
/// Zero needs no unit. Any other bare number is rejected unless `bare` gives the size of its unit, because tools differ
/// in the unit that they assume. The arithmetic is exact: no floating point is involved.
pub(crate) fn quantity(
    text: &str,
    units: &[(&str, u64)],
    bare: Option<u64>,
    expected: &'static str,
) -> Result<u64, QuantityError> {
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(end);
    let number = Decimal::parse(digits).ok_or_else(|| {
        let text = text.to_owned();
        let below_zero =
            trimmed.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'));
        match below_zero {
            true => QuantityError::Negative { text, expected },
            false => QuantityError::Number { text, expected },
        }
    })?;
    let unit = unit.trim().to_ascii_lowercase();
    let unit_size = if unit.is_empty() {
        match bare {
            Some(size) => size,
            None if number.is_zero() => 1,
            None => {
                return Err(QuantityError::Unit { text: text.to_owned(), problem: "no unit".to_owned(), expected });
            }
        }
    } else {
        units.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size).ok_or_else(|| QuantityError::Unit {
            text: text.to_owned(),
            problem: format!("an unknown unit '{unit}'"),
            expected,
        })?
    };
    number.times(unit_size).ok_or_else(|| {
        // Of the names of a unit, the first.
        let largest = units.iter().rev().max_by_key(|(_, size)| *size);
        let (unit, size) = largest.copied().unwrap_or(("", 1));
        QuantityError::Range { text: text.to_owned(), most: format!("{}{unit}", (LIMIT - 1) / u128::from(size)) }
    })
}

/// Upper limit (exclusive) of all quantities: 2^53, so that programs that read them as `f64` read them exactly.
const LIMIT: u128 = 1 << 53;

/// Decimal number without a sign: `mantissa` / `scale`.
struct Decimal {
    mantissa: u128,
    scale: u128,
}

impl Decimal {
    /// Parses digits with at most one decimal point and at least one digit.
    fn parse(digits: &str) -> Option<Decimal> {
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        // Decimals beyond the eighteenth are below the resolution of every base unit.
        let fraction = &fraction[..fraction.len().min(18)];
        if whole.is_empty() && fraction.is_empty() || digits.matches('.').count() > 1 {
            return None;
        }
        let scale = 10_u128.pow(fraction.len() as u32);
        let part = |digits: &str| match digits {
            "" => 0,
            // Saturates on overflow; `times` then reports it as out of range.
            _ => digits.parse().unwrap_or(u128::MAX),
        };
        Some(Decimal { mantissa: part(whole).saturating_mul(scale).saturating_add(part(fraction)), scale })
    }

    fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// Product with `unit_size`, rounded to the nearest integer; `None` if it reaches [`LIMIT`].
    fn times(&self, unit_size: u64) -> Option<u64> {
        let product = self.mantissa.checked_mul(u128::from(unit_size))?;
        let rounded = product.checked_add(self.scale / 2)? / self.scale;
        (rounded < LIMIT).then_some(rounded as u64)
    }
}

/// Formats `value` in the largest of `units` (in descending order) that represents it with at most three decimals.
pub(crate) fn format(value: u64, units: &[(&str, u64)]) -> String {
    for (name, worth) in units {
        // A unit fits if the value has at most three decimals in it.
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
