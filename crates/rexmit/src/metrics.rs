//! The status for Prometheus: its text format, version 0.0.4.

use crate::status::Status;
use std::fmt::Write;

/// As node_exporter's textfile collector reads it.
#[must_use]
pub fn metrics(status: &Status) -> String {
    let counters = &status.counters;
    let label = status.interface.replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, rows: &[(&str, f64)]| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP gentle_rexmit_{name} {help}");
        let _ = writeln!(text, "# TYPE gentle_rexmit_{name} {kind}");
        for (more, value) in rows {
            let _ = writeln!(
                text,
                "gentle_rexmit_{name}{{interface=\"{label}\"{more}}} {value}"
            );
        }
    };
    let n = |count: u64| count as f64;
    metric(
        "frames_total",
        "counter",
        "Frames that were looked at.",
        &[("", n(counters.frames))],
    );
    metric(
        "missed_total",
        "counter",
        "Packets that found no room in the socket.",
        &[("", n(status.missed))],
    );
    metric(
        "malformed_total",
        "counter",
        "Frames with a header that contradicts itself.",
        &[("", n(counters.malformed))],
    );
    metric(
        "handshakes_total",
        "counter",
        "Packets that were watched for an answer.",
        &[
            (",packet=\"syn\"", n(counters.syns)),
            (",packet=\"synack\"", n(counters.synacks)),
        ],
    );
    metric(
        "left_alone_total",
        "counter",
        "Packets that were not watched.",
        &[
            (",reason=\"data\"", n(counters.with_data)),
            (",reason=\"damaged\"", n(counters.not_copied)),
        ],
    );
    metric(
        "copies_total",
        "counter",
        "Packets sent again, or due to be in a dry run.",
        &[
            (",packet=\"copy\"", n(counters.copies)),
            (",packet=\"duplicate\"", n(counters.duplicates)),
        ],
    );
    metric(
        "unneeded_total",
        "counter",
        "Handshakes whose copy was sent in vain.",
        &[("", n(counters.unneeded))],
    );
    metric(
        "send_errors_total",
        "counter",
        "Copies that the system did not take.",
        &[("", n(counters.send_errors))],
    );
    metric(
        "held_total",
        "counter",
        "Copies that were due and not sent.",
        &[
            (",reason=\"rate\"", n(counters.held_by_rate)),
            (",reason=\"share\"", n(counters.held_by_share)),
            (",reason=\"silence\"", n(counters.held_by_silence)),
        ],
    );
    metric(
        "ended_total",
        "counter",
        "Handshakes by what ended them.",
        &[
            (",by=\"answer\"", n(counters.answered)),
            (",by=\"answer_after_copy\"", n(counters.answered_after_copy)),
            (",by=\"reset\"", n(counters.resets)),
            (",by=\"icmp\"", n(counters.undeliverable)),
            (",by=\"nothing\"", n(counters.unanswered)),
            (",by=\"eviction\"", n(counters.evicted)),
        ],
    );
    metric(
        "stack_retransmissions_total",
        "counter",
        "Handshakes whose packet the stack itself sent again.",
        &[("", n(counters.stack_retransmissions))],
    );
    metric(
        "saved_seconds_total",
        "counter",
        "Time that connections did not have to wait.",
        &[("", n(counters.saved_ms) / 1e3)],
    );
    metric(
        "pending",
        "gauge",
        "Handshakes that wait for their answer.",
        &[("", n(status.pending))],
    );
    metric(
        "paths",
        "gauge",
        "Networks of which a delay was learned.",
        &[("", status.paths.len() as f64)],
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counters;

    #[test]
    fn every_counter_is_there() {
        let status = Status {
            version: 1,
            engine: "wire".to_owned(),
            interface: "eth0".to_owned(),
            pid: 1,
            started_s: 1,
            dry_run: false,
            pending: 7,
            missed: 8,
            counters: Counters {
                saved_ms: 1_250,
                ..Counters::default()
            },
            paths: Vec::new(),
        };
        let text = metrics(&status);
        for line in [
            "# TYPE gentle_rexmit_saved_seconds_total counter",
            "gentle_rexmit_saved_seconds_total{interface=\"eth0\"} 1.25",
            "gentle_rexmit_held_total{interface=\"eth0\",reason=\"share\"} 0",
            "gentle_rexmit_pending{interface=\"eth0\"} 7",
            "gentle_rexmit_missed_total{interface=\"eth0\"} 8",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let counters = serde_json::to_value(status.counters).expect("JSON");
        let rows = text.lines().filter(|line| !line.starts_with('#')).count();
        // And pending, missed, paths.
        assert_eq!(rows, counters.as_object().expect("an object").len() + 3);
    }
}
