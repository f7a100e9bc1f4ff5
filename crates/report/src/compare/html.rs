//! The page: one file with its data, its styles and the library that draws, so that it opens without a network.

use super::groups;
use super::metric::metrics;
use super::words::words;
use crate::format::{count, plural, rate, time, unbroken};
use crate::page::Shell;
use askama::Template;
use gentle_sim::results::{Comparison, LinkSummary, SchemeResult};

#[derive(Template)]
#[template(path = "compare.html")]
struct Page<'a> {
    title: &'a str,
    population: String,
    verdict: Vec<String>,
    notes: Vec<String>,
    columns: Vec<Column>,
    rows: Vec<Row<'a>>,
    groups: Vec<groups::Row<'a>>,
    group_columns: Vec<groups::Column>,
    facts: Vec<(&'static str, Vec<String>)>,
    shell: Shell,
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

/// A number as text, and as a key to sort by.
struct Shown {
    text: String,
    key: String,
    best: bool,
}

/// Draws the comparison as one HTML file that needs no other file and no network.
pub fn html(comparison: &Comparison) -> String {
    let words = words(comparison);
    let mut columns = Vec::new();
    let mut rows: Vec<Row<'_>> = comparison
        .results
        .iter()
        .map(|r| Row {
            label: &r.label,
            cells: Vec::new(),
        })
        .collect();
    for metric in metrics(comparison) {
        let values = metric.measure(&comparison.results);
        let (scale, best) = (metric.scale(&values), metric.best(&values));
        for ((row, measured), best) in rows.iter_mut().zip(&values).zip(best) {
            row.cells.push(Shown {
                text: scale.show_ci(measured.value, measured.ci95),
                key: measured.value.map_or(String::new(), |v| v.to_string()),
                best,
            });
        }
        let detail = match scale.unit {
            "" => metric.detail.to_owned(),
            unit => format!("{}, {unit}", metric.detail),
        };
        columns.push(Column {
            subject: metric.subject,
            detail,
            explanation: metric.explanation,
        });
    }
    let (groups, group_columns) = groups::groups(comparison);
    let page = Page {
        title: &comparison.scenario.title,
        population: population(comparison),
        verdict: words.verdict.iter().map(|s| unbroken(s)).collect(),
        notes: words.notes.iter().map(|s| unbroken(s)).collect(),
        columns,
        rows,
        groups,
        group_columns,
        facts: facts(comparison),
        shell: Shell::new(
            include_str!("../../assets/compare.css"),
            include_str!("../../assets/compare.js"),
            comparison,
        ),
    };
    page.render()
        .expect("a template that compiles renders into a string")
}

fn population(comparison: &Comparison) -> String {
    let connections = comparison
        .results
        .iter()
        .map(|r| r.connections)
        .max()
        .unwrap_or(0);
    format!(
        "{}, {}, {}",
        plural(comparison.results.len() as u64, "scheme", "schemes"),
        plural(comparison.scenario.seeds.len() as u64, "seed", "seeds"),
        plural(connections, "connection each", "connections each"),
    )
}

/// What it takes to trace every number, as names with one or more lines.
fn facts(comparison: &Comparison) -> Vec<(&'static str, Vec<String>)> {
    let s = &comparison.scenario;
    let link = |l: &LinkSummary| {
        unbroken(&format!(
            "{}, {} one way",
            rate(l.rate_bps),
            time(l.delay_s)
        ))
    };
    let warmup = match s.warmup_s {
        0.0 => String::new(),
        warmup => format!(", the first {} left out of every number", time(warmup)),
    };
    let mut facts = vec![
        ("Scenario", vec![format!("{}: {}", s.name, s.title)]),
        ("Source", vec![s.source.clone()]),
        ("Link under test", vec![link(&s.down)]),
        ("Way back", vec![format!("{}, {}", link(&s.up), s.up.qdisc)]),
        ("Workload", s.workloads.clone()),
        (
            "End hosts",
            std::iter::once(s.profile.clone())
                .chain(s.tcp.iter().map(|(k, v)| format!("{k} = {v}")))
                .collect(),
        ),
        (
            "Length",
            vec![unbroken(&format!(
                "{} of arrivals{warmup}, then up to {} to finish",
                time(s.duration_s),
                time(s.drain_s)
            ))],
        ),
        (
            "Seeds",
            vec![
                s.seeds
                    .iter()
                    .map(u64::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
            ],
        ),
        ("Choices made where the source is silent", s.choices.clone()),
        (
            "Schemes",
            comparison.results.iter().map(scheme_facts).collect(),
        ),
        (
            "Made by",
            vec![format!(
                "gentle {}, results schema {}",
                comparison.gentle, comparison.version
            )],
        ),
    ];
    facts.retain(|(_, lines)| !lines.is_empty());
    facts
}

fn scheme_facts(r: &SchemeResult) -> String {
    let options: Vec<String> = r.options.iter().map(|(k, v)| format!("{k} {v}")).collect();
    let dropped = r.drops.iter().filter(|(_, n)| **n > 0);
    let drops: Vec<String> = dropped
        .map(|(reason, n)| format!("{reason} {}", count(*n)))
        .collect();
    let mut text = r.label.clone();
    if !options.is_empty() {
        text += &format!(": {}", options.join(", "));
    }
    if !drops.is_empty() {
        text += &format!("; drops: {}", drops.join(", "));
    }
    text
}
