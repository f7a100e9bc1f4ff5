//! What the columns and marks of a comparison's tables mean: below the tables, in the help, and in `docs/reference/columns.md`.

use super::applications::kinds;
use super::groups;
use super::metric::{Metric, Shown, columns as metrics};
use crate::columns::{self, Column};
use crate::format::count;
use gentle_experiment::MATTERS;
use gentle_experiment::results::{Comparison, HEADLINE, SizeBin};

/// The largest difference that does not matter, `1 %`.
pub(super) fn near() -> String {
    format!("{} %", 100.0 * MATTERS)
}

impl From<&Metric> for Column {
    fn from(metric: &Metric) -> Column {
        Column { head: format!("{} {}", metric.subject, metric.detail), meaning: metric.explanation }
    }
}

/// All columns of the table of connections and links, in reading order, then those of the tables of applications and of
/// the table of groups, each list with its title.
pub fn columns() -> Vec<(&'static str, Vec<Column>)> {
    let bins = [SizeBin { min_segments: 1, max_segments: Some(3), n: 0, unfinished: 0, mean_s: None, ci95_s: None }];
    let everything = Shown {
        results: &[],
        bins: &bins,
        leads: true,
        several: true,
        open: false,
        long: [true; 2],
        marks: true,
        failed: true,
    };
    let connections = ("Connections and links", metrics(&everything));
    std::iter::once(connections)
        .chain(kinds())
        .map(|(title, metrics)| (title, metrics.iter().map(Column::from).collect()))
        .chain([("Groups of workloads", groups::columns(&bins))])
        .collect()
}

/// Meaning of `metrics` in one sentence. Percentiles explain themselves.
pub(super) fn legend<'a>(metrics: impl Iterator<Item = &'a Metric>) -> String {
    let is_percentile = |metric: &Metric| matches!(metric.detail, "p50" | "p95" | "p99");
    columns::legend(metrics.filter(|metric| !is_percentile(metric)).map(Column::from))
}

/// Meaning of the marks that a comparison shows, one sentence each; `bold` is whether its tables have bold numbers.
pub(super) fn marks(comparison: &Comparison, bold: bool) -> Vec<String> {
    let results = &comparison.results;
    let headline = || results.iter().filter_map(|r| r.paired.get(HEADLINE));
    let mut marks = Vec::new();
    if comparison.seeds.len() > 1 {
        marks.push(format!(
            "±: 95 % confidence interval over {} seeds, of each number alone.",
            count(comparison.seeds.len() as u64)
        ));
    }
    if headline().any(|paired| paired.verdict.is_some()) {
        marks.push(match results.len() {
            0..=2 => "*: differs from the reference beyond chance, by the ratio in each seed.".to_owned(),
            several => format!(
                "*: differs from the reference beyond chance, by the ratio in each seed, corrected for {} comparisons.",
                several - 1
            ),
        });
    }
    let any_best = || results.iter().any(|r| r.paired.values().any(|paired| paired.best));
    if bold && any_best() {
        marks.push(format!(
            "Bold: the best of the column, and what is within {} of it; no bold: the seeds cannot tell.",
            near()
        ));
    }
    marks
}
