//! Many connections between the same addresses and ports.

use crate::captures::analyze_bytes;
use crate::frames::{ACK, FIN, PSH, SYN, Segment, pcap};
use gentle_trace::Options;
use gentle_trace::results::Finding;
use proptest::prelude::*;

/// Interleaved attempts with the same flow key, each sent three times: all are matched, however many there are.
#[test]
fn attempts_by_turns() {
    for attempts in [1_u32, 31, 32, 33, 34, 100, 2_000] {
        let mut segments = Vec::new();
        for turn in 0..3 {
            for n in 0..attempts {
                let at = f64::from(turn) * 3.0 + f64::from(n) * 0.001;
                let syn = Segment::client(at, SYN).seq(n * 100_000).id(n as u16 + 1);
                segments.push(syn.id((n + turn * 7_919 + 1) as u16));
            }
        }
        let (analysis, rows) = analyze_bytes(&[&pcap(&segments)], &Options::default());
        let handshakes = &analysis.handshakes;
        assert_eq!(handshakes.attempts, u64::from(attempts));
        assert_eq!(handshakes.duplicate_syn, u64::from(attempts) * 2);
        assert_eq!(rows.len(), attempts as usize);
        assert_eq!(analysis.limits.retired_memory, 0);
    }
}

/// Health check from a fixed port to a fixed port, once or a hundred times a second.
#[test]
fn a_health_check() {
    for (every_s, checks) in [(1.0, 200_u32), (0.01, 3_000)] {
        let mut segments = Vec::new();
        for n in 0..checks {
            let at = f64::from(n) * every_s;
            let (client, server) = (n.wrapping_mul(64_001), n.wrapping_mul(250_007) + 9);
            segments.extend([
                Segment::client(at, SYN).seq(client).id(n as u16),
                Segment::server(at + 0.001, SYN | ACK).seq(server).ack(client + 1),
                Segment::client(at + 0.002, ACK).seq(client + 1).ack(server + 1),
                Segment::client(at + 0.003, PSH | ACK).seq(client + 1).ack(server + 1).payload(9),
                Segment::client(at + 0.004, FIN | ACK).seq(client + 10).ack(server + 1),
                Segment::server(at + 0.005, FIN | ACK).seq(server + 1).ack(client + 11),
                Segment::client(at + 0.006, ACK).seq(client + 11).ack(server + 2),
            ]);
        }
        let (analysis, rows) = analyze_bytes(&[&pcap(&segments)], &Options::default());
        assert_eq!(analysis.handshakes.successes, u64::from(checks));
        assert_eq!(analysis.closes.fin, u64::from(checks));
        assert_eq!((analysis.limits.retired_memory, analysis.limits.retired_idle), (0, 0));
        assert!(rows.iter().all(|row| row.response_time.is_some()));
        assert!(!analysis.findings.iter().any(|it| matches!(it, Finding::Evicted { .. })), "{:?}", analysis.findings);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Handshakes in any order, some answered long after others began: each SYN/ACK and each ACK matches its attempt.
    #[test]
    fn answers_find_their_attempts(
        order in Just((0..120_u32).collect::<Vec<_>>()).prop_shuffle(),
        gap in prop_oneof![Just(0.001), Just(2.0)],
    ) {
        let mut segments: Vec<Segment> = (0..120_u32)
            .map(|n| Segment::client(f64::from(n) * gap, SYN).seq(n * 100_000).id(n as u16 + 1))
            .collect();
        let begin = 120.0 * gap;
        for (place, n) in order.iter().enumerate() {
            let at = begin + place as f64 * 0.01;
            let (client, server) = (n * 100_000, n * 70_001);
            segments.push(Segment::server(at, SYN | ACK).seq(server).ack(client + 1));
            segments.push(Segment::client(at + 0.001, ACK).seq(client + 1).ack(server + 1));
        }
        let (analysis, _) = analyze_bytes(&[&pcap(&segments)], &Options::default());
        prop_assert_eq!(analysis.handshakes.attempts, 120);
        prop_assert_eq!(analysis.handshakes.successes, 120);
        prop_assert_eq!(analysis.handshakes.synack_without_syn, 0);
    }
}
