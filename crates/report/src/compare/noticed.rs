//! Numbers of applications that their users notice: load times of pages, freezes of calls, delays of games.

use super::applications::{columns, kind, title};
use super::conclusions::{introduced, reference};
use super::metric::Metric;
use crate::format::list;
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
    /// Number under one scheme; `None`: not observed.
    fn of(&self, r: &SchemeResult) -> Option<f64> {
        self.metric.of_scheme(r).0.value
    }
}

/// Numbers that were observed, well-known applications first.
pub(super) fn noticed(comparison: &Comparison) -> Vec<Noticed> {
    let applications = comparison.results.first().map_or(&[][..], |first| &first.applications);
    let mut all: Vec<(usize, Noticed)> = (applications.iter().enumerate())
        .filter_map(|(index, result)| {
            let kind = kind(result);
            // Of a kind without a name nobody knows what is noticed.
            (!kind.name.is_empty()).then_some(())?;
            let (before, after) = kind.words;
            let metric = columns(kind, index).into_iter().next()?;
            let values = metric.measure(&comparison.results);
            values.iter().any(|measured| measured.value.is_some()).then_some(())?;
            let rank = KNOWN.iter().position(|name| *name == kind.name).unwrap_or(KNOWN.len());
            Some((rank, Noticed { title: title(kind, result), metric, before, after }))
        })
        .collect();
    all.sort_by_key(|(rank, _)| *rank);
    all.into_iter().map(|(_, noticed)| noticed).collect()
}

/// Sentences on the best-known applications: their numbers under the reference, and under the other scheme if there are two,
/// else the lowest number of each and the schemes that are worse. None without applications whose users notice anything.
pub fn sentences(comparison: &Comparison) -> Vec<String> {
    let results = &comparison.results;
    let Some(reference) = reference(comparison) else {
        return Vec::new();
    };
    let mut known = noticed(comparison);
    known.retain(|noticed| noticed.of(reference).is_some());
    known.truncate(NAMED);
    if known.is_empty() {
        return Vec::new();
    }
    let of_reference = known.iter().filter_map(|noticed| {
        let value = noticed.of(reference)?;
        Some(format!("{} {}{}", noticed.before, noticed.metric.in_words(value), noticed.after))
    });
    let of_reference = list(&of_reference.collect::<Vec<String>>());
    if let [first, second] = results.as_slice() {
        let other = if std::ptr::eq(first, reference) { second } else { first };
        let values = known.iter().map(|noticed| match noticed.of(other) {
            Some(value) => format!("{}{}", noticed.metric.in_words(value), noticed.after),
            None => format!("nothing was measured of {}", noticed.title),
        });
        let values = list(&values.collect::<Vec<String>>());
        return vec![
            format!("With {}, {of_reference}.", introduced(reference)),
            format!("With {}: {values}.{}", other.label, worse(comparison, &known)),
        ];
    }
    let lowest = known.iter().filter_map(|noticed| {
        let values = results.iter().filter_map(|r| Some((r, noticed.of(r)?)));
        let (best, least) = values.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((format!("{}{}", noticed.metric.in_words(least), noticed.after), best.label.as_str()))
    });
    let lowest: Vec<(String, &str)> = lowest.collect();
    let schemes = results.len();
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
    vec![format!("With {}, the reference, {of_reference}.", introduced(reference)), lowest + &worse(comparison, &known)]
}

/// Scheme to choose for what users notice.
pub(super) struct Choice<'a> {
    pub(super) scheme: &'a SchemeResult,
    /// Numbers in which it is better than the reference, beyond chance, and how many there are.
    pub(super) better: usize,
    pub(super) all: usize,
    /// Largest distance of its numbers to the lowest of all schemes, as a part of the range over all schemes.
    pub(super) farthest: f64,
}

/// Admitted scheme that is better than the reference in some number that users notice, and worse in none, beyond chance.
/// Of several, the one whose numbers are nowhere far from the lowest ([`Choice::farthest`]).
pub(super) fn choice(comparison: &Comparison, admitted: impl Fn(&SchemeResult) -> bool) -> Option<Choice<'_>> {
    let known = noticed(comparison);
    let range = |noticed: &Noticed| {
        let values = || comparison.results.iter().filter_map(|r| noticed.of(r));
        (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max))
    };
    let ranges: Vec<(f64, f64)> = known.iter().map(range).collect();
    let farthest = |r: &SchemeResult| {
        let distances = known.iter().zip(&ranges).map(|(noticed, (least, most))| match noticed.of(r) {
            Some(value) if most > least => (value - least) / (most - least),
            Some(_) => 0.0,
            None => 1.0,
        });
        distances.fold(0.0, f64::max)
    };
    let candidates = comparison.results.iter().filter(|r| admitted(r)).filter_map(|scheme| {
        let verdicts: Vec<Option<Verdict>> =
            known.iter().map(|noticed| noticed.metric.of(scheme).and_then(|paired| paired.verdict)).collect();
        let count = |wanted| verdicts.iter().filter(|verdict| **verdict == Some(wanted)).count();
        let better = count(Verdict::Better);
        (better > 0 && count(Verdict::Worse) == 0).then(|| Choice {
            scheme,
            better,
            all: known.len(),
            farthest: farthest(scheme),
        })
    });
    candidates.min_by(|a, b| a.farthest.total_cmp(&b.farthest))
}

/// Sentence on the schemes under which users notice more than under the reference, beyond chance; empty if there are none.
fn worse(comparison: &Comparison, known: &[Noticed]) -> String {
    let worse = known.iter().filter_map(|noticed| {
        let is_worse =
            |r: &&SchemeResult| noticed.metric.of(r).is_some_and(|paired| paired.verdict == Some(Verdict::Worse));
        let labels: Vec<String> = comparison.results.iter().filter(is_worse).map(|r| r.label.clone()).collect();
        (!labels.is_empty()).then(|| format!("{} with {}", noticed.title, list(&labels)))
    });
    match worse.collect::<Vec<String>>().as_slice() {
        [] => String::new(),
        worse => format!(" Worse than with the reference, beyond chance: {}.", worse.join("; ")),
    }
}
