//! Comparisons of schemes that `published.toml` describes: which scheme, with which other one, in which quantity.
//!
//! ```toml
//! compare = { of = "highest: SFQ, SPA", to = "lowest: rest", quantity = "1–3 segments" }
//! ```
//!
//! is the mean of 1–3 segments with the slower of two schemes, divided by that with the fastest of all others of the paper.

use super::quantity::{
    ABOVE_100, FROM_4_TO_10, FROM_11_TO_100, LOSS, Quantity, RESPONSE_TIME, RETRANSMISSION_DELAY,
    RTT, SYN_AGAIN, SYN_LOSS, UP_TO_3, UTILIZATION, highest, lowest, mean, middle, others, ratio,
    saving_percent,
};
use super::schemes::{PLAIN_AQMS, PUBLISHED};
use super::traffic::{REAL, REAL_REVERSE, SHORT, TEN_MEGABIT, Traffic};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::published::{Compare, Form};
use crate::results::Results;

/// Quantities by name.
const QUANTITIES: &[(&str, Quantity)] = &[
    ("response time", RESPONSE_TIME),
    ("1–3 segments", UP_TO_3),
    ("4–10 segments", FROM_4_TO_10),
    ("11–100 segments", FROM_11_TO_100),
    ("more than 100 segments", ABOVE_100),
    ("RTT", RTT),
    ("loss", LOSS),
    ("SYN loss", SYN_LOSS),
    ("retransmission delay", RETRANSMISSION_DELAY),
    ("connections with SYN loss", SYN_AGAIN),
    ("utilization", UTILIZATION),
];

/// Our numbers for the claims of a figure that have a comparison. `run` has the results of a type of traffic.
///
/// # Panics
/// A comparison names an unknown scheme, quantity or type of traffic; a test excludes it.
pub(super) fn comparisons(
    lab: &Lab<'_>,
    part: &str,
    results: &Results,
    run: impl Fn(&Lab<'_>, &Traffic) -> Result<Results, Failure>,
) -> Result<Vec<(String, Estimate)>, Failure> {
    let data = super::PAPER.data();
    let mut found = Vec::new();
    for claim in data.claims_of(part) {
        let Some(compare) = &claim.compare else {
            continue;
        };
        let ours = match &compare.to_traffic {
            None => within(results, compare),
            Some(name) => across(results, &run(lab, traffic(name))?, compare),
        };
        found.push((claim.name().to_owned(), ours));
    }
    Ok(found)
}

/// Two schemes with the same traffic, seed by seed.
fn within(results: &Results, compare: &Compare) -> Estimate {
    let quantity = quantity(&compare.quantity);
    let of = select(results, &compare.of, &compare.to, quantity);
    if compare.to.is_empty() {
        let ours = mean(results, of, quantity);
        return match compare.form {
            Form::Percent => ours.scaled(100.0),
            _ => ours,
        };
    }
    let to = select(results, &compare.to, &compare.of, quantity);
    match compare.form {
        Form::Ratio => ratio(results, of, to, quantity),
        Form::Percent => saving_percent(results, of, to, quantity),
        Form::Above => results.per_seed(|values| {
            let value = quantity.of(results, values, of)?;
            Some(100.0 * (value / quantity.of(results, values, to)? - 1.0))
        }),
    }
}

/// Ratio of the means with two types of traffic; its interval is that of the first.
fn across(results: &Results, other: &Results, compare: &Compare) -> Estimate {
    let quantity = quantity(&compare.quantity);
    let of = mean(
        results,
        select(results, &compare.of, &compare.to, quantity),
        quantity,
    );
    let to = select(other, &compare.to, &compare.of, quantity);
    match mean(other, to, quantity).value {
        Some(value) => of.scaled(1.0 / value),
        None => Estimate::default(),
    }
}

fn quantity(name: &str) -> Quantity {
    let found = QUANTITIES.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no quantity '{name}'")).1
}

fn traffic(name: &str) -> &'static Traffic {
    match name {
        "real" => &REAL,
        "real-reverse" => &REAL_REVERSE,
        "short" => &SHORT,
        "10m" => &TEN_MEGABIT,
        _ => panic!("no traffic '{name}'"),
    }
}

/// The scheme that `words` mean: its name, or `highest:`, `lowest:` or `middle:` and names. `AQMs` are RED, ARED, CoDel and
/// PIE; `rest` are the schemes of the paper that neither these words nor `opposite` name.
fn select(results: &Results, words: &str, opposite: &str, quantity: Quantity) -> &'static str {
    let (which, names) = words.split_once(": ").unwrap_or(("", words));
    let mut roles = Vec::new();
    for name in names.split(", ") {
        match name {
            "rest" => {
                let mut named = named(opposite);
                named.extend(&roles);
                roles.extend(others(PUBLISHED, &named));
            }
            _ => roles.extend(named(name)),
        }
    }
    match which {
        "" => roles[0],
        "highest" => highest(results, &roles, quantity),
        "lowest" => lowest(results, &roles, quantity),
        "middle" => middle(results, &roles, quantity),
        _ => panic!("'{words}': expected highest, lowest or middle"),
    }
}

/// The schemes that are named, without `rest`.
fn named(words: &str) -> Vec<&'static str> {
    let names = words.rsplit_once(": ").map_or(words, |(_, names)| names);
    let each = names
        .split(", ")
        .filter(|name| !matches!(*name, "" | "rest"));
    each.flat_map(|name| match name {
        "AQMs" => PLAIN_AQMS.to_vec(),
        _ => {
            let found = PUBLISHED.iter().find(|known| **known == name);
            vec![*found.unwrap_or_else(|| panic!("no scheme '{name}'"))]
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_comparison_names_what_is_there() {
        let data = super::super::PAPER.data();
        let compared: Vec<_> = data
            .claims
            .iter()
            .filter_map(|claim| claim.compare.as_ref())
            .collect();
        assert!(compared.len() > 40);
        for compare in compared {
            quantity(&compare.quantity);
            named(&compare.of);
            named(&compare.to);
            if let Some(name) = &compare.to_traffic {
                traffic(name);
            }
        }
    }
}
