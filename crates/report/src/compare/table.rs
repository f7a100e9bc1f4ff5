//! Table of a comparison for the terminal.

use super::applications::applications;
use super::columns::{legend, marks};
use super::conclusions::{Conclusions, conclusions};
use super::experiment::{experiment, measured_anything};
use super::groups;
use super::metric::{Metric, metrics};
use crate::format::{Scale, plain, plural};
use crate::terminal::{STYLE, align, bare, fits, heading, paragraph};
use comfy_table::{Attribute, Cell, Color, Table};
use gentle_experiment::measure::Measured;
use gentle_experiment::results::Comparison;

/// Formats the comparison: the headline, a description of the experiment, a table with one row per scheme, and the other
/// conclusions in sentences.
///
/// `width` is that of the terminal, in columns: table columns are dropped, the least important first, until the table
/// fits; `None` keeps all. With `color`, the best values of a column are highlighted.
pub fn table(comparison: &Comparison, width: Option<usize>, color: bool) -> String {
    let conclusions = conclusions(comparison);
    let mut text = headline(&conclusions, width);
    let head = head(comparison, width);
    if !head.is_empty() {
        text += &format!("\n{head}\n");
    }
    if measured_anything(comparison) {
        let Rows { table, missing, legend } = rows(comparison, metrics(comparison), width, color);
        text += &table;
        text.push('\n');
        text += &paragraph("", &legend, width);
        let marks = marks(comparison, color);
        if !marks.is_empty() {
            text += &paragraph("", &marks.join(" "), width);
        }
        text += &missing;
        text.push('\n');
        let mut any_missing = false;
        for application in applications(comparison) {
            let Rows { table, missing, legend } = rows(comparison, application.metrics, width, color);
            any_missing |= !missing.is_empty();
            text += &heading(&application.title, width, color);
            text += &table;
            text += &paragraph("", &legend, width);
            text.push('\n');
        }
        if any_missing {
            text += &paragraph("", NARROW, width);
            text.push('\n');
        }
        let groups = groups::table(comparison, width, color);
        if !groups.is_empty() {
            text += &groups;
            text.push('\n');
        }
    }
    (text + &sentences(&conclusions, width)).trim_end().to_owned() + "\n"
}

/// Like [`table`], followed by the assumptions of the scenario, one per line.
pub fn table_with_assumptions(comparison: &Comparison, width: Option<usize>, color: bool) -> String {
    let mut text = table(comparison, width, color);
    if !comparison.scenario.assumptions.is_empty() {
        text.push('\n');
    }
    for assumption in &comparison.scenario.assumptions {
        text += &paragraph("-", assumption, width);
    }
    text
}

/// Description of the experiment in one line, and the command that repeats it; empty without results.
pub(crate) fn head(comparison: &Comparison, width: Option<usize>) -> String {
    if comparison.results.is_empty() {
        return String::new();
    }
    let mut text = paragraph("", &experiment(comparison), width);
    if let Some(command) = &comparison.command {
        // The command is not wrapped, so that it can be copied.
        text += &format!("$ {}\n", plain(command));
    }
    text
}

/// The first conclusions, and what to do next.
pub(crate) fn headline(conclusions: &Conclusions, width: Option<usize>) -> String {
    let mut text = paragraph("", &conclusions.headline.join(" "), width);
    if let Some(step) = &conclusions.next_step {
        text += &paragraph("Next:", step, width);
    }
    text
}

/// The other conclusions, then caveats; empty paragraphs are omitted.
pub(crate) fn sentences(conclusions: &Conclusions, width: Option<usize>) -> String {
    let mut text = String::new();
    if !conclusions.verdict.is_empty() {
        text += &paragraph("", &conclusions.verdict.join(" "), width);
    }
    for note in &conclusions.notes {
        text += &paragraph("Note:", note, width);
    }
    text
}

/// Column with its values.
struct Column {
    metric: Metric,
    values: Vec<Measured>,
    best: Vec<bool>,
    scale: Scale,
}

