//! HTML page of a comparison: one file with its data, styles and drawing library, which opens without network access.

use super::applications::applications;
use super::columns::marks;
use super::conclusions::{conclusions, segments};
use super::experiment::experiment;
use super::groups;
use super::metric::{Metric, metrics};
use crate::format::{count, plural, rate, time, unbroken};
use crate::page::{Origin, Provenance, Shell};
use askama::Template;
use gentle_experiment::results::{Comparison, LinkSummary, SchemeResult};
use gentle_experiment::scheme_names;

#[derive(Template)]
#[template(path = "compare.html")]
struct Page<'a> {
    origin: Provenance<'a>,
    title: &'a str,
    population: String,
    verdict: Vec<String>,
    next_step: Option<String>,
    notes: Vec<String>,
    /// Leading chart; `None` for a single scheme.
    headline: Option<Headline>,
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
    let page = Page {
        origin: Provenance::new(origin, &comparison.gentle),
        title: &comparison.scenario.title,
        population: population(comparison),
        verdict: conclusions.headline.iter().chain(&conclusions.verdict).map(|s| unbroken(s)).collect(),
        next_step: conclusions.next_step.as_deref().map(unbroken),
        notes: conclusions.notes.iter().map(|s| unbroken(s)).collect(),
        headline: headline(comparison).filter(|_| connections),
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
                include_str!("../../assets/compare/lines.js"),
                include_str!("../../assets/compare/main.js"),
            ],
            comparison,
        )
        .schemes(&scheme_names())
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
                key: measured.value.map_or(String::new(), |v| v.to_string()),
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

fn csv_text(comparison: &Comparison) -> String {
    let mut text = Vec::new();
    super::csv(comparison, &mut text).expect("memory takes everything");
    String::from_utf8(text).expect("made of text")
}

/// Headline on the shortest connections, which suffer most from a lost SYN, relative to the reference.
fn headline(comparison: &Comparison) -> Option<Headline> {
    let reference = comparison.reference.as_ref()?;
    let [first, _, ..] = comparison.results.as_slice() else {
        return None;
    };
    let bin = first.response_time_by_size.first()?;
    let sizes = segments(bin.min_segments, bin.max_segments);
    Some(Headline {
        caption: format!("Response time of connections of {sizes}"),
        hint: unbroken(&format!(
            "shorter is faster; dashed line: {reference}, the reference; on the right: the mean, and in brackets how many times as fast as the reference, unless that may be chance; whiskers: 95 % confidence interval"
        )),
    })
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
