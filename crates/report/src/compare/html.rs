//! HTML page of a comparison: one file with its data, styles and drawing library, which opens without network access.

use super::applications::applications;
use super::columns::marks;
use super::conclusions::{conclusions, segments};
use super::experiment::experiment;
use super::groups;
use super::metric::{Metric, metrics};
use super::noticed::{Noticed, noticed};
use crate::format::{count, plural, rate, time, unbroken};
use crate::page::{Origin, Provenance, Shell};
use crate::terms::{Part, Reader, Sentence};
use askama::Template;
use gentle_experiment::results::{Comparison, LinkSummary, SchemeResult};

#[derive(Template)]
#[template(path = "compare.html")]
struct Page<'a> {
    origin: Provenance<'a>,
    title: &'a str,
    population: Sentence,
    /// Sentences before the picture, and after it.
    answer: Vec<Sentence>,
    verdict: Vec<Sentence>,
    next_step: Option<String>,
    notes: Vec<String>,
    /// Leading chart; `None` for a single scheme.
    headline: Option<Headline>,
    /// Numbers of applications that their users notice, a chart each; empty for a single scheme.
    noticed: Vec<Noticed>,
    /// Meaning of the marks in these charts.
    noticed_hint: String,
    /// Whether there are connections, to which most charts belong.
    connections: bool,
    /// Whether there are confidence intervals.
    intervals: bool,
    /// Meaning of the marks in the tables.
    marks: String,
    /// Table of connections and links; without rows if no run has finished.
    numbers: Table<'a>,
    /// Titles and tables of applications.
    applications: Vec<(String, Table<'a>)>,
    groups: Vec<groups::Row<'a>>,
    group_columns: Vec<groups::Column>,
    facts: Vec<(&'static str, Vec<String>)>,
    shell: Shell,
}

/// Table with a row for each scheme.
struct Table<'a> {
    columns: Vec<Column>,
    rows: Vec<Row<'a>>,
}

/// Leading chart.
struct Headline {
    caption: String,
    hint: String,
}

struct Column {
    subject: String,
    detail: String,
    explanation: &'static str,
}

struct Row<'a> {
    label: &'a str,
    cells: Vec<Shown>,
}

/// Number as text, and as a sort key.
struct Shown {
    text: String,
    key: String,
    best: bool,
}

/// Formats the comparison as one HTML file that needs neither other files nor network access.
pub fn html(comparison: &Comparison, origin: &Origin) -> String {
    let conclusions = conclusions(comparison);
    let applications = applications(comparison).into_iter();
    let applications = applications.map(|application| (application.title, table(comparison, application.metrics)));
    let connections = comparison.results.iter().any(|r| r.connections > 0);
    let (groups, group_columns) = groups::groups(comparison);
    let mut reader = Reader::default();
    let page = Page {
        origin: Provenance::new(origin, &comparison.gentle),
        title: &comparison.scenario.title,
        population: reader.sentence(&population(comparison)),
        answer: reader.sentences(conclusions.headline.iter().map(|s| unbroken(s))),
        verdict: reader.sentences(conclusions.verdict.iter().map(|s| unbroken(s))),
        next_step: conclusions.next_step.as_deref().map(unbroken),
        notes: conclusions.notes.iter().map(|s| unbroken(s)).collect(),
        headline: headline(comparison).filter(|_| connections),
        noticed: if comparison.results.len() > 1 { noticed(comparison) } else { Vec::new() },
        noticed_hint: reference_marks(comparison).unwrap_or_default(),
        connections,
        intervals: comparison.results.iter().any(|r| r.response_time_s.ci95.is_some()),
        marks: unbroken(&marks(comparison, true).join(" ")),
        numbers: table(comparison, metrics(comparison)),
        applications: applications.collect(),
        groups,
        group_columns,
        facts: facts(comparison),
        shell: Shell::new(
            include_str!("../../assets/compare.css"),
            &[
                include_str!("../../assets/compare/schemes.js"),
                include_str!("../../assets/compare/rows.js"),
                include_str!("../../assets/compare/noticed.js"),
                include_str!("../../assets/compare/labels.js"),
                include_str!("../../assets/compare/lines.js"),
                include_str!("../../assets/compare/main.js"),
            ],
            comparison,
        )
        .schemes()
        .csv(&csv_text(comparison)),
    };
    page.render().expect("a template that compiles renders into a string")
}