/// Table with a row for each scheme.
struct Rows {
    table: String,
    /// Meaning of its columns.
    legend: String,
    /// Note on what it leaves out in a narrow terminal.
    missing: String,
}

fn rows(comparison: &Comparison, metrics: Vec<Metric>, width: Option<usize>, color: bool) -> Rows {
    let mut columns: Vec<Column> = metrics
        .into_iter()
        .map(|metric| {
            let values = metric.measure(&comparison.results);
            let (best, scale) = (metric.best(&comparison.results), metric.scale(&values));
            Column { metric, values, best, scale }
        })
        .filter(|column| column.metric.rank == 0 || column.values.iter().any(|m| m.value.is_some()))
        .collect();
    // Dropping an interval is preferable to dropping its number.
    let mut intervals = Intervals::All;
    let mut left_out = 0;
    loop {
        let drawn = draw(comparison, &columns, intervals, width, color);
        let least = (0..columns.len()).max_by_key(|&i| columns[i].metric.rank).unwrap_or(0);
        let rank = columns[least].metric.rank;
        if rank == 0 || fits(&drawn, width) {
            return Rows {
                table: drawn.trim_fmt() + "\n",
                legend: legend(columns.iter().map(|column| &column.metric)),
                missing: missing(left_out, intervals, width),
            };
        }
        if rank <= WANTED && intervals == Intervals::All {
            intervals = Intervals::First;
        } else {
            columns.remove(least);
            left_out += 1;
        }
    }
}

/// Note below the tables of applications if a narrow terminal does not show all of them.
const NARROW: &str =
    "Not shown for lack of space: further columns and intervals of applications; see --csv, --html or --json.";

/// Note on the columns and intervals that a narrow terminal does not show, with the options that show them.
fn missing(left_out: u64, intervals: Intervals, width: Option<usize>) -> String {
    let columns = plural(left_out, "column", "columns");
    let what = match intervals {
        Intervals::All if left_out == 0 => return String::new(),
        Intervals::All => columns,
        Intervals::First if left_out == 0 => "most intervals".to_owned(),
        Intervals::First => format!("{columns} and most intervals"),
    };
    let text = format!("Not shown for lack of space: {what}; see --csv, --html or --json.");
    paragraph("", &text, width)
}

/// Columns that show confidence intervals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Intervals {
    All,
    /// Leading columns only.
    First,
}

/// Highest rank of the columns that keep their intervals: without them, they would suggest more certainty than there
/// is.
const LEADING: u8 = 1;

/// Highest rank of the columns that are more important than the confidence intervals.
const WANTED: u8 = 6;

/// Maximum length of a label on one line: that of the longest of the schemes compared by default.
const LABEL: usize = 30;

fn draw(comparison: &Comparison, columns: &[Column], intervals: Intervals, width: Option<usize>, color: bool) -> Table {
    let mut table = bare(STYLE, color);
    let head = columns.iter().map(|c| {
        let detail = match c.scale.unit {
            "" => c.metric.detail.to_owned(),
            unit => format!("{} {unit}", c.metric.detail),
        };
        Cell::new(format!("{}\n{detail}", c.metric.subject))
    });
    table.set_header(std::iter::once(Cell::new("scheme")).chain(head));
    for (i, result) in comparison.results.iter().enumerate() {
        let cells = columns.iter().map(|c| {
            let shown = intervals == Intervals::All || c.metric.rank <= LEADING;
            let reference = comparison.reference.as_deref();
            let text = c.metric.show(&c.scale, result, reference, c.values[i], shown);
            let cell = Cell::new(text);
            if c.best[i] { cell.fg(Color::Green).add_attribute(Attribute::Bold) } else { cell }
        });
        let label = match width {
            Some(width) => folded(&plain(&result.label), LABEL.max(width / 4)),
            None => plain(&result.label),
        };
        table.add_row(std::iter::once(Cell::new(label)).chain(cells));
    }
    align(&mut table);
    table
}

/// Breaks a long label between its options, to leave room for numbers while showing all options.
fn folded(label: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in label.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                *line += " ";
                *line += word;
            }
            Some(_) => lines.push(format!("  {word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
