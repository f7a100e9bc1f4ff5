//! Lookups of names by DNS over UDP.

use super::causes::table;
use crate::analyze::section::Section;
use crate::format::{count, plural, time};
use gentle_trace::results::Analysis;

const TITLE: &str = "Lookups of names (DNS over UDP)";

pub(super) fn lookups(analysis: &Analysis) -> Option<Section> {
    let found = analysis.lookups.as_ref()?;
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    fact("lookups", count(found.lookups));
    fact("answered", count(found.answered));
    let others = [
        ("unanswered", found.unanswered),
        ("no answer to client or from server captured", found.unseen),
        ("undecided when the capture ended", found.undecided),
    ];
    for (name, n) in others.into_iter().filter(|(_, n)| *n > 0) {
        fact(name, count(n));
    }
    let copies = match found.copies {
        0 => String::new(),
        n => format!(", and {} made by the capture", plural(n, "copy", "copies")),
    };
    fact("queries", count(found.queries) + &copies);
    if let (Some(p50), Some(p95)) = (found.answer_s.p50, found.answer_s.p95) {
        fact("time to the answer", format!("median {}, p95 {}", time(p50), time(p95)));
    }
    Some(Section::new("lookups", TITLE).table(table("lookups", &found.causes, &analysis.names)).facts(facts))
}

/// Causes of slow lookups.
pub(super) fn slow(analysis: &Analysis) -> Option<Section> {
    let found = analysis.lookups.as_ref()?;
    Section::new("lookups", TITLE).table(table("lookups", &found.causes, &analysis.names)).unless_empty()
}
