//! Prometheus metrics of the status, in text format 0.0.4 for node_exporter's textfile collector.
//!
//! The crate prometheus-client writes OpenMetrics only, which declares the type of a counter under another name than that
//! of its samples; the collector treats such counters as untyped.

use crate::status::Status;
use prometheus::{CounterVec, GaugeVec, Opts, Registry, TextEncoder};

/// Formats the status as metrics for node_exporter's textfile collector.
///
/// # Errors
/// If the library rejects a metric name; the names used here are valid.
pub fn metrics(status: &Status) -> Result<String, prometheus::Error> {
    let c = &status.counters;
    let registry = Registry::new();
    let options = |name: &str, help: &str| {
        Opts::new(format!("gentle_rexmit_{name}"), help).const_label("interface", &status.interface)
    };
    // Counters with one label, by its value.
    let by = |name: &str, help: &str, label: &str, counts: &[(&str, u64)]| {
        let family = CounterVec::new(options(name, help), &[label])?;
        for (value, count) in counts {
            let counter = family.get_metric_with_label_values(&[value])?;
            counter.inc_by(*count as f64);
        }
        registry.register(Box::new(family))
    };
    let counter = |name: &str, help: &str, count: f64| {
        let family = CounterVec::new(options(name, help), &[])?;
        family.get_metric_with_label_values::<&str>(&[])?.inc_by(count);
        registry.register(Box::new(family))
    };
    let gauge = |name: &str, help: &str, value: f64| {
        let family = GaugeVec::new(options(name, help), &[])?;
        family.get_metric_with_label_values::<&str>(&[])?.set(value);
        registry.register(Box::new(family))
    };
    let n = |count: u64| count as f64;
    counter("frames_total", "Frames processed.", n(c.frames))?;
    let help = "Packets dropped because the socket buffer was full.";
    counter("missed_total", help, n(status.missed))?;
    let help = "Frames with contradictory headers, or truncated.";
    counter("malformed_total", help, n(c.malformed))?;
    by(
        "handshakes_total",
        "SYNs and SYN/ACKs watched for an answer.",
        "packet",
        &[("syn", c.syns), ("synack", c.synacks)],
    )?;
    by(
        "left_alone_total",
        "SYNs and SYN/ACKs not watched.",
        "reason",
        &[("data", c.with_data), ("damaged", c.not_copied)],
    )?;
    by(
        "copies_total",
        "Copies sent, or that a dry run would have sent.",
        "packet",
        &[("copy", c.copies), ("duplicate", c.duplicates)],
    )?;
    let help = "Handshakes whose copies were spurious.";
    counter("unneeded_total", help, n(c.spurious))?;
    let help = "Handshakes whose packet was lost and whose copy was answered.";
    counter("rescued_total", help, n(c.rescued))?;
    let help = "Copies that could not be sent.";
    counter("send_errors_total", help, n(c.send_errors))?;
    by(
        "held_total",
        "Copies suppressed.",
        "reason",
        &[
            ("rate", c.held_by_rate),
            ("share", c.held_by_share),
            ("silence", c.held_by_silence),
            ("needless", c.held_by_spurious),
            ("missed", c.held_by_missed),
        ],
    )?;
    by(
        "ended_total",
        "Handshakes by the event that ended them.",
        "by",
        &[
            ("answer", c.answered),
            ("answer_after_copy", c.answered_after_copy),
            ("answer_unseen", c.answered_unseen),
            ("reset", c.resets),
            ("own_reset", c.abandoned),
            ("icmp", c.undeliverable),
            ("nothing", c.unanswered),
            ("eviction", c.evicted),
        ],
    )?;
    let help = "Handshakes whose packet the stack itself retransmitted.";
    counter("stack_retransmissions_total", help, n(c.stack_retransmissions))?;
    let help = "Time that rescued handshakes would have waited for the stack's retransmission.";
    counter("saved_seconds_total", help, n(c.saved_ms) / 1e3)?;
    let help = "Time that undecided handshakes would have waited if their packets were lost.";
    gauge("saved_undecided_seconds", help, n(c.saved_undecided_ms) / 1e3)?;
    let help = "Handshakes waiting for an answer.";
    gauge("pending", help, n(status.pending))?;
    let help = "Networks with a learned delay.";
    gauge("paths", help, status.paths.len() as f64)?;
    TextEncoder::new().encode_to_string(&registry.gather())
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
            files_confined: true,
            calls_confined: true,
            pending: 7,
            missed: 8,
            counters: Counters { saved_ms: 1_250, ..Counters::default() },
            paths: Vec::new(),
        };
        let text = metrics(&status).expect("metrics");
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
        // The three additional rows are `pending`, `missed` and `paths`.
        assert_eq!(rows, counters.as_object().expect("an object").len() + 3);
    }
}
