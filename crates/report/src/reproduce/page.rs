//! HTML pages: one per paper with its figures, and an index of several.

use super::words::{self, EXPLANATION, cell, counts, is_assumption, name, notes, ours, published, reason};
use crate::figure;
use crate::format::unbroken;
use crate::page::{Origin, Provenance, Shell};
use crate::terms::{Part, Reader, Sentence};
use askama::Template;
use gentle_papers::{Assumed, Item, Kind, Reproduction, Table, Verdict, Verdicts};
use serde::Serialize;

#[derive(Template)]
#[template(path = "reproduce.html")]
struct Page<'a> {
    origin: Provenance<'a>,
    paper: &'a str,
    title: &'a str,
    authors: String,
    verdict: Vec<Sentence>,
    notes: Vec<String>,
    sections: Vec<Section<'a>>,
    explanation: &'static str,
    shell: Shell,
}

/// Figure, table or assumption with its claims.
struct Section<'a> {
    id: &'a str,
    anchor: String,
    title: &'a str,
    source: &'a str,
    /// `None` for an assumption.
    verdict: Option<Badge>,
    published: Option<&'a str>,
    charts: Vec<Figure<'a>>,
    claims: Vec<Claim<'a>>,
    tables: Vec<Content<'a>>,
    assumptions: Vec<&'a Assumed>,
    command: &'a str,
}

struct Figure<'a> {
    title: &'a str,
    drawing: String,
}

struct Badge {
    class: &'static str,
    sign: &'static str,
    name: &'static str,
}

struct Claim<'a> {
    name: &'a str,
    anchor: String,
    text: &'a str,
    quantity: &'a str,
    published: String,
    ours: String,
    verdict: Badge,
    reason: Option<String>,
}

struct Content<'a> {
    anchor: String,
    title: &'a str,
    columns: &'a [String],
    rows: Vec<Vec<String>>,
}

#[derive(Template)]
#[template(path = "reproduce-index.html")]
struct Index<'a> {
    origin: Provenance<'a>,
    papers: Vec<Entry<'a>>,
    shell: Shell,
}

struct Entry<'a> {
    paper: &'a str,
    title: &'a str,
    authors: String,
    counts: Vec<(Badge, u32)>,
    items: Vec<(&'a str, String, &'a str, Option<Badge>)>,
}

/// Results that the index has as JSON.
#[derive(Serialize)]
struct Summary<'a> {
    paper: &'a str,
    title: &'a str,
    command: &'a str,
    verdicts: Verdicts,
    items: Vec<(&'a str, Verdict)>,
}

/// Formats a reproduction as one HTML file that needs neither other files nor network access.
pub fn html(reproduction: &Reproduction, origin: &Origin) -> String {
    let page = Page {
        origin: Provenance::new(origin, &reproduction.gentle),
        paper: &reproduction.paper,
        title: &reproduction.title,
        authors: authors(reproduction),
        verdict: Reader::default().sentences(counts(reproduction).iter().map(|sentence| unbroken(sentence))),
        notes: notes(reproduction),
        sections: sections(&reproduction.items),
        explanation: EXPLANATION,
        shell: shell(reproduction),
    };
    page.render().expect("a template that compiles renders into a string")
}

/// Formats an index of several reproductions as an HTML file, with links to `PAPER.html` beside it.
pub fn index(reproductions: &[Reproduction], origin: &Origin) -> String {
    let version = reproductions.first().map_or("", |reproduction| &reproduction.gentle);
    let papers = reproductions.iter().map(|reproduction| Entry {
        paper: &reproduction.paper,
        title: &reproduction.title,
        authors: authors(reproduction),
        counts: by_verdict(reproduction),
        items: (reproduction.items.iter())
            .filter(|item| item.kind != Kind::Claim)
            .map(|item| (item.id.as_str(), anchor(&item.id), item.title.as_str(), badge_of(item)))
            .collect(),
    });
    let summaries: Vec<Summary<'_>> = reproductions.iter().map(summary).collect();
    let page = Index { origin: Provenance::new(origin, version), papers: papers.collect(), shell: shell(&summaries) };
    page.render().expect("a template that compiles renders into a string")
}

