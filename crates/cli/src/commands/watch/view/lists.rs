//! Lower part of the view: causes, the explanation of the selected one, servers, prefixes and ports, and the log.

use super::super::text::end;
use super::canvas::{Cell, Column, Kind, Meaning, cut, table, width, wrap};
use super::words::{period, place, span_name};
use super::{Entry, List, View};
use gentle_report::analyze::{cause_name, named};
use gentle_trace::live::Attempt;
use gentle_trace::results::Cause;
use gentle_units::foreign::plain;
use gentle_units::text::{count, percent, time};
use ratatui_core::text::Line;

/// Least width of a place that is worth its column.
const PLACE: usize = 12;

/// Table of the causes in `height` lines, which the selected one is in.
pub(super) fn causes(view: &View, columns: usize, height: usize) -> Vec<Line<'static>> {
    const COLUMNS: [Column; 5] = [
        Column { head: "  Causes", rank: 0, kind: Kind::Text },
        Column::number("attempts", 3, 8),
        Column::number("share", 4, 7),
        Column::number("time lost", 1, 9),
        Column { head: "place", rank: 2, kind: Kind::Flexible(PLACE) },
    ];
    let Some(window) = view.window() else { return Vec::new() };
    let selected = view.selected(window);
    let rows = |(i, cause): (usize, &Cause)| {
        let is_selected = i == selected;
        let meaning = if is_selected { Meaning::Selected } else { Meaning::Plain };
        let name = format!("{} {}", if is_selected { ">" } else { " " }, cause_name(cause.kind));
        vec![
            (name, meaning),
            (count(cause.group.attempts), meaning),
            (percent(cause.share), meaning),
            (time(cause.group.waited_s), meaning),
            (place(window, cause).unwrap_or_default(), meaning),
        ]
    };
    let rows: Vec<Vec<Cell>> = window.causes.iter().enumerate().map(rows).collect();
    let mut lines = table(&view.look, &COLUMNS, &rows, columns);
    if rows.is_empty() {
        lines.push(Line::from(format!("  none in {}", period(view.span, window))));
    }
    // The rows before the selected one that do not fit are left out.
    let room = height.saturating_sub(1).max(1);
    if selected >= room {
        lines.drain(1..=selected + 1 - room);
    }
    lines.truncate(height);
    lines
}

/// Evidence, remedy and check of the selected cause. If they exceed `height` lines, the remedy and the check remain.
pub(super) fn explanation(view: &View, columns: usize, height: usize) -> Vec<Line<'static>> {
    let Some(cause) = view.window().and_then(|window| window.causes.get(view.selected(window))) else {
        return Vec::new();
    };
    let part = |name: &str, text: &str| {
        let lead = format!("  {name:<8}");
        let lines = wrap(&plain(text), columns.saturating_sub(lead.len()));
        let show = |(i, line): (usize, String)| {
            let lead = if i == 0 { lead.clone() } else { " ".repeat(lead.len()) };
            Line::from(vec![view.look.span(lead, Meaning::Head), line.into()])
        };
        lines.into_iter().enumerate().map(show).collect::<Vec<Line<'static>>>()
    };
    let parts = [part("Reason", &cause.sentence), part("Remedy", &cause.remedy), part("Check", &cause.check)];
    let [_, remedy, check] = &parts;
    let mut lines = match () {
        () if parts.iter().map(Vec::len).sum::<usize>() <= height => parts.concat(),
        () if remedy.len() + check.len() <= height => [remedy.as_slice(), check].concat(),
        () => remedy.clone(),
    };
    lines.truncate(height);
    lines
}

