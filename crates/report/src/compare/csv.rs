//! One row a run, for notebooks.

use ::csv::{Error, Writer};
use gentle_sim::results::{Comparison, SchemeResult};
use serde_json::Value;
use std::io::Write;

/// Numbers that exist only over all seeds: empty in a seed's row.
const OVER_SEEDS: [&str; 14] = [
    "response_time_s.ci95",
    "rtt_s.ci95",
    "handshake_s.ci95",
    "queue_delay_s.ci95",
    "loss_ci95.all",
    "loss_ci95.data",
    "loss_ci95.syn",
    "loss_ci95.synack",
    "retransmission_ci95.packet_probability",
    "retransmission_ci95.syn_probability",
    "retransmission_ci95.delay_mean_s",
    "retransmission_ci95.delay_mean_syn_part_s",
    "utilization_ci95",
    "long_goodput_bps.ci95",
];

/// Writes the scalar results: per scheme one row a seed and one, with `all` for the seed, over all seeds.
///
/// Columns: `scheme` (its name), `label` (the scheme as asked for), `seed`; then every number that the seeds' results
/// carry, named by its path in the JSON (`loss.syn`), in the order in which they first appear; then the half-widths of
/// the 95 % confidence intervals, which only the row `all` has. Fractions are 0 to 1, times are seconds, an empty field
/// means "no observation".
pub fn csv(comparison: &Comparison, to: impl Write) -> Result<(), Error> {
    let names = names(comparison);
    let mut out = Writer::from_writer(to);
    out.write_record(["scheme", "label", "seed"].iter().chain(&names))?;
    for result in &comparison.results {
        for seed in &result.by_seed {
            let number = seed.seed.to_string();
            let head = [result.scheme.clone(), result.label.clone(), number];
            let value = |name: &&str| {
                let found = seed
                    .values
                    .iter()
                    .find(|(n, _)| n == name)
                    .and_then(|(_, v)| *v);
                found
                    .filter(|v| v.is_finite())
                    .map_or(String::new(), |v| v.to_string())
            };
            out.write_record(head.into_iter().chain(names.iter().map(value)))?;
        }
        let all = serde_json::to_value(result).unwrap_or_default();
        let head = [
            result.scheme.clone(),
            result.label.clone(),
            "all".to_owned(),
        ];
        out.write_record(
            head.into_iter()
                .chain(names.iter().map(|name| at(&all, name))),
        )?;
    }
    out.flush()?;
    Ok(())
}

fn names(comparison: &Comparison) -> Vec<&'static str> {
    let of_seeds = |r: &'_ SchemeResult| -> Vec<&'static str> {
        r.by_seed
            .iter()
            .flat_map(|s| s.values.iter().map(|(name, _)| *name))
            .collect()
    };
    let mut names = Vec::new();
    for name in comparison
        .results
        .iter()
        .flat_map(of_seeds)
        .chain(OVER_SEEDS)
    {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The number at a dotted path of the JSON.
fn at(json: &Value, path: &str) -> String {
    match json.pointer(&format!("/{}", path.replace('.', "/"))) {
        Some(Value::Number(n)) => n.to_string(),
        _ => String::new(),
    }
}
