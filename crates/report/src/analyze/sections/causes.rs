//! Causes of slow and failed attempts.

use crate::analyze::section::{Cell, Head, Row, Section, Table, numbers};
use crate::analyze::words;
use crate::format::{Quantity, Scale, count};
use gentle_trace::results::{Analysis, Cause, CauseKind, PlaceNames};

pub(super) fn causes(analysis: &Analysis) -> Option<Section> {
    let table = table("attempts", &analysis.causes, &analysis.names);
    Section::new("causes", "Causes").table(table).unless_empty()
}

/// Table of causes of slow `things`.
pub(super) fn table(things: &str, causes: &[Cause], names: &PlaceNames) -> Table {
    let times = causes.iter().map(|cause| (Some(cause.group.waited_s), None)).collect();
    let (unit, columns) = numbers(Quantity::Time, &[times]);
    let percents = Scale::of(Quantity::Share, [1.0].into_iter());
    let heads = [
        Head::words("cause"),
        Head::new("time lost", unit),
        Head::new(things, ""),
        Head::new(format!("% of {things}"), ""),
        Head::words("most at"),
    ];
    let mut table = Table::new(heads);
    for (cause, time) in causes.iter().zip(columns.into_iter().flatten()) {
        let cells = vec![
            time,
            Cell::count(cause.group.attempts),
            Cell::Text(percents.show(Some(cause.share))),
            Cell::text(place(cause, names)),
        ];
        table.row(Row::new(words::cause_name(cause.kind), cells).about(&cause.sentence));
    }
    table
}

/// Server with most attempts, and the number of others; of scans, the client.
fn place(cause: &Cause, names: &PlaceNames) -> String {
    let Some(most) = cause.group.most.first() else {
        return String::new();
    };
    let first = words::named(names, &most.name);
    let what = match (cause.kind, cause.group.parties) {
        (_, ..=1) => return first,
        (CauseKind::Scan, 2) => "other client",
        (CauseKind::Scan, _) => "other clients",
        (_, 2) => "other server",
        _ => "other servers",
    };
    format!("{first}, {} {what}", count(cause.group.parties - 1))
}
