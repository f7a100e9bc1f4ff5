//! Sentences of the view.

use super::canvas::{Meaning, glued};
use gentle_report::analyze::{cause_name, named};
use gentle_trace::live::{Span, Window};
use gentle_trace::results::{Cause, CauseKind};
use gentle_units::text::{count, grouped, percent, plural, significant, time};
use ipnet::IpNet;
use std::net::SocketAddr;

/// Prefix lengths by which servers are named together, as in the lists of prefixes.
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 48;

/// Name of a span in a table.
pub(super) fn span_name(span: Span) -> &'static str {
    match span {
        Span::Seconds => "10 s",
        Span::Minute => "1 min",
        Span::Hour => "1 h",
    }
}

/// Time that a window covers, in a sentence: `the last minute`, and `the first 23 s` soon after the start.
pub(super) fn period(span: Span, window: &Window) -> String {
    match (first_seconds(span, window), span) {
        (Some(first), _) => format!("the {first}"),
        (None, Span::Seconds) => "the last 10 s".to_owned(),
        (None, Span::Minute) => "the last minute".to_owned(),
        (None, Span::Hour) => "the last hour".to_owned(),
    }
}

/// Time that a window covers if it is shorter than its span: `first 23 s`.
pub(super) fn first_seconds(span: Span, window: &Window) -> Option<String> {
    let nominal = match span {
        Span::Seconds => 10.0,
        Span::Minute => 60.0,
        Span::Hour => 3600.0,
    };
    (window.seconds < nominal).then(|| format!("first {}", duration(window.seconds)))
}

/// Whole seconds, minutes, hours or days, with the next smaller unit: `2 h 14 min`.
pub(super) fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if days > 0 => format!("{} d {} h", count(days), hours % 24),
        () if hours > 0 => format!("{hours} h {} min", minutes % 60),
        () if minutes > 0 => format!("{minutes} min {} s", seconds % 60),
        () => format!("{seconds} s"),
    }
}

/// Number per second: `0.35`, `56.8`, `3,410`.
pub(super) fn rate(number: f64) -> String {
    match number {
        n if n >= 999.5 => grouped(&format!("{n:.0}")),
        n if n < 1.0 => significant(n, 2),
        n => significant(n, 3),
    }
}

/// Fraction as a percentage; empty without attempts.
pub(super) fn share(part: u64, of: u64) -> String {
    if of == 0 { String::new() } else { percent(part as f64 / of as f64) }
}

/// Answer: attempts of the window that were slow or failed, and the cause that lost most time.
pub(super) fn verdict(span: Span, window: &Window) -> (String, Meaning) {
    let Window { attempts, slow, failed, .. } = *window;
    let period = glued(&period(span, window));
    let of = |number: u64| {
        let share = glued(&share(number, attempts));
        format!("{} of {} in {period}", count(number), plural(attempts, "attempt", "attempts"))
            + &match number {
                1 => format!(" was slow ({share})"),
                _ => format!(" were slow ({share})"),
            }
    };
    let (text, meaning) = match (slow, failed) {
        (0, 0) if attempts == 0 => return (format!("No attempts in {period}."), Meaning::Plain),
        (0, 0) => {
            let all = plural(attempts, "attempt", "attempts");
            return (format!("No slow or failed attempts in {period}, of {all}."), Meaning::Good);
        }
        (0, _) => {
            let share = glued(&share(failed, attempts));
            let all = plural(attempts, "attempt", "attempts");
            (format!("{} of {all} in {period} failed ({share}), none was slow", count(failed)), Meaning::Failed)
        }
        (_, 0) => (format!("{}, none failed", of(slow)), Meaning::Slow),
        (_, _) => (format!("{}, {} failed", of(slow), count(failed)), Meaning::Failed),
    };
    match window.causes.first() {
        Some(cause) => {
            let place =
                place(window, cause).map_or(String::new(), |place| format!(" {} {place}", preposition(cause.kind)));
            let lost = glued(&time(cause.group.waited_s));
            (format!("{text}; worst: {}{place}, {lost} lost.", cause_name(cause.kind)), meaning)
        }
        None => (text + ".", meaning),
    }
}

fn preposition(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::Scan => "from",
        CauseKind::ListenQueue
        | CauseKind::DeferredAccept
        | CauseKind::Deferred
        | CauseKind::PortReuse
        | CauseKind::Refused
        | CauseKind::Flood => "at",
        _ => "towards",
    }
}

/// Place of a cause: a server, the prefix of all its servers, or the first of several; for scans, clients.
pub(super) fn place(window: &Window, cause: &Cause) -> Option<String> {
    let group = &cause.group;
    let first = named(&window.names, &group.most.first()?.name);
    let others = group.parties.saturating_sub(1);
    if others == 0 {
        return Some(first);
    }
    let mut prefixes = group.most.iter().map(|party| prefix(&party.name));
    let shared = prefixes.next().flatten().filter(|first| prefixes.all(|other| other.as_ref() == Some(first)));
    // Further servers are not listed, and may have other prefixes.
    match shared.filter(|_| group.most.len() as u64 == group.parties) {
        Some(shared) => Some(named(&window.names, &shared)),
        None => Some(format!("{first} and {}", plural(others, "other", "others"))),
    }
}

/// Prefix of a server or client.
fn prefix(name: &str) -> Option<String> {
    let address = match name.parse::<SocketAddr>() {
        Ok(server) => server.ip(),
        Err(_) => name.parse().ok()?,
    };
    let length = if address.is_ipv4() { PREFIX_V4 } else { PREFIX_V6 };
    Some(IpNet::new(address, length).ok()?.trunc().to_string())
}