/// Servers, prefixes or ports of the chosen window, longest time lost first.
pub(super) fn parties(view: &View, columns: usize) -> Vec<Line<'static>> {
    const NUMBERS: [Column; 4] = [
        Column::number("attempts", 3, 9),
        Column::number("with loss", 2, 9),
        Column::number("failed", 1, 8),
        Column::number("time lost", 0, 9),
    ];
    let Some(window) = view.window() else { return Vec::new() };
    let (head, entries) = match view.list {
        List::Servers => ("  Servers", &window.top.servers),
        List::Prefixes => ("  Prefixes", &window.top.prefixes),
        List::Ports => ("  Ports", &window.ports),
    };
    let mut entries: Vec<_> = entries.iter().collect();
    // The sort is stable: entries that lost nothing keep their order, by attempts.
    entries.sort_by(|a, b| (b.time_lost_s + b.failed_s).total_cmp(&(a.time_lost_s + a.failed_s)));
    let row = |entry: &&gentle_trace::results::TopEntry| {
        let mark = |number: u64, mark: Meaning| if number > 0 { mark } else { Meaning::Plain };
        vec![
            (format!("  {}", named(&window.names, &entry.name)), Meaning::Plain),
            (count(entry.attempts), Meaning::Plain),
            (count(entry.with_loss), mark(entry.with_loss, Meaning::Slow)),
            (count(entry.failures), mark(entry.failures, Meaning::Failed)),
            (time(entry.time_lost_s + entry.failed_s), Meaning::Plain),
        ]
    };
    let rows: Vec<Vec<Cell>> = entries.iter().map(row).collect();
    let [attempts, with_loss, failed, lost] = NUMBERS;
    let name = Column { head, rank: 0, kind: Kind::Flexible(PLACE) };
    let mut lines = table(&view.look, &[name, attempts, with_loss, failed, lost], &rows, columns);
    if rows.is_empty() {
        lines.push(Line::from(format!("  none in {}", period(view.span, window))));
    }
    lines
}

/// Width from which the log has the ports of clients.
const WITH_PORTS: usize = 100;

/// Columns for the cause in the log that the client is left out for.
const CAUSE: usize = 14;

/// Slow and failed attempts and notes, latest first, in `height` lines.
pub(super) fn log(view: &View, columns: usize, height: usize) -> Vec<Line<'static>> {
    let log = &view.shown().log;
    let scrolled = view.scrolled.min(log.len().saturating_sub(1));
    let head = match scrolled {
        0 => "  Latest slow and failed attempts".to_owned(),
        _ => format!("  Slow and failed attempts, without the latest {} (Home returns)", count(scrolled as u64)),
    };
    let mut lines = vec![view.look.line(cut(&head, columns), Meaning::Head)];
    lines.extend(log.iter().skip(scrolled).take(height.saturating_sub(1)).map(|entry| match entry {
        Entry::Attempt(attempt) => attempt_line(view, attempt, columns),
        Entry::Note(time, text) => {
            let time = if *time > 0.0 { view.look.time_of_day(*time) } else { " ".repeat(8) };
            Line::from(vec![format!("  {time} ").into(), view.look.span(text.clone(), Meaning::Slow)])
        }
    }));
    if log.is_empty() {
        lines.push(Line::from("  none"));
    }
    lines
}

/// Line of the log: time of day of the first SYN, client and server, time waited, and cause.
fn attempt_line(view: &View, attempt: &Attempt, columns: usize) -> Line<'static> {
    let (result, meaning) = match attempt.has_failed() {
        true => ("failed", Meaning::Failed),
        false => ("slow  ", Meaning::Slow),
    };
    let lead = format!("  {} ", view.look.time_of_day(attempt.time));
    let waited = format!(" {:>7}  ", time(attempt.waited_s));
    let cause = match attempt.cause {
        Some(kind) => cause_name(kind),
        None if attempt.has_failed() => attempt.outcome.name(),
        None => "",
    };
    let room = columns.saturating_sub(width(&lead) + result.len() + width(&waited));
    // Two IPv4 addresses with ports, and without the client's.
    let server = end(attempt.server, attempt.name.as_deref());
    let (both, usual) = match columns >= WITH_PORTS {
        true => (format!("{} > {server}", attempt.client), 45),
        false => (format!("{} > {server}", attempt.client.ip()), 34),
    };
    let ends = match width(&both) + 2 + width(cause).min(CAUSE) <= room {
        true => both,
        false => format!("> {server}"),
    };
    // Names of causes line up as far as possible.
    let wide = usual.min(room.saturating_sub(2 + CAUSE)).max(width(&ends)).min(room);
    let ends = format!("{:<wide$}  ", cut(&ends, room));
    let cause = cut(cause, room.saturating_sub(width(&ends)));
    Line::from(vec![lead.into(), view.look.span(result, meaning), waited.into(), ends.into(), cause.into()])
}

/// Title of the selected cause, for its page.
pub(super) fn cause_title(view: &View) -> String {
    match view.window().and_then(|window| window.causes.get(view.selected(window))) {
        Some(cause) => format!("{} ({})", cause_name(cause.kind), span_name(view.span)),
        None => "No cause".to_owned(),
    }
}
