//! Captures of real Linux TCP that lost exactly chosen packets (`tests/make-captures`): the analysis finds these losses
//! and no others.

use crate::captures;
use gentle_trace::Options;
use gentle_trace::results::Analysis;
use gentle_trace::row::Row;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Debug, Deserialize)]
struct Truth {
    captures: BTreeMap<String, Capture>,
}

#[derive(Debug, Deserialize)]
struct Capture {
    lost: BTreeMap<String, u64>,
    vantage: String,
    #[serde(flatten)]
    counts: Counts,
    data_retransmitted: u64,
    data_hole_filling: u64,
    fin_retransmitted: u64,
    capture_duplicates: Copies,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Counts {
    packets: u64,
    attempts: u64,
    successes: u64,
    duplicate_syn: u64,
    duplicate_synack: u64,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Copies {
    syn: u64,
    synack: u64,
    other: u64,
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/netns")
}

fn truth() -> BTreeMap<String, Capture> {
    let text = std::fs::read_to_string(folder().join("truth.json")).expect("it is there");
    let truth: Truth = serde_json::from_str(&text).expect("it has these fields");
    assert!(truth.captures.len() > 60, "all captures are in it");
    truth.captures
}

fn analyze(name: &str) -> (Analysis, Vec<Row>) {
    captures::analyze_files(&[folder().join(name)], &Options::default())
}

#[test]
fn every_count() {
    for (name, truth) in truth() {
        let analysis = analyze(&name).0;
        let handshakes = &analysis.handshakes;
        let again = analysis.retransmissions;
        let copies = handshakes.capture_duplicates;
        let mut late = truth.data_hole_filling;
        if name == "data-tail.server.pcap" {
            // The FIN shows that there was data before it; the truth counts only data.
            late += 1;
        }
        let found = Counts {
            packets: analysis.captures[0].packets,
            attempts: handshakes.attempts,
            successes: handshakes.successes,
            duplicate_syn: handshakes.duplicate_syn,
            duplicate_synack: handshakes.duplicate_synack,
        };
        assert_eq!(found, truth.counts, "{name}");
        assert_eq!(again.retransmitted, truth.data_retransmitted + truth.fin_retransmitted, "{name}");
        assert_eq!(again.late, late, "{name}");
        assert_eq!((again.reordered, again.probes), (0, 0), "{name}");
        if truth.lost.is_empty() {
            assert_eq!(handshakes.attempts_with_retransmission, 0, "{name}");
            assert_eq!(analysis.waiting.data_s, 0.0, "{name}");
        }
        let copies = Copies { syn: copies.syn, synack: copies.synack, other: copies.other };
        assert_eq!(copies, truth.capture_duplicates, "{name}");
    }
}

#[test]
fn where_they_were_taken() {
    for (name, truth) in truth() {
        let Analysis { vantage, handshakes, outcomes, .. } = analyze(&name).0;
        let expected = if name.contains(".span.") {
            // Next to the server's port: nothing is lost in between.
            "server"
        } else if handshakes.rtt_s.both.n == 0 && truth.vantage != "client" {
            // Without a round-trip time, only TTLs are left, and the first router looks as near as the host before it.
            match name.split('.').nth(1) {
                Some("any") => "unknown",
                Some("server") if handshakes.synack_without_syn + outcomes.refused.attempts > 0 => "unknown",
                Some("server") => "server",
                _ => "client",
            }
        } else {
            &truth.vantage
        };
        assert_eq!(vantage.side, expected, "{name}: {vantage:?}");
    }
}

/// Row of the only connection in a capture.
fn only_row(name: &str) -> (Analysis, Row) {
    let (analysis, mut rows) = analyze(name);
    assert_eq!(rows.len(), 1, "{name}");
    (analysis, rows.remove(0))
}

#[test]
fn time_lost_to_the_handshake() {
    // Linux sends the first SYNs 1 s apart (net.ipv4.tcp_syn_linear_timeouts), and SYN/ACKs after 1, 2, 4 s and also
    // whenever a SYN is retransmitted.
    for (name, seconds) in [
        ("plain.client.pcap", 0.0),
        ("syn.client.pcap", 1.0),
        ("syn.router.pcap", 1.0),
        ("syn.trunk.pcap", 1.0),
        ("syn.any.pcap", 1.0),
        // A SYN lost before the server is not visible there.
        ("syn.server.pcap", 0.0),
        ("syn.span.pcap", 0.0),
        ("syn-3.client.pcap", 3.0),
        ("syn-3.router.pcap", 3.0),
        ("syn-3.server.pcap", 0.0),
        ("synack.client.pcap", 1.0),
        ("synack.router.pcap", 1.0),
        ("synack.any.pcap", 1.0),
        ("synack.span.pcap", 1.0),
        ("synack.server.pcap", 1.0),
        ("synack-2.client.pcap", 1.0),
        ("synack-2.server.pcap", 1.0),
        ("syn-synack.client.pcap", 2.0),
        ("syn-synack.router.pcap", 2.0),
        ("syn-synack.server.pcap", 1.0),
        ("ipv6-syn.client.pcap", 1.0),
        ("ipv6-synack.server.pcap", 1.0),
        // The client takes the connection for established, and waits for data of the server.
        ("ack-silent.server.pcap", 1.0),
        ("ack-silent.client.pcap", 1.0),
        ("ack-data.server.pcap", 0.0),
    ] {
        let (analysis, row) = only_row(name);
        let lost = analysis.waiting.handshake_s;
        assert!((lost - seconds).abs() <= 0.1 * seconds, "{name}: {lost} s");
        assert!((row.handshake_delay.as_secs_f64() - lost).abs() < 1e-9, "{name}");
        assert!(row.established, "{name}");
        assert_eq!(analysis.waiting.failed_s, 0.0, "{name}");
    }
    for (name, seconds) in [
        ("unanswered.client.pcap", 5.0 + 2.0 + 4.0),
        ("unanswered.router.pcap", 5.0 + 2.0 + 4.0),
        ("half-open.client.pcap", 5.0),
        ("half-open.server.pcap", 5.0),
        ("refused.client.pcap", 0.0),
    ] {
        let (analysis, row) = only_row(name);
        let waited = analysis.waiting.failed_s;
        assert!((waited - seconds).abs() <= 0.1 * seconds, "{name}: {waited} s");
        assert!(!row.established, "{name}");
        assert_eq!(analysis.waiting.handshake_s, 0.0, "{name}");
        assert_eq!(analysis.handshakes.failures, 1, "{name}");
    }
}

#[test]
fn how_attempts_failed() {
    for place in ["client", "router", "server"] {
        let analysis = analyze(&format!("refused.{place}.pcap")).0;
        assert_eq!(analysis.handshakes.failures, 1, "{place}");
        assert_eq!(analysis.outcomes.refused.attempts, 1, "{place}");
        // At the client no SYN/ACK ever arrived, so the host is not known to be alive.
        let outcomes = analyze(&format!("half-open.{place}.pcap")).0.outcomes;
        let answered = place == "server";
        assert_eq!(outcomes.blackholed.attempts, u64::from(answered), "{place}");
        assert_eq!(outcomes.dead.attempts, u64::from(!answered), "{place}");
    }
    let analysis = analyze("unanswered.client.pcap").0;
    assert_eq!(analysis.handshakes.failures, 1);
    assert_eq!(analysis.outcomes.dead.attempts, 1);
}

/// Losses are inferred as losses at every capture point that shows their retransmission.
#[test]
fn what_was_lost() {
    for (name, truth) in truth() {
        let (analysis, rows) = analyze(&name);
        let of_handshake =
            ["syn", "synack"].iter().any(|kind| truth.lost.contains_key(*kind)) || name.starts_with("ack-silent.");
        let lost: u32 = rows.iter().map(|row| row.handshake_lost).sum();
        let late: u32 = rows.iter().map(|row| row.handshake_late).sum();
        let deferred: u32 = rows.iter().map(|row| row.handshake_deferred).sum();
        let again = analysis.handshakes.attempts_with_retransmission > 0;
        assert_eq!(analysis.outcomes.with_loss > 0, again && analysis.outcomes.completed > 0, "{name}");
        assert!(of_handshake || lost == 0, "{name}: {lost}");
        // A SYN and a SYN/ACK sent by timer at the same time cross each other.
        assert!(late <= lost, "{name}: {lost} {late}");
        assert_eq!(deferred, 0, "{name}");
    }
}

#[test]
fn the_series_of_intervals() {
    const DOUBLING: &str = "1, 2, 4, 8 … s (RFC 6298)";
    const LINEAR: &str = "1, 1, 1, 1, 1, 2, 4 … s (Linux, linear at first; macOS)";
    for (name, series) in [
        ("plain.client.pcap", vec![]),
        // One interval of 1 s fits both; the first series counts.
        ("syn.client.pcap", vec![("syn", DOUBLING)]),
        ("syn-3.client.pcap", vec![("syn", LINEAR)]),
        ("unanswered.client.pcap", vec![("syn", LINEAR)]),
        ("half-open.server.pcap", vec![("syn", LINEAR)]),
        ("ack-silent.server.pcap", vec![("synack", DOUBLING)]),
    ] {
        let analysis = analyze(name).0;
        let found: Vec<(&str, &str)> =
            analysis.intervals.series.iter().map(|series| (series.segment, series.label.as_str())).collect();
        assert_eq!(found, series, "{name}");
        assert_eq!(analysis.handshakes.outside_standard_intervals, 0, "{name}");
    }
    let syn = analyze("unanswered.client.pcap").0.intervals.syn;
    let found: Vec<(f64, u64)> = syn.standard.iter().map(|standard| (standard.interval_s, standard.count)).collect();
    assert_eq!(found, [(1.0, 5), (2.0, 1), (4.0, 1)]);
    assert_eq!((syn.total, syn.outside), (7, 0));
}

#[test]
fn how_connections_end() {
    use gentle_trace::row::Close;
    for (name, close) in [
        ("plain.client.pcap", Close::Fin),
        ("fin-both.server.pcap", Close::Fin),
        ("abort.client.pcap", Close::Rst),
        ("refused.client.pcap", Close::Rst),
        ("unanswered.client.pcap", Close::Open),
    ] {
        assert_eq!(only_row(name).1.close, close, "{name}");
    }
}

/// After the loss of both FINs, the client's second FIN arrived, but the server's FIN, which acknowledged it, was lost:
/// the client's third FIN was spurious, and Linux answers it with a DSACK.
#[test]
fn what_was_sent_again_for_nothing() {
    for (name, _) in truth() {
        let spurious = analyze(&name).0.retransmissions.spurious;
        assert_eq!(spurious, u64::from(name.starts_with("fin-both.")), "{name}");
    }
}
