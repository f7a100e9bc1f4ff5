//! Slow lookups of names with known causes (`dns` of `causes/make`).

use crate::causes::{Judged, POINTS, Truth, assert_few_wrong, document, make, table_of};
use serde_json::Value;
use std::collections::BTreeMap;

#[test]
fn slow_lookups_are_found() {
    let Some(truth) = make(&[101, 102, 103], &["dns"]) else { return };
    assert_few_wrong("slow lookups", &judge(&truth));
}

/// The table in `docs/concepts/accuracy.md`, from 60 seeds that served for nothing else.
#[test]
#[ignore = "make test-all"]
fn full_size_lookups_are_those_of_the_documentation() {
    let seeds: Vec<u64> = (701..=760).collect();
    let Some(truth) = make(&seeds, &["dns"]) else { return };
    let judged = judge(&truth);
    assert_few_wrong("slow lookups", &judged);
    document("lookups", &table_of("slow lookups", &judged));
}

/// Causes in results that are right for a kind of `dns`.
fn is_right(made: &str, kind: &str) -> bool {
    let kinds: &[&str] = match made {
        "one-of-two" => &["dns-pair-loss", "dns-unanswered"],
        "late" => &["dns-late"],
        "silent" | "second-server" => &["dns-loss", "dns-unanswered"],
        _ => &["dns-loss", "dns-pair-loss", "dns-unanswered"],
    };
    kinds.contains(&kind)
}

/// Lookups that waited at each point, compared with those that gentle found. A lookup too many or too few is wrong, unless gentle
/// leaves as many open, or their answers were lost beyond the point.
fn judge(truth: &Truth) -> BTreeMap<String, Judged> {
    let mut judged: BTreeMap<String, Judged> = BTreeMap::new();
    for variant in &truth.variants {
        let made = variant["parameters"]["dns"].as_str().unwrap();
        let of_kind = judged.entry(made.to_owned()).or_default();
        for point in POINTS {
            let fates = variant["lookups"][point].as_array().unwrap();
            let count = |fate: &str| fates.iter().filter(|it| it["kind"] == fate).count() as u64;
            let (slow, unanswered) = (count("slow"), count("unanswered"));
            let lookups = &truth.analysis(variant, point)["lookups"];
            let number = |name: &str| lookups[name].as_u64().unwrap_or(0);
            let empty = Vec::new();
            let causes = lookups["causes"].as_array().unwrap_or(&empty);
            let attempts = |cause: &Value| cause["group"]["attempts"].as_u64().unwrap();
            let mut right = 0;
            for cause in causes {
                let kind = cause["kind"].as_str().unwrap();
                *of_kind.kinds.entry(kind.to_owned()).or_default() += attempts(cause);
                match (is_right(made, kind), kind) {
                    (true, _) => right += attempts(cause),
                    // A loss, but perhaps of one of two queries.
                    (false, "dns-loss") => of_kind.uncertain += attempts(cause),
                    (false, _) => of_kind.wrong += attempts(cause),
                }
            }
            let found: u64 = causes.iter().map(attempts).sum();
            let found_unanswered = number("unanswered");
            let too_many = found.saturating_sub(slow + unanswered);
            let missing = (slow + unanswered).saturating_sub(found);
            let beyond = fates.iter().filter(|it| it["beyond"] == true).count() as u64;
            let unknown = missing.min(number("unseen") + number("undecided") + beyond);
            of_kind.right += right.saturating_sub(too_many);
            of_kind.uncertain += unknown;
            of_kind.wrong += too_many + missing - unknown;
            if too_many + missing > unknown {
                let seed = &variant["seed"];
                eprintln!(
                    "{made} {seed} at {point}: {slow} slow and {unanswered} unanswered; found {found}, {found_unanswered} unanswered; {}",
                    variant["parameters"]
                );
            }
        }
    }
    judged
}
