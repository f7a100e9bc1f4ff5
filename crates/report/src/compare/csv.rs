//! CSV output of a comparison, with one row per run.

use crate::format::inert;
use ::csv::{Error, Writer};
use gentle_experiment::measure::Metric;
use gentle_experiment::results::{ApplicationResult, Comparison, SchemeResult};
use serde::Serialize;
use serde_json::Value;
use std::io::Write;

/// Interval of the headline, a column that exists only in the row over all seeds.
const OF_HEADLINE: &str = "response_time_by_size.0.ci95_s";

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
    let default = SchemeResult::default();
    let of_scheme = intervals(SchemeResult::metrics(), comparison.results.first().unwrap_or(&default));
    let of_groups = names(comparison).into_iter().filter_map(|name| {
        let mean = name.strip_suffix(".mean")?;
        mean.starts_with("groups.").then(|| format!("{mean}.ci95"))
    });
    let applications = (comparison.results.first()).map_or(0, |result| result.applications.len());
    let of_applications = (0..applications).flat_map(|index| {
        let intervals = intervals(ApplicationResult::metrics(), &ApplicationResult::default());
        intervals.into_iter().map(move |interval| format!("applications.{index}.{interval}"))
    });
    let of_scheme = of_scheme.into_iter().chain([OF_HEADLINE.to_owned()]);
    of_scheme.chain(of_groups).chain(of_applications).collect()
}

/// Paths of the intervals of `metrics`, as far as `result` has them.
fn intervals(metrics: Vec<Metric>, result: &impl Serialize) -> Vec<String> {
    let json = serde_json::to_value(result).unwrap_or_default();
    let shown = metrics.into_iter().filter(|metric| metric.number.interval);
    let paths = shown.map(|metric| match metric.name.strip_suffix(".mean") {
        Some(of) => format!("{of}.ci95"),
        None => match metric.name.rsplit_once('.') {
            Some((of, number)) => format!("{of}_ci95.{number}"),
            None => format!("{}_ci95", metric.name),
        },
    });
    paths.filter(|path| found(&json, path).is_some()).collect()
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
    found(json, path).map_or(String::new(), text)
}

fn found<'a>(json: &'a Value, path: &str) -> Option<&'a Value> {
    json.pointer(&format!("/{}", path.replace('.', "/")))
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
