//! Upper part of the view: the device, warnings, the verdict, the windows, and sparklines.

use super::super::text::brief;
use super::canvas::{Column, Kind, Meaning, cut, table, width, wrap};
use super::words::{duration, first_seconds, rate, share, span_name, verdict};
use super::{View, window_of};
use gentle_trace::live::Span;
use gentle_units::foreign::plain;
use gentle_units::text::{count, percent, plural, time};
use ratatui_core::text::Line;

/// Time for which a loss of packets or memory is reported as recent, seconds.
const RECENT_S: f64 = 60.0;

/// Time for which notes stay above the windows, seconds.
const NOTES_S: f64 = 300.0;

/// Columns for the largest value of a sparkline.
const LARGEST: usize = 11;

/// Device, time since the start, clock, packets per second, and the sample.
pub(super) fn head(view: &View, columns: usize) -> Vec<Line<'static>> {
    let look = &view.look;
    let shown = view.shown();
    let mut line = Line::default();
    if view.paused.is_some() {
        line.push_span(look.span("PAUSED", Meaning::Alert));
        line.push_span("  ");
    }
    let Some(summary) = &shown.summary else {
        line.push_span(look.span("gentle watch", Meaning::Head));
        return vec![line];
    };
    line.push_span(look.span(cut(&plain(&summary.device), 24), Meaning::Head));
    let mut parts = vec![format!("up {}", duration(summary.up_s)), look.time_of_day(summary.time)];
    parts.extend(packet_rate(view).map(|packets| format!("{} packets/s", rate(packets))));
    if summary.counts.handshake_sample < 1.0 {
        parts.push(format!("only {} of connections", percent(summary.counts.handshake_sample)));
    } else if summary.counts.sample < 1.0 {
        parts.push(format!("data of {} of connections", percent(summary.counts.sample)));
    }
    let mut used = line.width();
    for part in parts {
        used += 2 + width(&part);
        // The parts after the first that does not fit are left out.
        if used > columns {
            break;
        }
        line.push_span("  ");
        line.push_span(part);
    }
    let hint = "? help";
    if used + 2 + hint.len() <= columns {
        line.push_span(" ".repeat(columns - used - hint.len()));
        line.push_span(hint);
    }
    vec![line]
}

/// Packets per second between the last two summaries; since the start before the second one.
fn packet_rate(view: &View) -> Option<f64> {
    let shown = view.shown();
    let summary = shown.summary.as_ref()?;
    let (packets, seconds) = match shown.history.iter().rev().nth(1) {
        Some(before) => (summary.counts.packets.saturating_sub(before.packets), summary.up_s - before.up_s),
        None => (summary.counts.packets, summary.up_s),
    };
    (seconds > 0.0).then(|| packets as f64 / seconds)
}

/// Packets that were missed and connections that were forgotten, and the latest findings about the host.
pub(super) fn notices(view: &View, columns: usize) -> Vec<Line<'static>> {
    let look = &view.look;
    let shown = view.shown();
    let Some(summary) = &shown.summary else {
        return shown.notes.iter().map(|(_, text)| look.line(cut(text, columns), Meaning::Slow)).collect();
    };
    let mut lines = Vec::new();
    let earlier = shown.history.iter().find(|moment| moment.up_s >= summary.up_s - RECENT_S);
    let (missed, forgotten) = earlier.map_or((0, 0), |earlier| {
        // The first summary follows the start, when both were 0.
        let is_first =
            shown.history.front().is_some_and(|first| first.up_s >= earlier.up_s) && summary.up_s <= RECENT_S;
        let since = if is_first { (0, 0) } else { (earlier.missed, earlier.forgotten) };
        (summary.counts.missed.saturating_sub(since.0), summary.counts.forgotten.saturating_sub(since.1))
    });
    if missed > 0 {
        let missed = plural(missed, "packet was", "packets were");
        let text = format!("Warning: {missed} missed in the last minute. Attempts at that time do not count.");
        lines.extend(wrap(&text, columns).into_iter().map(|text| look.line(text, Meaning::Alert)));
    }
    if forgotten > 0 {
        let forgotten = plural(forgotten, "connection was", "connections were");
        let text = format!("Warning: {forgotten} forgotten in the last minute because memory was short.");
        lines.extend(wrap(&text, columns).into_iter().map(|text| look.line(text, Meaning::Alert)));
    }
    let recent = shown.notes.iter().filter(|(up_s, _)| *up_s >= summary.up_s - NOTES_S);
    lines.extend(recent.map(|(up_s, text)| {
        let time = summary.time - (summary.up_s - up_s);
        let text = format!("{} {text}", look.time_of_day(time));
        look.line(cut(&text, columns), Meaning::Slow)
    }));
    lines
}

