//! Comparisons of schemes that `published.toml` describes: which scheme, with which other one, in which quantity.
//!
//! ```toml
//! compare = { of = "highest: SFQ, SPA", to = "lowest: rest", quantity = "1–3 segments" }
//! ```
//!
//! is the mean of 1–3 segments with the slower of two schemes, divided by that with the fastest of all others of the paper.

use super::quantity::{
    ABOVE_100, FROM_4_TO_10, FROM_11_TO_100, LOSS, Quantity, RESPONSE_TIME, RETRANSMISSION_DELAY, RTT, SYN_AGAIN,
    SYN_LOSS, SYN_PART, UP_TO_3, UTILIZATION, highest, lowest, middle, others,
};
use super::schemes::{PLAIN_AQMS, PUBLISHED, WITHOUT_PROTECTION};
use super::traffic::{REAL, REAL_REVERSE, SHORT, TEN_MEGABIT, Traffic};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::published::{Compare, Form};
use crate::results::{Results, Values};

/// Quantities by name.
const QUANTITIES: &[(&str, Quantity)] = &[
    ("response time", RESPONSE_TIME),
    ("1–3 segments", UP_TO_3),
    ("4–10 segments", FROM_4_TO_10),
    ("11–100 segments", FROM_11_TO_100),
    ("more than 100 segments", ABOVE_100),
    ("6 segments", Quantity::ResponseTime(6, 6)),
    ("5–7 segments", Quantity::ResponseTime(5, 7)),
    ("handshake time", Quantity::Metric("handshake_s.mean")),
    ("RTT", RTT),
    ("95 % of queueing delays", Quantity::Metric("queue_delay_s.p95")),
    ("loss", LOSS),
    ("loss of data", Quantity::Metric("loss.data")),
    ("SYN loss", SYN_LOSS),
    ("SYN/ACK loss", Quantity::Metric("loss.synack")),
    ("retransmission delay", RETRANSMISSION_DELAY),
    ("SYN part of the delay", SYN_PART),
    ("delay without SYN loss", Quantity::Metric("retransmission.delay_mean_without_syn_loss_s")),
    ("delay, each moment once", Quantity::Metric("retransmission.delay_mean_s")),
    ("connections with SYN loss", SYN_AGAIN),
    ("retransmission of SYNs", Quantity::Metric("retransmission.syn_probability")),
    ("utilization", UTILIZATION),
];

