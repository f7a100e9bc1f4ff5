//! CSV output of a comparison, with one row per run.

use crate::format::inert;
use ::csv::{Error, Writer};
use gentle_experiment::results::Comparison;
use serde_json::Value;
use std::io::Write;

/// Columns that exist only in the row over all seeds.
const OVER_SEEDS: [&str; 20] = [
    "response_time_s.ci95",
    "rtt_s.ci95",
    "handshake_s.ci95",
    "queue_delay_s.ci95",
    "loss_ci95.all",
    "loss_ci95.data",
    "loss_ci95.syn",
    "loss_ci95.synack",
    "loss_ci95.handshake",
    "links.down.loss_ci95.all",
    "links.down.loss_ci95.handshake",
    "links.up.loss_ci95.handshake",
    "retransmission_ci95.packet_probability",
    "retransmission_ci95.syn_probability",
    "retransmission_ci95.delay_mean_s",
    "retransmission_ci95.delay_mean_syn_part_s",
    "utilization_ci95",
    "long_goodput_bps.ci95",
    "links.up.long_goodput_bps.ci95",
    "response_time_by_size.0.ci95_s",
];

/// Numbers of an application that have a confidence interval.
const OF_APPLICATIONS: [&str; 10] = [
    "delay_s",
    "jitter_s",
    "loss",
    "useless",
    "late_frames",
    "stalls_per_minute",
    "stalled",
    "connect_s",
    "transaction_s",
    "goodput_bps",
];

/// Paired comparisons with the reference: the metrics, and the statistics of each.
const PAIRED: [&str; 2] = ["response_time_by_size.0.mean_s", "response_time_s.mean"];
const OF_PAIRED: [&str; 8] = ["difference", "ci95", "factor", "factor_ci95", "p", "verdict", "best", "undecided"];

/// Writes the scalar results: for each scheme one row per seed, and one over all seeds, with `all` as the seed.
///
/// Columns: `scheme` (its name), `label` (the scheme as specified), `seed`; then every number in the results of the
/// seeds, named by its path in the JSON (`loss.syn`), in order of first appearance; then the columns of the row `all`
/// only: the half-widths of the 95 % confidence intervals, and the difference of the mean response time (of the
/// shortest connections, then of all) to the reference. The columns of an application begin with its name
/// (`voice.delay_s.p99`) instead of its number in the JSON. Fractions are 0 to 1, times are seconds, an empty field
/// means "no observation".
pub fn csv(comparison: &Comparison, to: impl Write) -> Result<(), Error> {
    let names = names(comparison);
    let over_seeds = over_seeds(comparison);
    let title = |name: &String| match OfApplication::parse(name) {
        Some(part) => part.title(comparison),
        None => inert(name),
    };
    let titles: Vec<String> = names.iter().map(title).collect();
    let over_seeds_titles: Vec<String> = over_seeds.iter().map(title).collect();
    let paired = PAIRED.iter().flat_map(|name| OF_PAIRED.map(|part| (format!("paired.{name}.{part}"), (*name, part))));
    let (paired_names, paired): (Vec<String>, Vec<(&str, &str)>) = paired.unzip();
    let mut out = Writer::from_writer(to);
    let head = ["scheme", "label", "seed"].map(str::to_owned);
    let head = head.iter().chain(&titles).chain(&over_seeds_titles).chain(&paired_names);
    out.write_record(head)?;
    for result in &comparison.results {
        let scheme = |seed: String| [inert(&result.scheme), inert(&result.label), seed];
        for (index, seed) in comparison.seeds.iter().enumerate() {
            let value = |name: &String| {
                let found = result.by_seed.iter().find(|series| series.name == *name);
                let value = found.and_then(|series| *series.values.get(index)?);
                value.filter(|value| value.is_finite()).map_or(String::new(), |value| value.to_string())
            };
            let empty = vec![String::new(); over_seeds.len() + paired.len()];
            let row = scheme(seed.to_string()).into_iter();
            out.write_record(row.chain(names.iter().map(value)).chain(empty))?;
        }
        let all = serde_json::to_value(result).unwrap_or_default();
        let row = scheme("all".to_owned()).into_iter();
        let numbers = names.iter().chain(&over_seeds).map(|name| at(&all, name));
        let paired = paired.iter().map(|(name, part)| text(&all["paired"][*name][*part]));
        out.write_record(row.chain(numbers).chain(paired))?;
    }
    out.flush()?;
    Ok(())
}

/// Names of all numbers that exist per seed.
fn names(comparison: &Comparison) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for series in comparison.results.iter().flat_map(|result| &result.by_seed) {
        if !names.contains(&series.name) {
            names.push(series.name.clone());
        }
    }
    names
}

/// Columns that exist only in the row over all seeds: those of the connections, then of groups and of applications.
fn over_seeds(comparison: &Comparison) -> Vec<String> {
    let applications = (comparison.results.first()).map_or(0, |result| result.applications.len());
    let of_applications =
        (0..applications).flat_map(|index| OF_APPLICATIONS.map(|name| format!("applications.{index}.{name}.ci95")));
    let of_groups = names(comparison).into_iter().filter_map(|name| {
        let mean = name.strip_suffix(".mean")?;
        mean.starts_with("groups.").then(|| format!("{mean}.ci95"))
    });
    (OVER_SEEDS.map(str::to_owned).into_iter()).chain(of_groups).chain(of_applications).collect()
}

/// Parts of the path of a number of an application.
struct OfApplication<'a> {
    index: usize,
    number: &'a str,
}

impl OfApplication<'_> {
    /// `None`: the path is that of another number.
    fn parse(path: &str) -> Option<OfApplication<'_>> {
        let (index, number) = path.strip_prefix("applications.")?.split_once('.')?;
        let index = index.parse().ok()?;
        Some(OfApplication { index, number })
    }

    /// Head of the column.
    fn title(&self, comparison: &Comparison) -> String {
        let result = comparison.results.first();
        let application = result.and_then(|result| result.applications.get(self.index));
        let name = application.map_or("", |application| &application.application);
        inert(&format!("{name}.{}", self.number))
    }
}

/// Number at a dotted path of the JSON.
fn at(json: &Value, path: &str) -> String {
    json.pointer(&format!("/{}", path.replace('.', "/"))).map_or(String::new(), text)
}

/// Value as a CSV field.
fn text(value: &Value) -> String {
    match value {
        Value::Number(n) => n.to_string(),
        Value::String(text) => inert(text),
        Value::Bool(yes) => yes.to_string(),
        _ => String::new(),
    }
}