/// Table with a row for each scheme.
fn table(comparison: &Comparison, metrics: Vec<Metric>) -> Table<'_> {
    let mut columns = Vec::new();
    let mut rows: Vec<Row<'_>> =
        comparison.results.iter().map(|r| Row { label: &r.label, cells: Vec::new() }).collect();
    for metric in metrics {
        let values = metric.measure(&comparison.results);
        let (scale, best) = (metric.scale(&values), metric.best(&comparison.results));
        let reference = comparison.reference.as_deref();
        let cells = comparison.results.iter().zip(&values).zip(best);
        for (row, ((result, measured), best)) in rows.iter_mut().zip(cells) {
            row.cells.push(Shown {
                text: metric.show(&scale, result, reference, *measured, true),
                key: measured.value.map_or(String::new(), key),
                best,
            });
        }
        let detail = match scale.unit {
            "" => metric.detail.to_owned(),
            unit => format!("{}, {unit}", metric.detail),
        };
        columns.push(Column { subject: metric.subject, detail, explanation: metric.explanation });
    }
    Table { columns, rows }
}

/// Sort key of a value: nine digits, which distinguish any values that the table shows.
fn key(value: f64) -> String {
    let short: f64 = format!("{value:.8e}").parse().expect("a formatted number is a number");
    short.to_string()
}

fn csv_text(comparison: &Comparison) -> String {
    let mut text = Vec::new();
    super::csv(comparison, &mut text).expect("memory takes everything");
    String::from_utf8(text).expect("made of text")
}

/// Headline on the shortest connections, which suffer most from a lost SYN, relative to the reference.
fn headline(comparison: &Comparison) -> Option<Headline> {
    let [first, _, ..] = comparison.results.as_slice() else {
        return None;
    };
    let bin = first.response_time_by_size.first()?;
    let sizes = segments(bin.min_segments, bin.max_segments);
    Some(Headline {
        caption: format!("Response time of small transfers ({sizes})"),
        hint: unbroken(&format!(
            "Shorter is faster. On the right: the mean, and how many times as fast as the reference, unless that may be chance. {}",
            reference_marks(comparison)?
        )),
    })
}

/// Meaning of dashed lines and whiskers in charts that compare with the reference.
fn reference_marks(comparison: &Comparison) -> Option<String> {
    let reference = comparison.reference.as_ref()?;
    let whiskers = match comparison.seeds.len() {
        0 | 1 => "",
        _ => " Whiskers: 95 % confidence interval of the comparison with it; an arrow: it ends outside.",
    };
    Some(unbroken(&format!("Dashed line: {reference}, the reference.{whiskers}")))
}

fn population(comparison: &Comparison) -> String {
    let schemes = plural(comparison.results.len() as u64, "scheme", "schemes");
    unbroken(&format!("{schemes} on {}", experiment(comparison)))
}

/// Facts needed to reproduce every number, as names with one or more lines.
fn facts(comparison: &Comparison) -> Vec<(&'static str, Vec<String>)> {
    let s = &comparison.scenario;
    let link = |l: &LinkSummary| unbroken(&format!("{}, {} one way", rate(l.rate_bps), time(l.delay_s)));
    let warmup = match s.warmup_s {
        0.0 => String::new(),
        warmup => format!(", the first {} excluded from all results", time(warmup)),
    };
    let mut facts = vec![
        ("Scenario", vec![format!("{}: {}", s.name, s.title)]),
        ("Source", vec![s.source.clone()]),
        ("Link under test", vec![link(&s.down)]),
        ("Reverse link", vec![format!("{}, {}", link(&s.up), s.up.qdisc)]),
        ("Workload", s.workloads.clone()),
        (
            "End hosts",
            std::iter::once(s.profile.clone()).chain(s.tcp.iter().map(|(k, v)| format!("{k} = {v}"))).collect(),
        ),
        (
            "Length",
            vec![unbroken(&format!(
                "{} of arrivals{warmup}, then up to {} to finish",
                time(s.duration_s),
                time(s.drain_s)
            ))],
        ),
        ("Seeds", vec![s.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")]),
        ("Assumptions where the source is silent", s.assumptions.clone()),
        ("Schemes", comparison.results.iter().map(scheme_facts).collect()),
        ("Made by", vec![format!("gentle {}, results schema {}", comparison.gentle, comparison.version)]),
    ];
    facts.retain(|(_, lines)| !lines.is_empty());
    facts
}

fn scheme_facts(r: &SchemeResult) -> String {
    let options: Vec<String> = r.options.iter().map(|(k, v)| format!("{k} {v}")).collect();
    let dropped = r.drops.iter().filter(|(_, n)| **n > 0);
    let drops: Vec<String> = dropped.map(|(reason, n)| format!("{reason} {}", count(*n))).collect();
    let mut text = r.label.clone();
    if !options.is_empty() {
        text += &format!(": {}", options.join(", "));
    }
    if !drops.is_empty() {
        text += &format!("; drops: {}", drops.join(", "));
    }
    text
}
