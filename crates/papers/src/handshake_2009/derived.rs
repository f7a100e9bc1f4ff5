//! Numbers that claims of `published.toml` compute from other numbers: rows of a published table, or our numbers for
//! other claims.
//!
//! ```toml
//! compare = { of = "lbnl.outside / lbnl.several", to = "most: webmail1.tries, webmail2.tries", quantity = "ratio" }
//! ```
//!
//! `of` and `to` are names, quotients of two names, or `least:` or `most:` and a list of these. The quantity is a
//! `ratio`, a `share` in percent, or a `difference`.

use crate::estimate::Estimate;

/// Our numbers for the claims of a figure or table that are computed. `known` has the numbers by name; claims that are computed
/// before are known too.
///
/// # Panics
/// A claim has an unknown name or quantity; a test excludes it.
pub(super) fn derived(part: &str, known: &dyn Fn(&str) -> Option<Estimate>) -> Vec<(String, Estimate)> {
    let data = super::PAPER.data();
    let mut found: Vec<(String, Estimate)> = Vec::new();
    for claim in data.claims_of(part) {
        let Some(compare) = &claim.compare else {
            continue;
        };
        let known = |name: &str| {
            let earlier = found.iter().find(|(earlier, _)| earlier == name);
            earlier.map(|(_, ours)| *ours).or_else(|| known(name))
        };
        let of = value(&compare.of, &known);
        let ours = match compare.to.as_str() {
            "" => of,
            to => match (compare.quantity.as_str(), value(to, &known)) {
                ("ratio", to) => both(of, to, |of, to| of / to),
                ("share", to) => both(of, to, |of, to| 100.0 * of / to),
                ("difference", to) => both(of, to, |of, to| of - to),
                (other, _) => panic!("{}: no quantity '{other}'", claim.id),
            },
        };
        found.push((claim.name().to_owned(), ours));
    }
    found
}

/// Number of `words`.
fn value(words: &str, known: &dyn Fn(&str) -> Option<Estimate>) -> Estimate {
    if let Some(names) = words.strip_prefix("least: ") {
        return extreme(names, known, f64::min);
    }
    if let Some(names) = words.strip_prefix("most: ") {
        return extreme(names, known, f64::max);
    }
    let one = |name: &str| known(name).unwrap_or_else(|| panic!("no number '{name}'"));
    match words.split_once(" / ") {
        Some((part, whole)) => both(one(part), one(whole), |part, whole| part / whole),
        None => one(words),
    }
}

fn extreme(names: &str, known: &dyn Fn(&str) -> Option<Estimate>, better: fn(f64, f64) -> f64) -> Estimate {
    let values = names.split(", ").filter_map(|name| value(name, known).value);
    values.reduce(better).map_or_else(Estimate::default, Estimate::exact)
}

/// The result of an operation on two numbers without chance in them.
fn both(a: Estimate, b: Estimate, operation: impl Fn(f64, f64) -> f64) -> Estimate {
    match (a.value, b.value) {
        (Some(a), Some(b)) => Estimate::exact(operation(a, b)),
        _ => Estimate::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> Option<Estimate> {
        let value = match name {
            "a" => 6.0,
            "b" => 3.0,
            "c" => 12.0,
            _ => return None,
        };
        Some(Estimate::exact(value))
    }

    #[test]
    fn words_name_quotients_and_extremes() {
        let of = |words| value(words, &known).value;
        assert_eq!(of("a"), Some(6.0));
        assert_eq!(of("a / b"), Some(2.0));
        assert_eq!(of("least: a / b, c / b, a"), Some(2.0));
        assert_eq!(of("most: a / b, c / b"), Some(4.0));
    }

    #[test]
    fn a_number_that_was_not_observed_gives_none() {
        let nothing = |_: &str| Some(Estimate::default());
        assert_eq!(value("a / b", &nothing).value, None);
        assert_eq!(both(Estimate::exact(1.0), Estimate::exact(0.0), |a, b| a / b).value, None);
    }
}
