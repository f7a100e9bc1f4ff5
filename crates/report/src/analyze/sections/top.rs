//! Who loses most time.

use crate::analyze::section::{Cell, Head, Row, Section, Table, numbers};
use crate::format::Quantity;
use gentle_trace::results::{Analysis, TopEntry};

pub(super) fn top(analysis: &Analysis) -> Option<Section> {
    let top = &analysis.top;
    Section::new("top", "Who loses most time")
        .table(list("server", &top.servers))
        .table(list("client", &top.clients))
        .table(list("prefix of servers", &top.prefixes))
        .unless_empty()
}

/// Those that lost something, with a bar for the time.
fn list(what: &str, entries: &[TopEntry]) -> Table {
    let entries: Vec<&TopEntry> = entries
        .iter()
        .filter(|e| e.with_loss > 0 || e.time_lost_s > 0.0 || e.failed_s > 0.0)
        .collect();
    let times = |of: fn(&TopEntry) -> f64| {
        let values = entries.iter().map(|e| (Some(of(e)), None)).collect();
        let (unit, columns) = numbers(Quantity::Time, &[values]);
        (unit, columns.into_iter().flatten())
    };
    let (lost_unit, mut lost) = times(|e| e.time_lost_s);
    let (vain_unit, mut vain) = times(|e| e.failed_s);
    let most = entries.iter().map(|e| e.time_lost_s).fold(0.0, f64::max);
    let mut table = Table::new([
        Head::words(what),
        Head::new("time lost", lost_unit),
        Head::words(""),
        Head::new("attempts", ""),
        Head::new("with", "loss"),
        Head::new("not", "successful"),
        Head::new("in vain", vain_unit),
    ]);
    for e in &entries {
        let mut cells: Vec<Cell> = lost.next().into_iter().collect();
        cells.push(Cell::Bar(if most > 0.0 {
            e.time_lost_s / most
        } else {
            0.0
        }));
        cells.extend([e.attempts, e.with_loss, e.failures].map(Cell::count));
        cells.extend(vain.next());
        table.row(Row::new(&e.name, cells));
    }
    table
}