/// Our numbers for the claims of a figure that have a comparison, or whose name has one in a figure of `like`. `run` has the
/// results of a type of traffic.
///
/// # Panics
/// A comparison names an unknown scheme, quantity or type of traffic; a test excludes it.
pub(super) fn comparisons(
    lab: &Lab<'_>,
    part: &str,
    like: &[&str],
    results: &Results,
    run: impl Fn(&Lab<'_>, &Traffic) -> Result<Results, Failure>,
) -> Result<Vec<(String, Estimate)>, Failure> {
    let data = super::PAPER.data();
    let mut found = Vec::new();
    for claim in data.claims_of(part) {
        let alike = || {
            let mut alike = like.iter().flat_map(|part| data.claims_of(part));
            let alike = alike.find(|other| other.name() == claim.name())?;
            alike.compare.as_ref()
        };
        let Some(compare) = claim.compare.as_ref().or_else(alike) else {
            continue;
        };
        let ours = match &compare.to_traffic {
            None => number(results, results, compare),
            Some(name) => number(results, &run(lab, traffic(name))?, compare),
        };
        found.push((claim.name().to_owned(), ours));
    }
    Ok(found)
}

/// A comparison seed by seed; `other` has the results for what it compares with. Types of traffic have the same
/// connections for a seed where they have the same workload.
fn number(results: &Results, other: &Results, compare: &Compare) -> Estimate {
    let quantity = quantity(&compare.quantity);
    let to_quantity = compare.to_quantity.as_deref();
    let to_quantity = to_quantity.map_or(quantity, self::quantity);
    if compare.form == Form::Rank {
        let roles = named(&compare.of);
        return results.per_seed_with(other, |values, others| {
            let of = all(quantity, values, &roles)?;
            rank_correlation(&of, &all(to_quantity, others, &roles)?)
        });
    }
    let (of, of_many) = select(results, &compare.of, &compare.to, quantity);
    if compare.to.is_empty() {
        let ours = results.per_seed(|values| average(quantity, values, &of));
        return match compare.form {
            Form::Percent => ours.scaled(100.0),
            _ => ours,
        };
    }
    // Equal words select the same schemes in both types of traffic.
    let (to, to_many) = match compare.to == compare.of {
        true => (of.clone(), 1),
        false => select(other, &compare.to, &compare.of, to_quantity),
    };
    let ours = results.per_seed_with(other, |values, others| {
        let ratio = average(quantity, values, &of)? / average(to_quantity, others, &to)?;
        Some(match compare.form {
            Form::Percent => 100.0 * (1.0 - ratio),
            Form::Above => 100.0 * (ratio - 1.0),
            Form::Ratio | Form::Rank => ratio,
        })
    });
    ours.one_of(of_many * to_many)
}

/// Values of several schemes for a seed.
fn all(quantity: Quantity, values: &Values<'_>, roles: &[&str]) -> Option<Vec<f64>> {
    let of = |role: &&str| quantity.of(values.results(), values, role);
    roles.iter().map(of).collect()
}

/// Mean of several schemes for a seed.
fn average(quantity: Quantity, values: &Values<'_>, roles: &[&str]) -> Option<f64> {
    let all = all(quantity, values, roles)?;
    Some(all.iter().sum::<f64>() / all.len() as f64)
}

/// Spearman's rank correlation; `None` if one of the two is constant.
fn rank_correlation(of: &[f64], to: &[f64]) -> Option<f64> {
    let [of, to] = [of, to].map(ranks);
    let mean = (of.len() + 1) as f64 / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        let pairs = a.iter().zip(b);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let spread = (product(&of, &of) * product(&to, &to)).sqrt();
    (spread > 0.0).then(|| product(&of, &to) / spread)
}

/// Rank of each value, from 1 on; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal + 1) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

/// The quantity with this name, or the ratio of two: `A / B`.
fn quantity(name: &str) -> Quantity {
    match name.split_once(" / ") {
        Some((of, to)) => Quantity::Quotient(listed(of), listed(to)),
        None => *listed(name),
    }
}

fn listed(name: &str) -> &'static Quantity {
    let found = QUANTITIES.iter().find(|(known, _)| *known == name);
    &found.unwrap_or_else(|| panic!("no quantity '{name}'")).1
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

/// The schemes that `words` mean: one by its name, that of `highest:`, `lowest:` or `middle:` and names, or all of `mean:`
/// and names. `all` are the schemes of the paper, `AQMs` RED, ARED, CoDel and PIE, `unprotected` those that lose a noticeable
/// part of the SYNs; `rest` are the schemes of the paper that neither these words nor `opposite` name. The number says of how
/// many the result is one that our numbers have chosen.
fn select(results: &Results, words: &str, opposite: &str, quantity: Quantity) -> (Vec<&'static str>, usize) {
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
        "" => (vec![roles[0]], 1),
        "highest" => (vec![highest(results, &roles, quantity)], roles.len()),
        "lowest" => (vec![lowest(results, &roles, quantity)], roles.len()),
        "middle" => (vec![middle(results, &roles, quantity)], roles.len()),
        "mean" => (roles, 1),
        _ => panic!("'{words}': expected highest, lowest, middle or mean"),
    }
}

/// The schemes that are named, without `rest`.
fn named(words: &str) -> Vec<&'static str> {
    let names = words.rsplit_once(": ").map_or(words, |(_, names)| names);
    let each = names.split(", ").filter(|name| !matches!(*name, "" | "rest"));
    each.flat_map(|name| match name {
        "all" => PUBLISHED.to_vec(),
        "AQMs" => PLAIN_AQMS.to_vec(),
        "unprotected" => WITHOUT_PROTECTION.to_vec(),
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
        let compared: Vec<_> = data.claims.iter().filter_map(|claim| claim.compare.as_ref()).collect();
        assert!(compared.len() > 40);
        for compare in compared {
            quantity(&compare.quantity);
            compare.to_quantity.as_deref().map(quantity);
            named(&compare.of);
            named(&compare.to);
            if let Some(name) = &compare.to_traffic {
                traffic(name);
            }
        }
        for (name, _) in QUANTITIES {
            let uses = |words: &str| words.split(" / ").any(|word| word == *name);
            let mut compared = data.claims.iter().filter_map(|it| it.compare.as_ref());
            let used = compared.any(|it| uses(&it.quantity) || it.to_quantity.as_deref().is_some_and(uses));
            assert!(used, "{name}");
        }
    }

    #[test]
    fn ranks_of_equal_values_are_shared() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0]), [2.5, 1.0, 2.5]);
        let falls = rank_correlation(&[1.0, 2.0, 30.0], &[3.0, 2.0, 1.0]);
        assert_eq!(falls, Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
    }
}
