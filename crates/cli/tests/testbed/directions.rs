//! Directions of losses in captures with known causes (`causes/make`).

use crate::causes::{Judged, POINTS, Truth, assert_few_wrong, document, make, table_of};
use serde_json::Value;
use std::collections::BTreeMap;

/// Causes of `make` that lose packets in one direction or in both.
const LOSSY: [&str; 3] = ["congestion", "random-loss", "policer"];

#[test]
fn directions_of_losses_are_found() {
    let Some(truth) = make(&[101, 102], &LOSSY) else { return };
    assert_few_wrong("attempts", &judge(&truth));
}

/// The table in `docs/concepts/accuracy.md`, from 30 seeds that served for nothing else.
#[test]
#[ignore = "make test-all"]
fn full_size_directions_are_those_of_the_documentation() {
    let seeds: Vec<u64> = (501..=530).collect();
    let Some(truth) = make(&seeds, &LOSSY) else { return };
    let judged = judge(&truth);
    assert_few_wrong("attempts", &judged);
    document("directions", &table_of("attempts", &judged));
}

/// Packets lost toward the server and toward the client, as all points together show them.
fn lost(variant: &Value) -> [u64; 2] {
    let handshakes = variant["handshakes"].as_array().unwrap();
    let sum = |of: &dyn Fn(&Value) -> &Value| handshakes.iter().filter_map(|it| of(it).as_u64()).sum::<u64>();
    let up = sum(&|it| &it["syns_lost"]) + sum(&|it| &it["acks_lost"]) + sum(&|it| &it["data"]["up_lost"]);
    [up, sum(&|it| &it["syn_acks_lost"]) + sum(&|it| &it["data"]["down_lost"])]
}

/// Slow attempts by the direction that gentle names, in variants by the direction in which they lost packets. A direction with
/// less than a tenth of the other's losses need not be named.
fn judge(truth: &Truth) -> BTreeMap<String, Judged> {
    let mut judged: BTreeMap<String, Judged> = BTreeMap::new();
    for variant in &truth.variants {
        let [up, down] = lost(variant);
        let (is_up, is_down) = (up * 10 >= down && up > 0, down * 10 >= up && down > 0);
        let made = match (is_up, is_down) {
            (true, true) => "both",
            (true, false) => "to-server",
            _ => "to-client",
        };
        let cause = variant["asked"].as_str().unwrap();
        let of_kind = judged.entry(format!("{cause}, {made}")).or_default();
        for point in POINTS {
            for found in truth.analysis(variant, point)["causes"].as_array().unwrap() {
                if found["evidence"]["attempts_lost_either_way"].is_null() {
                    continue;
                }
                let attempts = found["group"]["attempts"].as_u64().unwrap();
                let direction = found["direction"].as_str();
                *of_kind.kinds.entry(direction.unwrap_or("uncertain").to_owned()).or_default() += attempts;
                match direction {
                    Some(direction) if direction == made => of_kind.right += attempts,
                    Some("to-server" | "to-client") if made == "both" => of_kind.uncertain += attempts,
                    None => of_kind.uncertain += attempts,
                    Some(direction) => {
                        of_kind.wrong += attempts;
                        eprintln!(
                            "{cause} {} at {point}: {direction} for {attempts} attempts, lost {up} up and {down} down; {found}",
                            variant["seed"]
                        );
                    }
                }
            }
        }
    }
    judged
}
