//! Changes between two analyses: one sentence, and a table.

use super::section::{Cell, Head, Row, Table};
use super::text::draw;
use super::words;
use crate::format::{NONE, percent, time};
use crate::terminal::{Sheet, paragraph};
use gentle_trace::changes::{Against, Change, Changed};

/// Formats the changes for a terminal; arguments as for [`text`](super::text()).
pub fn against(against: &Against, width: Option<usize>, color: bool) -> String {
    let mut sheet = Sheet::new(width, color);
    sheet.text += &paragraph("", &headline(&against.changes), width);
    for analysis in [&against.before, &against.after] {
        let mut spoiled = analysis.warnings.iter().filter(|warning| warning.kind.spoils_figures());
        if let Some(warning) = spoiled.next() {
            let name = super::text::paths(&analysis.captures);
            sheet.text += &paragraph("Note:", &format!("{name}: {}", warning.sentence), width);
        }
    }
    sheet.heading("Changes");
    draw(&mut sheet, &table(&against.changes));
    sheet.text.push('\n');
    let note = "The intervals (95 %) treat attempts as independent. Losses that come together make them too narrow: compare captures of the same length, time of day and load.";
    sheet.text += &paragraph("Note:", note, width);
    sheet.text
}

/// Sentence about the handshake loss.
fn headline(changes: &[Change]) -> String {
    let loss = changes.iter().find(|change| change.quantity == Changed::HandshakeLoss);
    let Some((change, before, after)) = loss.and_then(|it| Some((it, it.before?, it.after?))) else {
        return "One of the captures has no answered attempt, so that handshake loss cannot be compared.".to_owned();
    };
    let (before, now) = (percent(before), percent(after));
    match (change.is_clear(), change.difference()) {
        (true, Some(difference)) if difference < 0.0 => {
            format!("Handshake loss fell from {before} to {now} of answered attempts.")
        }
        (true, _) => format!("Handshake loss rose from {before} to {now} of answered attempts."),
        (false, _) => {
            format!("Handshake loss did not change clearly: {before} before and {now} after, of answered attempts.")
        }
    }
}

fn table(changes: &[Change]) -> Table {
    let heads = [
        Head::words("quantity"),
        Head::new("before", ""),
        Head::new("after", ""),
        Head::new("change", ""),
        Head::words("95 % interval"),
        Head::words("clear"),
    ];
    let mut table = Table::new(heads);
    for change in changes.iter().filter(|change| change.before.or(change.after).is_some()) {
        let is_time = matches!(change.quantity, Changed::Wait | Changed::RoundTrip);
        let show = |value: f64| if is_time { time(value) } else { percent(value) };
        let signed = |value: f64| match value {
            value if value < 0.0 => format!("−{}", show(-value)),
            value => format!("+{}", show(value)),
        };
        let value = |value: Option<f64>| Cell::text(value.map_or(NONE.to_owned(), show));
        let cells = vec![
            value(change.before),
            value(change.after),
            Cell::text(change.difference().map_or(NONE.to_owned(), signed)),
            Cell::text(
                change.interval.map_or(NONE.to_owned(), |[low, high]| format!("{} to {}", signed(low), signed(high))),
            ),
            Cell::text(if change.is_clear() { "yes" } else { "no" }),
        ];
        table.row(Row::new(name(change.quantity), cells));
    }
    table
}

fn name(quantity: Changed) -> String {
    match quantity {
        Changed::HandshakeLoss => "handshake loss, of answered attempts".to_owned(),
        Changed::NotCompleted => "not completed, of attempts".to_owned(),
        Changed::Cause(kind) => format!("{}, of attempts", words::cause_name(kind)),
        Changed::Wait => "mean wait for handshake loss".to_owned(),
        Changed::RoundTrip => "median round-trip time".to_owned(),
    }
}
