//! Numbers of applications that their users notice: load times of pages, freezes of calls, delays of games.

use super::applications::{columns, kind, title};
use super::metric::Metric;
use crate::format::{Quantity, Scale, list, percent, time};
use gentle_experiment::results::{Comparison, SchemeResult, Verdict};

/// Kinds of applications, those first whose delays most people know.
const KNOWN: [&str; 8] = ["pages", "video_call", "game", "voice", "on_off", "dns", "ssh", "ping"];

/// Maximum number of applications in a sentence.
const NAMED: usize = 3;

/// Number of one application.
pub(super) struct Noticed {
    /// Title of the application.
    pub(super) title: String,
    /// Column with the number.
    pub(super) metric: Metric,
    before: &'static str,
    after: &'static str,
}

impl Noticed {
    fn shown(&self, value: f64) -> String {
        match self.metric.quantity {
            Quantity::Time => time(value),
            Quantity::Share => percent(value),
            quantity => Scale::of(quantity, std::iter::once(value)).show(Some(value)),
        }
    }
}

/// Numbers that were observed, well-known applications first.
pub(super) fn noticed(comparison: &Comparison) -> Vec<Noticed> {
    let applications = comparison.results.first().map_or(&[][..], |first| &first.applications);
    let mut all: Vec<(usize, Noticed)> = (applications.iter().enumerate())
        .filter_map(|(index, result)| {
            let kind = kind(result);
            let (column, before, after) = kind.noticed?;
            let metric = columns(kind, index).into_iter().nth(column)?;
            let values = metric.measure(&comparison.results);
            values.iter().any(|measured| measured.value.is_some()).then_some(())?;
            let rank = KNOWN.iter().position(|name| *name == kind.name).unwrap_or(KNOWN.len());
            Some((rank, Noticed { title: title(kind, result), metric, before, after }))
        })
        .collect();
    all.sort_by_key(|(rank, _)| *rank);
    all.into_iter().map(|(_, noticed)| noticed).collect()
}

/// Sentences on the best-known applications: under the reference, the lowest number of each, and schemes that are worse.
pub(super) fn sentences(comparison: &Comparison, reference: &SchemeResult) -> Vec<String> {
    let value_of = |noticed: &Noticed, r: &SchemeResult| noticed.metric.of_scheme(r).0.value;
    let (mut of_reference, mut lowest, mut worse) = (Vec::new(), Vec::new(), Vec::new());
    for noticed in noticed(comparison) {
        let Some(value) = value_of(&noticed, reference) else {
            continue;
        };
        let values = comparison.results.iter().filter_map(|r| Some((r, value_of(&noticed, r)?)));
        let Some((best, least)) = values.min_by(|a, b| a.1.total_cmp(&b.1)) else {
            continue;
        };
        of_reference.push(format!("{} {}{}", noticed.before, noticed.shown(value), noticed.after));
        let is_worse =
            |r: &&SchemeResult| noticed.metric.of(r).is_some_and(|paired| paired.verdict == Some(Verdict::Worse));
        let labels: Vec<String> = comparison.results.iter().filter(is_worse).map(|r| r.label.clone()).collect();
        if !labels.is_empty() {
            worse.push(format!("{} with {}", noticed.title, list(&labels)));
        }
        lowest.push((format!("{}{}", noticed.shown(least), noticed.after), best.label.as_str()));
        if of_reference.len() == NAMED {
            break;
        }
    }
    if of_reference.is_empty() {
        return Vec::new();
    }
    let schemes = comparison.results.len();
    let lowest = match lowest.iter().all(|(_, label)| *label == lowest[0].1) {
        true => {
            let values: Vec<String> = lowest.iter().map(|(value, _)| value.clone()).collect();
            format!("With {}, the lowest of {schemes} schemes: {}.", lowest[0].1, list(&values))
        }
        false => {
            let values: Vec<String> = lowest.iter().map(|(value, label)| format!("{value} ({label})")).collect();
            format!("The lowest of {schemes} schemes: {}.", list(&values))
        }
    };
    let second = match worse.as_slice() {
        [] => lowest,
        worse => format!("{lowest} Worse than with the reference, beyond chance: {}.", worse.join("; ")),
    };
    vec![format!("With {}, the reference, {}.", reference.label, list(&of_reference)), second]
}
