//! Lines of `gentle watch --plain`.

use super::ANY;
use gentle_host::Finding;
use gentle_report::analyze::{Known, cause_name, describe_causes, named};
use gentle_trace::live::{Attempt, Window};
use gentle_trace::results::{Cause, CauseKind};
use gentle_units::Nanos;
use gentle_units::foreign::plain;
use gentle_units::text::{plural, time};
use gentle_watch::Summary;
use jiff::Timestamp;
use std::fmt::Write;
use std::net::SocketAddr;

/// Maximum number of causes in the line of a summary.
const CAUSES: usize = 3;

/// UTC with seconds.
fn clock(unix_s: f64) -> String {
    let second = Timestamp::from_second(unix_s as i64).unwrap_or_default();
    second.strftime("%FT%TZ").to_string()
}

/// Outcome of an attempt with its cause and the time that it waited.
pub(super) fn fate(attempt: &Attempt) -> String {
    let outcome = if attempt.has_failed() { "failed" } else { "slow" };
    let waited = match attempt.waited_s {
        0.0 => String::new(),
        waited_s => format!(" after {} of waiting", time(waited_s)),
    };
    let cause = match attempt.cause {
        Some(CauseKind::Loss) => "packet lost",
        Some(cause) => cause_name(cause),
        None => attempt.outcome.name(),
    };
    format!("{outcome}{waited}: {cause}")
}

/// Client or server with its name, if that is known.
pub(super) fn end(end: SocketAddr, name: Option<&str>) -> String {
    name.map_or_else(|| end.to_string(), |name| format!("{} ({end})", plain(name)))
}

/// Line of a slow or failed attempt.
pub(super) fn attempt(attempt: &Attempt) -> String {
    let packets = format!(
        "{}, {}",
        plural(attempt.syns.into(), "SYN", "SYNs"),
        plural(attempt.synacks.into(), "SYN/ACK", "SYN/ACKs")
    );
    let client = end(attempt.client, attempt.client_name.as_deref());
    let server = end(attempt.server, attempt.name.as_deref());
    format!("{} {client} > {server} {} ({packets})\n", clock(attempt.time), fate(attempt))
}

/// Line of a counter of the host at this Unix time, seconds.
pub(super) fn host(now: f64, finding: &Finding) -> String {
    let Finding { sentence, remedy, check, .. } = finding;
    format!("{} host: {}\n", clock(now), plain(&format!("{sentence}; {remedy}; check: {check}")))
}

/// Line of a limit of the host that is no longer reached at this Unix time, seconds.
pub(super) fn limit_ended(now: f64, limit: &Finding) -> String {
    format!("{} host: {}\n", clock(now), plain(&limit.over().unwrap_or_default()))
}

/// Fills in the text of all causes, with the device in their checks unless all devices are watched.
pub(super) fn describe(summary: &mut Summary) {
    let device = Some(&*summary.device).filter(|device| *device != ANY);
    let known = Known { device, servers: true, ..Known::default() };
    for window in [&mut summary.seconds, &mut summary.minute, &mut summary.hour] {
        let Window { causes, dropped_for, lookups, .. } = window;
        describe_causes(causes, dropped_for, &known);
        lookups.iter_mut().for_each(|lookups| describe_causes(&mut lookups.causes, &[], &known));
    }
}

/// Line of a summary of the window that covers `interval`.
pub(super) fn summary(summary: &Summary, interval: Nanos) -> String {
    let window = match interval.0 / Nanos::from_secs(1).0 {
        ..=10 => &summary.seconds,
        11..=60 => &summary.minute,
        _ => &summary.hour,
    };
    let mut text = format!(
        "{} last {} s: {}, {} slow, {} failed",
        clock(summary.time),
        window.seconds.round(),
        plural(window.attempts, "attempt", "attempts"),
        window.slow,
        window.failed
    );
    if let (Some(median), Some(p99)) = (window.connect_s.p50, window.connect_s.p99) {
        // Writing to a string cannot fail.
        let _ = write!(text, "; connected in {} (median), {} (99 %)", time(median), time(p99));
    }
    let of_lookups = window.lookups.iter().flat_map(|lookups| &lookups.causes);
    for cause in window.causes.iter().take(CAUSES).chain(of_lookups.take(CAUSES)) {
        let _ = write!(text, "; {}", brief(window, cause));
    }
    if summary.counts.missed > 0 {
        let _ = write!(text, "; {} missed since the start", plural(summary.counts.missed, "packet", "packets"));
    }
    if summary.counts.unlisted > 0 {
        let _ = write!(text, "; {} not listed since the start", plural(summary.counts.unlisted, "failure", "failures"));
    }
    if summary.counts.handshake_sample < 1.0 {
        let _ = write!(text, "; of {:.3} % of the connections", summary.counts.handshake_sample * 100.0);
    }
    text + "\n"
}

/// Cause with its attempts or lookups, the time that they waited, and the server with most.
pub(super) fn brief(window: &Window, cause: &Cause) -> String {
    let place =
        cause.group.most.first().map_or(String::new(), |most| format!(" at {}", named(&window.names, &most.name)));
    let waited = time(cause.group.waited_s);
    let number = match cause.kind.is_of_lookups() {
        true => plural(cause.group.attempts, "lookup", "lookups"),
        false => plural(cause.group.attempts, "attempt", "attempts"),
    };
    format!("{}: {number}, {waited}{place}", cause_name(cause.kind))
}
