//! Text for a terminal: the headline, next steps, the tables, and the rest of the verdict.

use super::section::{Block, Cell, Table};
use super::sections::{brief, notes, sections};
use crate::terminal::{GAP, STYLE, Sheet, bare, paragraph};
use comfy_table::{Cell as Drawn, CellAlignment, ContentArrangement};
use gentle_trace::results::{Analysis, Capture, Finding};

/// Length of the longest bar of a column, characters.
const BAR: usize = 20;

/// Level of detail of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Summary for operators: attempts and their outcomes, time lost, and the greatest losses.
    Brief,
    /// Every table.
    Full,
}

/// Formats the analyses one after the other, each with its headline and next steps first.
///
/// `width` is that of the terminal, in columns: paragraphs wrap, and columns that do not fit in a table follow below
/// it; `None` wraps nothing. With `color`, headings are highlighted.
pub fn text(analyses: &[Analysis], detail: Detail, width: Option<usize>, color: bool) -> String {
    let mut sheet = Sheet::new(width, color);
    for analysis in analyses {
        if analyses.len() > 1 {
            sheet.heading(&paths(&analysis.captures));
        }
        one(&mut sheet, analysis, detail);
    }
    sheet.text
}

/// Files of an analysis, as its heading.
pub(super) fn paths(captures: &[Capture]) -> String {
    match captures {
        [] => "no capture".to_owned(),
        [only] => only.path.clone(),
        [first, rest @ ..] => format!("{} and {} more", first.path, rest.len()),
    }
}

/// Largest number of findings whose sentences come first. The cost by the model is for readers of details.
const HEADLINE: usize = 2;

fn one(sheet: &mut Sheet, analysis: &Analysis, detail: Detail) {
    let width = sheet.width;
    let cost = analysis.findings.iter().position(|finding| matches!(finding, Finding::ExpectedCost { .. }));
    let early = cost.unwrap_or(HEADLINE).min(HEADLINE).min(analysis.verdict.len());
    let (headline, rest) = analysis.verdict.split_at(early);
    if !headline.is_empty() {
        if !sheet.text.is_empty() {
            sheet.text.push('\n');
        }
        sheet.text += &paragraph("", &headline.join(" "), width);
    }
    for step in &analysis.next_steps {
        sheet.text += &paragraph("Next:", step, width);
    }
    let sections = match detail {
        Detail::Brief => brief(analysis),
        Detail::Full => sections(analysis),
    };
    for section in sections {
        if section.blocks.is_empty() {
            continue;
        }
        sheet.heading(&section.title);
        for (i, block) in section.blocks.iter().enumerate() {
            let tables = matches!(block, Block::Table(_));
            if i > 0 && tables {
                sheet.text.push('\n');
            }
            match block {
                Block::Prose(sentence) => sheet.text += &paragraph(" ", sentence, width),
                Block::List(sentences) => {
                    for sentence in sentences {
                        sheet.text += &paragraph("  -", sentence, width);
                    }
                }
                Block::Facts(facts) => {
                    for (name, value) in facts {
                        sheet.line(name, value);
                    }
                }
                Block::Table(table) => draw(sheet, table),
            }
        }
    }
    if detail == Detail::Brief {
        sheet.text.push('\n');
        sheet.text += &paragraph("", "Every table: --full. A page with plots: --html FILE.", width);
    }
    let notes = notes(analysis);
    if !notes.is_empty() {
        sheet.text.push('\n');
    }
    for note in notes {
        sheet.text += &paragraph("Note:", &note, width);
    }
    if !rest.is_empty() {
        sheet.text.push('\n');
        sheet.text += &paragraph("", &rest.join(" "), width);
    }
}

/// Draws a table, in as many pieces as the width requires, followed by the explanations of its names.
pub(super) fn draw(sheet: &mut Sheet, table: &Table) {
    if let Some(caption) = &table.caption {
        sheet.text += &paragraph(" ", caption, sheet.width);
    }
    let fits = |columns: &[usize]| {
        let text = piece(table, columns, None);
        let widest = text.lines().map(|line| line.chars().count()).max();
        sheet.width.is_none_or(|width| widest <= Some(width))
    };
    let column_of = |is: fn(&Cell) -> bool| move |i: &usize| table.rows.iter().any(|row| is(&row.cells[i - 1]));
    let is_bar = column_of(|cell| matches!(cell, Cell::Bar(_)));
    let is_code = column_of(|cell| matches!(cell, Cell::Code(_)));
    let mut left: Vec<usize> = (1..table.heads.len()).collect();
    let mut below = Vec::new();
    if !fits(&left) {
        below = left.extract_if(.., |i| is_code(i)).collect();
    }
    if !fits(&left) {
        // Dropping the bars is preferable to splitting the table.
        left.retain(|i| !is_bar(i));
    }
    let mut pieces = Vec::new();
    while !left.is_empty() {
        let mut some = left.len();
        while some > 1 && !fits(&left[..some]) {
            some -= 1;
        }
        // A single column that is too wide, as of a long name of a host, is wrapped.
        let width = sheet.width.filter(|_| !fits(&left[..some]));
        pieces.push(piece(table, &left[..some], width));
        left.drain(..some);
    }
    sheet.text += &pieces.join("\n");
    for i in below {
        sheet.text += &paragraph(" ", &format!("{}:", table.heads[i].subject), sheet.width);
        for row in &table.rows {
            if let Cell::Code(code) = &row.cells[i - 1] {
                sheet.line(&row.name, code);
            }
        }
    }
    for row in &table.rows {
        if let Some(about) = &row.about {
            sheet.line(&row.name, about);
        }
    }
}

/// Table with the selected columns, wrapped to `width` if given; column 0 is that of the names.
fn piece(table: &Table, columns: &[usize], width: Option<usize>) -> String {
    let mut drawn = bare(STYLE, false);
    if let Some(width) = width {
        drawn.set_content_arrangement(ContentArrangement::Dynamic).set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    let heads = std::iter::once(&0).chain(columns).map(|&i| &table.heads[i]);
    let two_lines = heads.clone().any(|head| !head.detail.is_empty());
    drawn.set_header(heads.clone().enumerate().map(|(i, head)| {
        let indent = if i == 0 { INDENT } else { "" };
        let name = if head.bars { "" } else { &head.subject };
        let subject = format!("{indent}{name}");
        Drawn::new(match two_lines {
            true => format!("{subject}\n{indent}{}", head.detail),
            false => subject,
        })
    }));
    for row in &table.rows {
        let name = format!("{INDENT}{}{}", "  ".repeat(row.depth), row.name);
        let cells = columns.iter().map(|i| match &row.cells[i - 1] {
            Cell::Text(text) | Cell::Code(text) => text.clone(),
            Cell::Bar(share) => bar(*share),
        });
        drawn.add_row(std::iter::once(name).chain(cells));
    }
    for ((i, column), head) in drawn.column_iter_mut().enumerate().zip(heads) {
        column.set_padding((if i == 0 { 0 } else { GAP }, 0));
        column.set_cell_alignment(if head.left { CellAlignment::Left } else { CellAlignment::Right });
    }
    drawn.trim_fmt() + "\n"
}

/// Indentation of tables, as of names with values.
const INDENT: &str = "  ";

/// Bar in eighths of a character; any positive share is visible.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (8 * BAR) as f64).ceil() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}
