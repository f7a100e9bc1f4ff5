//! Tables of a reproduction for a terminal.

use super::words::{self, EXPLANATION, cell, counts, is_assumption, name, notes, ours, published, reason};
use crate::format::plain;
use crate::terminal::{STYLE, align, bare, fits, paragraph};
use comfy_table::{Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Width};
use gentle_papers::{Item, Kind, Reproduction, Table, Verdict};
use gentle_units::text::plural;

/// Smallest width of a column of statements.
const STATEMENT: usize = 24;

/// Formats a reproduction for a terminal that is `width` columns wide.
pub fn table(reproduction: &Reproduction, width: Option<usize>, color: bool) -> String {
    let title = format!("{}: {}, {}", reproduction.paper, reproduction.title, reproduction.venue);
    let mut text = bold(&paragraph("", title.trim_end_matches([',', ' ']), width), color);
    for sentence in counts(reproduction).into_iter().chain(notes(reproduction)) {
        text += &paragraph("", &sentence, width);
    }
    let mut items = reproduction.items.as_slice();
    while let Some((heading, rest)) = items.split_first() {
        let claims = rest.iter().take_while(|item| item.kind == Kind::Claim).count();
        let (claims, rest) = rest.split_at(claims);
        text += &section(heading, claims, width, color);
        items = rest;
    }
    let compared = reproduction.items.iter().any(|item| item.kind == Kind::Claim);
    let charts: usize = reproduction.items.iter().map(|item| item.charts.len()).sum();
    if compared {
        text += &format!("\n{}", paragraph("", EXPLANATION, width));
    }
    if charts > 0 {
        let charts = plural(charts as u64, "chart", "charts");
        let sentence = format!("Not shown here: {charts}; see --html and --figures.");
        text += &format!("\n{}", paragraph("", &sentence, width));
    }
    text
}

pub(super) fn bold(line: &str, color: bool) -> String {
    match color {
        true => format!("\x1b[1m{}\x1b[0m\n", line.trim_end()),
        false => line.to_owned(),
    }
}

fn section(item: &Item, claims: &[Item], width: Option<usize>, color: bool) -> String {
    let source = match item.source.is_empty() {
        true => String::new(),
        false => format!(" ({})", item.source),
    };
    let verdict = match is_assumption(item) {
        true => String::new(),
        false => format!(": {}", item.verdict),
    };
    let lead = format!("{} ", item.id);
    let heading = paragraph(&lead, &format!("{}{source}{verdict}", item.title), width);
    let mut text = String::from("\n") + &bold(&heading, color);
    if let Some(published) = item.published.as_ref().filter(|published| !published.text.is_empty()) {
        text += &paragraph("", &format!("Published: {}", published.text), width);
    }
    if !claims.is_empty() {
        text += &format!("\n{}\n", claims_table(claims, width, color));
    }
    let mut reasons = claims.iter().filter_map(|claim| Some((name(claim), reason(claim)?))).peekable();
    if reasons.peek().is_some() {
        text.push('\n');
    }
    for (name, reason) in reasons {
        text += &paragraph(&format!("{name}:"), &reason, width);
    }
    for table in &item.tables {
        text += &format!("\n{}{}\n", paragraph("", &table.title, width), data_table(table, width, color));
    }
    if !is_assumption(item) && !item.assumptions.is_empty() {
        text.push('\n');
        for assumed in &item.assumptions {
            text += &paragraph("Assumed:", &format!("{} ({})", assumed.text, assumed.id), width);
        }
    }
    text
}

/// Table of claims. The statements are wrapped to what the numbers leave.
fn claims_table(claims: &[Item], width: Option<usize>, color: bool) -> String {
    let mut table = bare(STYLE, color);
    table.set_header(["claim", "published", "ours", "verdict"]);
    for claim in claims {
        let verdict = format!("{} {}", words::sign(claim.verdict), claim.verdict);
        table.add_row([
            Cell::new(plain(&format!("{}: {}", name(claim), claim.title))),
            Cell::new(published(claim)),
            Cell::new(ours(claim)),
            Cell::new(verdict).fg(color_of(claim.verdict)),
        ]);
    }
    align(&mut table);
    if let Some(column) = table.column_mut(3) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    if let Some(width) = width.filter(|_| !fits(&table, width)) {
        let widths = table.column_max_content_widths();
        let numbers: usize = widths.iter().skip(1).map(|&width| usize::from(width) + 2).sum();
        let statement = width.saturating_sub(numbers).max(STATEMENT);
        constrain(&mut table, 0, statement);
    }
    table.trim_fmt()
}

/// Table of results. Columns with text are wrapped if it is too wide.
fn data_table(data: &Table, width: Option<usize>, color: bool) -> String {
    let mut table = bare(STYLE, color);
    table.set_header(data.columns.iter().map(|column| plain(column)));
    for row in &data.rows {
        table.add_row(row.iter().map(|content| plain(&cell(content))));
    }
    align(&mut table);
    if let Some(width) = width.filter(|_| !fits(&table, width)) {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    table.trim_fmt()
}

fn constrain(table: &mut comfy_table::Table, column: usize, width: usize) {
    let width = u16::try_from(width).unwrap_or(u16::MAX);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(u16::MAX);
    if let Some(column) = table.column_mut(column) {
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
    }
}

fn color_of(verdict: Verdict) -> Color {
    match verdict {
        Verdict::Agrees => Color::Green,
        Verdict::AgreesInOrder | Verdict::Undecided => Color::Yellow,
        Verdict::Differs => Color::Red,
        Verdict::Given | Verdict::NotPublished => Color::Reset,
    }
}
