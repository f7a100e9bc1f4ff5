//! Files of the capture, closes of connections, and effects of limits.

use super::share;
use crate::analyze::section::{Cell, Head, Row, Section, Table};
use crate::format::{Quantity, Scale, bytes, count, plural, time};
use gentle_trace::results::{Analysis, Interface};
use jiff::Timestamp;
use std::collections::BTreeMap;

pub(super) fn closes(analysis: &Analysis) -> Option<Section> {
    let c = &analysis.closes;
    let ways = [
        ("FIN from both sides", c.fin),
        ("RST", c.rst),
        ("idle timeout", c.silent),
        ("still open at the end", c.open),
        ("never established", c.never_established),
    ];
    let all = ways.iter().map(|(_, n)| n).sum();
    let percents = Scale::of(Quantity::Share, [1.0].into_iter());
    let mut table = Table::new([Head::words("connections"), Head::new("count", ""), Head::new("%", "")]);
    for (name, n) in ways.into_iter().filter(|(_, n)| *n > 0) {
        let cells = vec![Cell::count(n), Cell::Text(percents.show(share(n, all)))];
        table.row(Row::new(name, cells));
    }
    Section::new("closes", "How connections ended").narrow().table(table).unless_empty()
}

pub(super) fn capture(analysis: &Analysis) -> Option<Section> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    for file in &analysis.captures {
        let mut value = format!(
            "{} ({}): {}, {}, {} on the wire",
            file.path,
            file.format,
            plural(file.packets, "packet", "packets"),
            plural(file.tcp_segments, "TCP segment", "TCP segments"),
            bytes(file.wire_bytes)
        );
        for (what, kinds) in [("not TCP", &file.other), ("not analysed", &file.skipped)] {
            let kinds = by_kind(kinds);
            if !kinds.is_empty() {
                value += &format!("; {what}: {kinds}");
            }
        }
        fact("file", value);
        if file.interfaces.len() > 1 {
            fact("interfaces", interfaces(&file.interfaces));
        }
    }
    if let Some(start) = begin(analysis) {
        fact("begins", start);
    }
    if analysis.duration_s > 0.0 {
        fact("lasts", time(analysis.duration_s));
    }
    fact("made by", format!("gentle {}, results schema {}", analysis.gentle, analysis.version));
    Section::new("capture", "Capture").facts(facts).unless_empty()
}

/// Interfaces with packets, the first ones if they are many.
fn interfaces(all: &[Interface]) -> String {
    const SHOWN: usize = 12;
    let used = || all.iter().filter(|it| it.packets > 0);
    let shown = used().take(SHOWN).map(|it| {
        let name = it.label();
        let left_out = if it.analysed { "" } else { ", left out" };
        let packets = plural(it.packets, "packet", "packets");
        format!("{name} ({packets}{left_out})")
    });
    let mut list: Vec<String> = shown.collect();
    match used().count().saturating_sub(SHOWN) {
        0 => {}
        more => list.push(format!("{} more", count(more as u64))),
    }
    list.join(", ")
}

/// Time of the first packet, `2024-05-06 07:08:09 UTC`; `None` for times outside the calendar.
pub(super) fn begin(analysis: &Analysis) -> Option<String> {
    // A float-to-integer cast saturates; values out of range have no date.
    let start = Timestamp::from_second(analysis.start_s? as i64).ok()?;
    Some(start.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

pub(super) fn limits(analysis: &Analysis) -> Option<Section> {
    let l = &analysis.limits;
    if l.retired_idle + l.retired_memory + l.judged_early == 0 {
        return None;
    }
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    if l.retired_idle > 0 {
        let value = format!("{} after {} without a packet", count(l.retired_idle), time(l.idle_timeout_s));
        fact("forgotten", value);
    }
    if l.retired_memory > 0 {
        let value = format!(
            "{} to stay within {} of memory, the longest idle first",
            count(l.retired_memory),
            bytes(l.memory_limit_bytes)
        );
        fact("forgotten early", value);
    }
    if l.judged_early > 0 {
        let value = format!("{} by the SYN-flood filter, because of the memory limit", count(l.judged_early));
        fact("classified early", value);
    }
    Section::new("limits", "Limits").facts(facts).unless_empty()
}

pub(super) fn notes(analysis: &Analysis) -> Vec<String> {
    let mut notes = Vec::new();
    if analysis.interrupted {
        notes.push("The analysis was stopped early: the numbers cover the packets read until then.".to_owned());
    }
    if analysis.anonymized {
        notes.push("Addresses are anonymised; common prefixes are preserved.".to_owned());
    }
    for file in &analysis.captures {
        // Warnings include the name of their file.
        notes.extend_from_slice(&file.warnings);
    }
    notes
}

fn by_kind(kinds: &BTreeMap<&'static str, u64>) -> String {
    let kinds = kinds.iter().filter(|(_, n)| **n > 0);
    let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{kind} {}", count(*n))).collect();
    kinds.join(", ")
}
