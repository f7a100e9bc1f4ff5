//! Servers and clients that lose the most time.

use crate::analyze::display_filter::repeated_handshakes;
use crate::analyze::section::{Cell, Head, Row, Section, Table, numbers};
use crate::analyze::words::named;
use crate::format::Quantity;
use gentle_trace::results::{Analysis, TopEntry};

/// Number of servers, and of clients, in a brief report.
const BRIEFLY: usize = 2;

pub(super) fn top(analysis: &Analysis) -> Option<Section> {
    let top = &analysis.top;
    let list = |what, entries| list(what, entries, usize::MAX, analysis);
    Section::new("top", "Largest time losses")
        .table(list("server", &top.servers))
        .table(list("client", &top.clients))
        .table(list("prefix of servers", &top.prefixes))
        .unless_empty()
}

/// First few servers and clients.
pub(super) fn worst(analysis: &Analysis) -> Option<Section> {
    let top = &analysis.top;
    let list = |what, entries| list(what, entries, BRIEFLY, analysis);
    Section::new("top", "Largest time losses")
        .table(list("server", &top.servers))
        .table(list("client", &top.clients))
        .unless_empty()
}

/// First `most` entries with losses, each with a bar for the time lost and a display filter for its retransmissions; no
/// filters if the addresses were replaced.
fn list(what: &str, entries: &[TopEntry], most: usize, analysis: &Analysis) -> Table {
    let entries: Vec<&TopEntry> =
        entries.iter().filter(|e| e.with_loss > 0 || e.time_lost_s > 0.0 || e.failed_s > 0.0).take(most).collect();
    let times = |of: fn(&TopEntry) -> f64| {
        let values = entries.iter().map(|e| (Some(of(e)), None)).collect();
        let (unit, columns) = numbers(Quantity::Time, &[values]);
        (unit, columns.into_iter().flatten())
    };
    let (lost_unit, mut lost) = times(|e| e.time_lost_s);
    let (vain_unit, mut vain) = times(|e| e.failed_s);
    let longest = entries.iter().map(|e| e.time_lost_s).fold(0.0, f64::max);
    let filters: Vec<Option<String>> = match analysis.anonymized {
        true => vec![None; entries.len()],
        false => entries.iter().map(|e| repeated_handshakes(&e.name)).collect(),
    };
    let filtered = filters.iter().any(Option::is_some);
    let mut heads = vec![
        Head::words(what),
        Head::new("time lost", lost_unit),
        Head::bars("share of the most"),
        Head::new("attempts", ""),
        Head::new("with", "loss"),
        Head::new("not", "completed"),
        Head::new("failed", vain_unit),
    ];
    if filtered {
        heads.push(Head::words("Wireshark display filter"));
    }
    let mut table = Table::new(heads);
    for (e, filter) in entries.iter().zip(filters) {
        let mut cells: Vec<Cell> = lost.next().into_iter().collect();
        cells.push(Cell::Bar(if longest > 0.0 { e.time_lost_s / longest } else { 0.0 }));
        cells.extend([e.attempts, e.with_loss, e.failures].map(Cell::count));
        cells.extend(vain.next());
        if filtered {
            cells.push(filter.map_or_else(Cell::none, Cell::Code));
        }
        table.row(Row::new(named(&analysis.names, &e.name), cells));
    }
    table
}