fn summary(reproduction: &Reproduction) -> Summary<'_> {
    let items = reproduction.items.iter();
    Summary {
        paper: &reproduction.paper,
        title: &reproduction.title,
        command: &reproduction.command,
        verdicts: reproduction.verdicts,
        items: items.map(|item| (item.id.as_str(), item.verdict)).collect(),
    }
}

fn shell(results: &impl Serialize) -> Shell {
    let css = include_str!("../../assets/reproduce.css");
    Shell::new(css, &[include_str!("../../assets/reproduce.js")], results)
}

fn authors(reproduction: &Reproduction) -> String {
    let parts = [&reproduction.authors, &reproduction.venue];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).map(String::as_str).collect();
    parts.join(". ")
}

fn by_verdict(reproduction: &Reproduction) -> Vec<(Badge, u32)> {
    let found = reproduction.verdicts;
    let counts = [
        (Verdict::Agrees, found.agrees),
        (Verdict::AgreesInOrder, found.agrees_in_order),
        (Verdict::Undecided, found.undecided),
        (Verdict::Differs, found.differs),
        (Verdict::Given, found.given),
        (Verdict::NotPublished, found.not_published),
    ];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    counts.map(|(verdict, count)| (badge(verdict), count)).collect()
}

/// Figures, tables and assumptions, each with the claims that follow it.
fn sections(items: &[Item]) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for item in items {
        match (item.kind, sections.last_mut()) {
            (Kind::Claim, Some(section)) => section.claims.push(claim(item)),
            _ => sections.push(section(item)),
        }
    }
    sections
}

fn section(item: &Item) -> Section<'_> {
    let text = item.published.as_ref().map(|published| published.text.as_str());
    let anchor = anchor(&item.id);
    let chart = |chart| Figure { title: gentle_papers::Chart::title(chart), drawing: figure::inline(chart, &item.id) };
    Section {
        id: &item.id,
        title: &item.title,
        source: &item.source,
        verdict: badge_of(item),
        published: text.filter(|text| !text.is_empty()),
        charts: item.charts.iter().map(chart).collect(),
        claims: Vec::new(),
        tables: (item.tables.iter().enumerate())
            .map(|(i, table)| content(table, format!("{anchor}-table-{}", i + 1)))
            .collect(),
        assumptions: match is_assumption(item) {
            true => Vec::new(),
            false => item.assumptions.iter().collect(),
        },
        command: &item.command,
        anchor,
    }
}

fn claim(item: &Item) -> Claim<'_> {
    Claim {
        name: name(item),
        anchor: anchor(&item.id),
        text: &item.title,
        quantity: &item.quantity,
        published: unbroken(&published(item)),
        ours: unbroken(&ours(item)),
        verdict: badge(item.verdict),
        reason: reason(item),
    }
}

fn content(table: &Table, anchor: String) -> Content<'_> {
    Content {
        anchor,
        title: &table.title,
        columns: &table.columns,
        rows: table.rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
    }
}

fn badge_of(item: &Item) -> Option<Badge> {
    (!is_assumption(item)).then(|| badge(item.verdict))
}

fn badge(verdict: Verdict) -> Badge {
    Badge {
        class: match verdict {
            Verdict::Agrees => "agrees",
            Verdict::AgreesInOrder => "in-order",
            Verdict::Undecided => "vague",
            Verdict::Differs => "differs",
            Verdict::Given | Verdict::NotPublished => "unpublished",
        },
        sign: words::sign(verdict),
        name: verdict.name(),
    }
}

/// Name of an item as the name of an element.
fn anchor(id: &str) -> String {
    id.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "-")
}