/// Answer of the chosen window, and its slow lookups of names.
pub(super) fn answer(view: &View, columns: usize) -> Vec<Line<'static>> {
    let look = &view.look;
    let Some(window) = view.window() else {
        return vec![look.line("Waiting for the first summary.", Meaning::Head)];
    };
    let (text, meaning) = verdict(view.span, window);
    let style = look.style(meaning).patch(look.style(Meaning::Head));
    let mut lines: Vec<Line<'static>> =
        wrap(&text, columns).into_iter().map(|text| Line::styled(text, style)).collect();
    for cause in window.lookups.iter().flat_map(|lookups| &lookups.causes) {
        let text = format!("Slow lookups: {}", brief(window, cause));
        lines.push(look.line(cut(&text, columns), Meaning::Slow));
    }
    lines
}

/// Table of the three windows; with `only_chosen`, of the chosen one.
pub(super) fn windows(view: &View, columns: usize, only_chosen: bool) -> Vec<Line<'static>> {
    const COLUMNS: [Column; 9] = [
        Column { head: "  window", rank: 0, kind: Kind::Text },
        Column::number("attempts", 7, 9),
        Column::number("per s", 5, 6),
        Column::number("slow", 0, 7),
        Column::number("failed", 0, 7),
        Column::number("median", 6, 7),
        Column::number("99 %", 4, 7),
        Column::number("time lost", 3, 9),
        Column { head: "", rank: 8, kind: Kind::Text },
    ];
    let Some(summary) = &view.shown().summary else { return Vec::new() };
    let mut rows = Vec::new();
    for (key, span) in Span::ALL.into_iter().enumerate() {
        let is_chosen = span == view.span;
        if only_chosen && !is_chosen {
            continue;
        }
        let window = window_of(summary, span);
        let name = format!("{} {} {}", if is_chosen { ">" } else { " " }, key + 1, span_name(span));
        let meaning = if is_chosen { Meaning::Selected } else { Meaning::Plain };
        let marked =
            |number: u64, mark: Meaning| (share(number, window.attempts), if number > 0 { mark } else { meaning });
        let seconds = |seconds: Option<f64>| (seconds.map_or("-".to_owned(), time), meaning);
        let per_second = if window.seconds > 0.0 { window.attempts as f64 / window.seconds } else { 0.0 };
        rows.push(vec![
            (name, meaning),
            (count(window.attempts), meaning),
            (rate(per_second), meaning),
            marked(window.slow, Meaning::Slow),
            marked(window.failed, Meaning::Failed),
            seconds(window.connect_s.p50),
            seconds(window.connect_s.p99),
            seconds(Some(window.waited_s + window.failed_s)),
            (first_seconds(span, window).unwrap_or_default(), Meaning::Plain),
        ]);
    }
    table(&view.look, &COLUMNS, &rows, columns)
}

/// Sparklines of all attempts, and of slow and failed ones, in `height` rows each.
pub(super) fn sparklines(view: &View, columns: usize, height: usize) -> Vec<Line<'static>> {
    let history = &view.shown().history;
    let Some(last) = history.back() else { return Vec::new() };
    let mut lines = Vec::new();
    let slow_or_failed: Vec<f64> = history.iter().map(|moment| moment.slow_or_failed).collect();
    let attempts: Vec<f64> = history.iter().map(|moment| moment.attempts).collect();
    let kinds = [
        ("slow, failed/s", last.slow_or_failed, slow_or_failed, Meaning::Slow),
        ("attempts/s", last.attempts, attempts, Meaning::Plain),
    ];
    for (name, latest, values, meaning) in kinds {
        let name = format!("{name:<14} {:>6}  ", rate(latest));
        let Some(room) = columns.checked_sub(width(&name) + LARGEST) else { return Vec::new() };
        let visible = &values[values.len().saturating_sub(room)..];
        let largest = cut(&format!(" max {}", rate(visible.iter().copied().fold(0.0, f64::max))), LARGEST);
        for (i, bars) in view.look.sparkline(&values, room, height).into_iter().enumerate() {
            let (name, largest) =
                if i == 0 { (name.clone(), largest.clone()) } else { (" ".repeat(width(&name)), String::new()) };
            lines.push(Line::from(vec![name.into(), view.look.span(bars, meaning), largest.into()]));
        }
    }
    lines
}

/// Keys.
pub(super) fn footer(view: &View, columns: usize) -> Vec<Line<'static>> {
    let pause = if view.paused.is_some() { "Space resume" } else { "Space pause" };
    let keys = ["q quit", pause, "? help", "1 2 3 window", "Up/Down cause", "Enter remedy", "Tab list"];
    let mut text = String::new();
    for key in keys {
        let gap = if text.is_empty() { "" } else { "  " };
        if width(&text) + gap.len() + key.len() <= columns {
            text += gap;
            text += key;
        }
    }
    vec![Line::from(text)]
}
