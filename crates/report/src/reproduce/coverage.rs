//! Table of the statements of a paper, with the items that cover each.

use super::table::bold;
use crate::format::plain;
use crate::terminal::{STYLE, bare, paragraph};
use comfy_table::ContentArrangement;
use gentle_papers::{Coverage, Sentence};
use gentle_units::text::{count, plural};

/// Formats a list of sentences for a terminal that is `width` columns wide.
pub fn coverage(coverage: &Coverage, width: Option<usize>, color: bool) -> String {
    let title = format!("{}: {}", coverage.paper, coverage.title);
    let sentence = format!(
        "Of {}, {} {} covered by items, {} cannot have one, and {} could have one and {} none yet.",
        plural(coverage.sentences.len() as u64, "statement", "statements"),
        count(coverage.covered.into()),
        if coverage.covered == 1 { "is" } else { "are" },
        count(coverage.without.into()),
        count(coverage.missing.into()),
        if coverage.missing == 1 { "has" } else { "have" },
    );
    let mut table = bare(STYLE, color);
    table.set_header(["place", "statement", "items, or why none"]);
    for sentence in &coverage.sentences {
        table.add_row([&sentence.place, &sentence.says, &covered_by(sentence)].map(|text| plain(text)));
    }
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    format!("{}{}\n{}\n", bold(&paragraph("", &title, width), color), paragraph("", &sentence, width), table.trim_fmt())
}

fn covered_by(sentence: &Sentence) -> String {
    match (&sentence.without, &sentence.missing) {
        (Some(reason), _) => format!("none: {reason}"),
        (_, Some(missing)) => format!("not yet: {missing}"),
        _ => sentence.items.join(", "),
    }
}
