//! Text of `gentle probe`: a line per connect, and the summary.

use crate::output::ruled_table;
use gentle_probe::{Connect, Outcome, TargetSummary};
use gentle_units::foreign::plain;
use gentle_units::text::{count, percent, plural, time};
use std::fmt::Write;
use std::net::SocketAddr;

/// Line about a connect.
pub(super) fn line(connect: &Connect) -> String {
    let took = time(connect.connect_s);
    let what = match connect.outcome {
        Outcome::Connected => match remark(connect) {
            remark if remark.is_empty() => took,
            remark => format!("{took}  {remark}"),
        },
        Outcome::Refused => format!("refused after {took}"),
        Outcome::Unreachable => format!("unreachable after {took}{}", reason(connect)),
        Outcome::TimedOut => {
            let syns = plural(connect.unanswered.into(), "SYN", "SYNs");
            format!("timed out after {took}, {syns} unanswered")
        }
        Outcome::Unresolved => format!("not resolved{}", reason(connect)),
        Outcome::Error => format!("failed{}", reason(connect)),
    };
    plain(&format!("{} {what}", name(&connect.target, connect.address))) + "\n"
}

/// Losses of a completed connect: `2 SYNs lost, SYN/ACK late`.
fn remark(connect: &Connect) -> String {
    let lost = |number: u32, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("{one} lost")),
        number => Some(format!("{number} {many} lost")),
    };
    let parts = [
        lost(connect.lost_syns, "SYN", "SYNs"),
        lost(connect.lost_synacks, "SYN/ACK", "SYN/ACKs"),
        lost(connect.lost_unknown, "SYN or SYN/ACK", "SYNs or SYN/ACKs"),
        connect.late.then(|| "SYN/ACK late".to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<String>>().join(", ")
}

fn reason(connect: &Connect) -> String {
    connect.error.as_ref().map_or(String::new(), |error| format!(": {error}"))
}

/// Target with the address used, if it is a name.
fn name(target: &str, address: Option<SocketAddr>) -> String {
    match address {
        Some(address) if address.to_string() != target => format!("{target} ({})", address.ip()),
        _ => target.to_owned(),
    }
}

/// Table of all targets, and a sentence about each that lost packets or skipped connects.
pub(super) fn summary(summaries: &[TargetSummary]) -> String {
    let head = [
        "target",
        "connects",
        "failed",
        "SYN lost",
        "SYN/ACK lost",
        "side unknown",
        "late",
        "fastest",
        "median",
        "p95",
        "p99",
        "slowest",
    ];
    let mut table = ruled_table(head, 1..12);
    for summary in summaries {
        let counts = [
            summary.connects,
            summary.failed(),
            summary.lost_syns,
            summary.lost_synacks,
            summary.lost_unknown,
            summary.late,
        ];
        let times = match summary.connect_s {
            Some(times) => [times.min, times.p50, times.p95, times.p99, times.max].map(time),
            None => [const { String::new() }; 5],
        };
        let name = plain(&name(&summary.target, summary.address));
        table.add_row(std::iter::once(name).chain(counts.map(count)).chain(times).collect::<Vec<String>>());
    }
    let mut text = format!("\n{}\n", table.trim_fmt());
    for summary in summaries {
        text += &sentences(summary);
    }
    if summaries.iter().any(|summary| summary.with_loss > 0) {
        text += "To find the cause, capture the packets during the probes (tcpdump -i any -s 96 -w probe.pcap tcp), and run \
                 gentle analyze probe.pcap.\n";
    }
    text
}

fn sentences(summary: &TargetSummary) -> String {
    let name = plain(&name(&summary.target, summary.address));
    let mut text = String::new();
    if summary.with_loss > 0 {
        let share = percent(summary.with_loss as f64 / summary.connected as f64);
        let cost = summary.loss_cost_s.map_or(String::new(), |cost| {
            format!(" and took {} longer than the median of the others on average", time(cost))
        });
        let lost = count(summary.with_loss);
        let of = plural(summary.connected, "connect", "connects");
        let _ = writeln!(text, "{name}: {lost} of {of} ({share}) lost a SYN or SYN/ACK{cost}.");
    }
    if summary.skipped > 0 {
        let skipped = plural(summary.skipped, "connect was", "connects were");
        let _ = writeln!(text, "{name}: {skipped} skipped, because 16 were under way or the machine was busy.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_probe::VERSION;

    fn connect(outcome: Outcome) -> Connect {
        Connect {
            version: VERSION,
            time: 0.0,
            target: "example.com:443".to_owned(),
            address: Some(SocketAddr::from(([192, 0, 2, 1], 443))),
            outcome,
            connect_s: 1.013,
            rtt_s: None,
            syns: 2,
            lost_syns: 0,
            lost_synacks: 0,
            lost_unknown: 0,
            late: false,
            unanswered: 0,
            error: None,
        }
    }

    #[test]
    fn a_line_has_the_outcome_and_the_losses() {
        let ok = connect(Outcome::Connected);
        assert_eq!(line(&ok), "example.com:443 (192.0.2.1) 1.01 s\n");
        let lost = Connect { lost_syns: 2, late: true, ..ok.clone() };
        assert_eq!(line(&lost), "example.com:443 (192.0.2.1) 1.01 s  2 SYNs lost, SYN/ACK late\n");
        let literal = Connect { target: "192.0.2.1:443".to_owned(), lost_unknown: 1, ..ok };
        assert_eq!(line(&literal), "192.0.2.1:443 1.01 s  SYN or SYN/ACK lost\n");
        let silent = Connect { unanswered: 1, ..connect(Outcome::TimedOut) };
        assert_eq!(line(&silent), "example.com:443 (192.0.2.1) timed out after 1.01 s, 1 SYN unanswered\n");
        let error = Some("no such\u{1b}[2J name".to_owned());
        let unresolved = Connect { address: None, error, ..connect(Outcome::Unresolved) };
        assert_eq!(line(&unresolved), "example.com:443 not resolved: no such [2J name\n");
    }
}
