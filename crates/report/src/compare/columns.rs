//! What the columns and marks of a comparison's tables mean: below the tables, in the help, and in `docs/columns.md`.

use super::applications::kinds;
use super::metric::{Metric, Shown, columns as metrics};
use crate::format::{count, plain};
use gentle_experiment::MATTERS;
use gentle_experiment::results::{Comparison, HEADLINE, SizeBin};

/// The largest difference that does not matter, `1 %`.
pub(super) fn near() -> String {
    format!("{} %", 100.0 * MATTERS)
}

/// A column of a table and its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Head of the column: subject and statistic, `loss SYN`.
    pub head: String,
    /// Its meaning, as a noun phrase or clause.
    pub meaning: &'static str,
}

impl From<&Metric> for Column {
    fn from(metric: &Metric) -> Column {
        Column {
            head: format!("{} {}", metric.subject, metric.detail),
            meaning: metric.explanation,
        }
    }
}

/// All columns of the table of connections and links, in reading order, then those of the tables of applications, each
/// with its title.
pub fn columns() -> Vec<(&'static str, Vec<Column>)> {
    let bins = [SizeBin {
        min_segments: 1,
        max_segments: Some(3),
        n: 0,
        unfinished: 0,
        mean_s: None,
        ci95_s: None,
    }];
    let everything = Shown {
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
        .collect()
}

/// Meaning of `metrics` in one sentence. Percentiles explain themselves; of columns with one meaning the first is named.
pub(super) fn legend<'a>(metrics: impl Iterator<Item = &'a Metric>) -> String {
    let mut explained: Vec<Column> = Vec::new();
    for metric in metrics {
        let column = Column::from(metric);
        let known = explained
            .iter()
            .any(|other| other.meaning == column.meaning);
        let is_percentile = matches!(metric.detail, "p50" | "p95" | "p99");
        if !known && !is_percentile && !column.meaning.is_empty() {
            explained.push(column);
        }
    }
    let explained = explained
        .iter()
        .map(|column| format!("{}: {}", plain(&column.head), column.meaning));
    explained.collect::<Vec<String>>().join("; ") + "."
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
    let any_best = || {
        results
            .iter()
            .any(|r| r.paired.values().any(|paired| paired.best))
    };
    if bold && any_best() {
        marks.push(format!(
            "Bold: the best of the column, and what is within {} of it; no bold: the seeds cannot tell.",
            near()
        ));
    }
    marks
}
