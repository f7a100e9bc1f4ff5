//! HTML page of an analysis: one file with its data, styles and drawing library, which opens without network access.

use super::section::{Block, Cell, Section};
use super::sections::{begin, notes, sections};
use super::text::paths;
use crate::format::{plain, plural, time, unbroken};
use crate::page::{Origin, Provenance, Shell};
use crate::terms::{Part, Reader, Sentence};
use askama::Template;
use gentle_trace::results::{Analysis, Capture};

#[derive(Template)]
#[template(path = "analyze.html")]
struct Page<'a> {
    origin: Provenance<'a>,
    title: String,
    articles: Vec<Article>,
    shell: Shell,
}

/// Sections above the narrow ones, in this order: on the page, charts come before tables.
const FIRST: [&str; 5] = ["causes", "lookups", "timeline", "top", "intervals"];

/// Sections below the narrow ones, in this order; all others are ordered as in the text.
const REST: [&str; 7] = ["directions", "filters", "vantage", "other-protocols", "flows", "capture", "limits"];

/// Part of the page for one analysis.
struct Article {
    title: String,
    population: String,
    verdict: Vec<Sentence>,
    next_steps: Vec<String>,
    notes: Vec<String>,
    first: Vec<Section>,
    /// Sections placed side by side if there is room.
    narrow: Vec<Section>,
    rest: Vec<Section>,
}

impl Article {
    fn of(analysis: &Analysis, reader: &mut Reader) -> Self {
        let (narrow, wide): (Vec<_>, Vec<_>) = sections(analysis).into_iter().partition(|s| s.narrow);
        let place = |order: &[&str], section: &Section| order.iter().position(|id| *id == section.id);
        let (mut first, mut rest): (Vec<_>, Vec<_>) =
            wide.into_iter().partition(|section| place(&FIRST, section).is_some());
        first.sort_by_key(|section| place(&FIRST, section));
        rest.sort_by_key(|section| place(&REST, section));
        Self {
            title: title(&analysis.captures),
            population: population(analysis),
            verdict: reader.sentences(sentences(&analysis.verdict)),
            next_steps: sentences(&analysis.next_steps),
            notes: sentences(&notes(analysis)),
            first,
            narrow,
            rest,
        }
    }
}

/// Formats the analyses as one HTML file that needs neither other files nor network access.
pub fn html(analyses: &[Analysis], origin: &Origin) -> String {
    let mut reader = Reader::default();
    let page = Page {
        origin: Provenance::new(origin, env!("CARGO_PKG_VERSION")),
        title: match analyses {
            [only] => title(&only.captures),
            _ => plural(analyses.len() as u64, "capture", "captures"),
        },
        articles: analyses.iter().map(|analysis| Article::of(analysis, &mut reader)).collect(),
        shell: Shell::new(
            include_str!("../../assets/analyze.css"),
            &[include_str!("../../assets/analyze.js")],
            &analyses,
        ),
    };
    page.render().expect("a template that compiles renders into a string")
}

/// Files of an analysis without their directories.
fn title(captures: &[Capture]) -> String {
    let paths = paths(captures);
    plain(paths.rsplit('/').next().unwrap_or(&paths))
}

fn sentences(sentences: &[String]) -> Vec<String> {
    sentences.iter().map(|s| unbroken(&plain(s))).collect()
}

fn population(analysis: &Analysis) -> String {
    let packets = analysis.captures.iter().map(|c| c.packets).sum();
    let mut parts = vec![plural(packets, "packet", "packets")];
    if analysis.duration_s > 0.0 {
        let from = begin(analysis).map(|begin| format!(" from {begin}"));
        parts.push(time(analysis.duration_s) + &from.unwrap_or_default());
    }
    let attempts = analysis.handshakes.attempts;
    if attempts > 0 {
        parts.push(plural(attempts, "connection attempt", "connection attempts"));
    }
    unbroken(&parts.join(", "))
}
