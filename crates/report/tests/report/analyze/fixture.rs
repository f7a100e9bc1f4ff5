//! Analyses in the form that `gentle-trace` returns, with invented but plausible numbers.

use gentle_trace::results::{
    Analysis, AttemptGroup, Capture, CaptureDuplicates, Cause, CauseKind, Closes, CostOfSize, DataWait, Direction,
    DirectionBy, DroppedFor, ExpectedCost, FailureReason, Filter, Finding, Flows, HandshakeRtt, Handshakes, InitialRto,
    IntervalBin, IntervalHistogram, Intervals, Limits, Lookups, LossDirection, MeanOf, NamedParty, OtherHandshakes,
    OtherProtocols, Outcomes, PlaceNames, Quantiles, Repeats, RetransmissionDelay, RetransmissionDelayDetail,
    Retransmissions, SCHEMA, SeriesCount, StandardInterval, Timeline, TimelineBin, Top, TopEntry, TrustWarning,
    TrustWarningKind, Vantage, Waiting, Waits,
};
use std::collections::BTreeMap;

/// Busy link with handshake losses; every field has a value.
pub(crate) fn rich() -> Analysis {
    Analysis {
        version: SCHEMA,
        gentle: "0.1.0".to_owned(),
        interrupted: true,
        anonymized: true,
        findings: findings(),
        next_steps: vec!["Check that a process listens on the refused ports (ss -ltnp on the server).".to_owned()],
        verdict: vec![
            "2.1 % of 48,210 connections lost a SYN or SYN/ACK; they waited 1.42 s on average.".to_owned(),
            "That is 61 % of all waiting for retransmissions in this capture.".to_owned(),
            "Worst: 192.0.2.7:443, with 214 s over 151 connections.".to_owned(),
        ],
        warnings: vec![TrustWarning {
            kind: TrustWarningKind::DroppedByCapture,
            file: Some(0),
            sentence: "The capture lacks packets: 812 of 5,413,150 packets (0.02 %) were dropped while capturing."
                .to_owned(),
            evidence: BTreeMap::from([("packets", 812.0), ("of", 5_413_150.0), ("share", 0.000_15)]),
        }],
        captures: vec![
            Capture {
                path: "monday.pcapng.zst".to_owned(),
                format: "pcapng, zstd".to_owned(),
                packets: 5_412_338,
                tcp_segments: 5_107_112,
                wire_bytes: 4_187_334_912,
                skipped: BTreeMap::from([("arp", 1_204), ("truncated before TCP", 12)]),
                other: BTreeMap::from([("udp", 289_010), ("sctp", 512), ("other", 14_488)]),
                tunnels: BTreeMap::from([("GRE", 12_001)]),
                interfaces: Vec::new(),
                warnings: vec![
                    "monday.pcapng.zst: at byte 3901223004: expected a block, found the end of the file after 12 bytes"
                        .to_owned(),
                ],
            },
            capture("tuesday.pcap", 12_004),
        ],
        start_s: Some(1_714_979_289.25),
        duration_s: 1_800.4,
        handshakes: Handshakes {
            attempts: 48_210,
            successes: 47_102,
            failures: 1_108,
            duplicate_syn: 1_640,
            duplicate_synack: 391,
            attempts_with_duplicate_syn: 902,
            successes_with_duplicate_syn: 641,
            failures_with_duplicate_syn: 261,
            outside_standard_intervals: 47,
            syn_per_success: Some(1.0171),
            attempts_per_duplicate: Some(53.4),
            capture_duplicates: CaptureDuplicates { syn: 31, synack: 12, other: 2_210 },
            attempts_with_retransmission: 1_012,
            successes_with_retransmission: 751,
            rtt_s: HandshakeRtt {
                server_side: quantiles(0.031),
                client_side: quantiles(0.0042),
                both: quantiles(0.0352),
            },
            synack_without_syn: 23,
            syn_with_data: 5,
        },
        outcomes: outcomes(),
        causes: causes(),
        waiting: Waiting {
            handshake_s: 1_066.4,
            loss_s: 1_001.2,
            loss_mean_s: Some(1.42),
            data_s: 681.8,
            handshake_share: Some(0.61),
            failed_s: 2_904.0,
        },
        expected_cost: Some(expected_cost()),
        directions: directions(1.0),
        direction_by: DirectionBy::Initiator,
        retransmissions: Retransmissions {
            data_segments: 2_604_118,
            retransmitted: 21_004,
            late: 9_871,
            reordered: 1_204,
            spurious: 802,
            probes: 77,
        },
        intervals: intervals(),
        vantage: Vantage {
            side: "client",
            given: false,
            syns: 48_210,
            syns_unrouted: 47_246,
            synacks: 47_168,
            synacks_unrouted: 0,
            evidence: vec![
                "SYNs arrive with TTL 64 or 128 in 98 % of the attempts: they have crossed no router.".to_owned(),
                "The client's half of the round trip is 4.2 ms, the server's 31 ms.".to_owned(),
            ],
            duplicate_syn_means: "the SYN or its SYN/ACK was lost.".to_owned(),
            duplicate_synack_means: "the ACK was lost, or came too late.".to_owned(),
            syn_before_synack: 1_502,
            syn_after_synack: 138,
            synack_before_ack: 44,
            synack_after_ack: 347,
        },
        filters: filters(),
        top: Top {
            servers: list(10, |i| format!("192.0.2.{}:443", 7 + 11 * i)),
            clients: list(10, |i| match i % 3 {
                2 => format!("2001:db8:85a3:1319:8a2e:370:7344:{:x}", 0x1a00 + i),
                _ => format!("198.51.100.{}", 3 + i),
            }),
            prefixes: list(6, |i| format!("203.0.{}.0/24", 100 + i)),
        },
        timeline: Timeline { bin_s: 10.0, bins: (0..180).filter(|i| !(96..102).contains(i)).map(moment).collect() },
        lookups: Some(lookups()),
        other_protocols: OtherProtocols {
            quic: Some(OtherHandshakes {
                attempts: 9_120,
                successes: 9_001,
                retransmissions: BTreeMap::from([("initial (client)".into(), 214), ("initial (server)".into(), 88)]),
                attempts_with_loss: 190,
                time_lost_s: 61.3,
                rtt_s: quantiles(0.029),
                versions: BTreeMap::from([("v1".to_owned(), 9_011), ("v2".to_owned(), 109)]),
            }),
            sctp: Some(OtherHandshakes { attempts: 4, successes: 4, ..OtherHandshakes::default() }),
            dccp: None,
        },
        closes: Closes { fin: 41_220, rst: 3_914, silent: 1_411, open: 557, never_established: 1_108 },
        limits: Limits {
            idle_timeout_s: 900.0,
            memory_limit_bytes: 2_147_483_648,
            peak_connections: 9_122,
            peak_bytes: 1_751_424,
            retired_idle: 1_411,
            retired_memory: 7,
            peak_remembered_bytes: 0,
            judged_early: 3,
        },
        names: names(&[
            ("192.0.2.7", "www.shop.example"),
            ("192.0.2.18", "shop/cart"),
            ("198.51.100.3", "laptop"),
            ("203.0.100.0/24", "frankfurt"),
        ]),
        flows: Some(Flows {
            in_words: vec![
                "40,212 of 48,210 connections can be replayed, with 91 % of the TCP payload.".to_owned(),
                "Left out: 120 without a SYN in the capture, 7,878 without data.".to_owned(),
            ],
            ..Flows::default()
        }),
    }
}

/// Analysis without losses.
pub(crate) fn healthy() -> Analysis {
    let lossless = Direction {
        capacity_given: false,
        utilization: None,
        packet_retransmission_probability: Some(0.0),
        syn_share_of_retransmissions: None,
        syn_retransmission_probability: Some(0.0),
        retransmission_delay_sum_s: delay(0.0, 0.0, 0.0),
        ..direction("from initiator", 1_204, 0.02, 1.0)
    };
    Analysis {
        verdict: vec!["None of 84 connections lost a SYN or SYN/ACK.".to_owned()],
        next_steps: Vec::new(),
        captures: vec![capture("lan.pcap", 2_610)],
        start_s: Some(1_714_979_289.0),
        duration_s: 61.5,
        handshakes: Handshakes {
            attempts: 84,
            successes: 84,
            syn_per_success: Some(1.0),
            rtt_s: HandshakeRtt {
                server_side: quantiles(0.0004),
                client_side: quantiles(0.0001),
                both: quantiles(0.0005),
            },
            ..Handshakes::default()
        },
        outcomes: Outcomes { answered: 84, completed: 84, loss: Some(0.0), ..Outcomes::default() },
        causes: Vec::new(),
        directions: vec![lossless.clone(), Direction { name: "to initiator".to_owned(), packets: 1_310, ..lossless }],
        retransmissions: Retransmissions { data_segments: 1_420, ..Retransmissions::default() },
        filters: filters()
            .into_iter()
            .map(|filter| Filter { removed_connections: 0, removed_addresses: None, examples: Vec::new(), ..filter })
            .collect(),
        top: Top {
            servers: vec![TopEntry {
                attempts: 84,
                answered: 84,
                failures: 0,
                with_loss: 0,
                time_lost_s: 0.0,
                failed_s: 0.0,
                name: "192.0.2.1:80".to_owned(),
            }],
            ..Top::default()
        },
        closes: Closes { fin: 80, open: 4, ..Closes::default() },
        ..empty()
    }
}

/// Capture without TCP.
pub(crate) fn without_tcp() -> Analysis {
    Analysis {
        verdict: vec!["This capture has no TCP: 1,204 packets, all of them UDP or other.".to_owned()],
        next_steps: Vec::new(),
        captures: vec![Capture {
            tcp_segments: 0,
            other: BTreeMap::from([("udp", 1_200), ("other", 4)]),
            ..capture("dns.pcap", 1_204)
        }],
        duration_s: 12.0,
        ..empty()
    }
}

/// Text that a terminal or a browser might interpret.
pub(crate) const HOSTILE: &str =
    "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>\u{1b}[2J{{ data }}\u{202e}";

/// Names and sentences that contain markup or move the cursor.
pub(crate) fn hostile() -> Analysis {
    let mut analysis = rich();
    analysis.verdict[0] = HOSTILE.to_owned();
    analysis.captures.truncate(1);
    let capture = &mut analysis.captures[0];
    capture.path = HOSTILE.to_owned();
    capture.format = HOSTILE.to_owned();
    capture.warnings = vec![HOSTILE.to_owned()];
    for list in [&mut analysis.top.servers, &mut analysis.top.clients, &mut analysis.top.prefixes] {
        list[0].name = HOSTILE.to_owned();
    }
    analysis.names = names(&[(HOSTILE, HOSTILE), ("192.0.2.18", HOSTILE), ("198.51.100.4", HOSTILE)]);
    for direction in &mut analysis.directions {
        direction.name = HOSTILE.to_owned();
    }
    for filter in &mut analysis.filters {
        filter.description = HOSTILE.to_owned();
        filter.examples = vec![HOSTILE.to_owned()];
        filter.removed_addresses = Some(1);
    }
    analysis.vantage.evidence = vec![HOSTILE.to_owned()];
    analysis.vantage.duplicate_syn_means = HOSTILE.to_owned();
    analysis.vantage.duplicate_synack_means = HOSTILE.to_owned();
    analysis.intervals.series[0].label = HOSTILE.to_owned();
    if let Some(quic) = &mut analysis.other_protocols.quic {
        quic.versions = BTreeMap::from([(HOSTILE.to_owned(), 3)]);
    }
    analysis
}

fn names(names: &[(&str, &str)]) -> PlaceNames {
    names.iter().map(|(place, name)| (place.to_string(), name.to_string())).collect()
}

fn empty() -> Analysis {
    Analysis {
        interrupted: false,
        anonymized: false,
        findings: Vec::new(),
        start_s: None,
        handshakes: Handshakes::default(),
        outcomes: Outcomes::default(),
        causes: Vec::new(),
        waiting: Waiting::default(),
        expected_cost: None,
        directions: Vec::new(),
        retransmissions: Retransmissions::default(),
        intervals: Intervals::default(),
        vantage: Vantage {
            side: "unknown",
            evidence: Vec::new(),
            syn_before_synack: 0,
            syn_after_synack: 0,
            synack_before_ack: 0,
            synack_after_ack: 0,
            ..rich().vantage
        },
        filters: Vec::new(),
        top: Top::default(),
        timeline: Timeline::default(),
        other_protocols: OtherProtocols::default(),
        lookups: None,
        closes: Closes::default(),
        limits: Limits {
            retired_idle: 0,
            retired_memory: 0,
            peak_remembered_bytes: 0,
            judged_early: 0,
            ..rich().limits
        },
        names: PlaceNames::default(),
        flows: None,
        ..rich()
    }
}

fn expected_cost() -> ExpectedCost {
    let wait = |n: u64, mean: f64| MeanOf { n, mean: Some(mean), ci95: Some(0.06 * mean) };
    let size = |min_segments: u64, max_segments: Option<u64>, n: u64, response_s: f64| CostOfSize {
        min_segments,
        max_segments,
        mean_segments: 1.4 * min_segments as f64,
        response_s,
        expected_share: 0.0203 / (0.0203 + response_s),
        measured_wait_s: wait(n, 0.0213),
        measured_share: 0.0213 / (0.0213 + response_s),
    };
    ExpectedCost {
        losses: 790,
        handshake_loss: 0.0165,
        packet_loss: Some(0.0115),
        rtt_s: Some(0.0493),
        initial_rtos: vec![
            InitialRto { initial_rto_s: 1.0, linear: 4, share: 0.88 },
            InitialRto { initial_rto_s: 3.0, linear: 0, share: 0.12 },
        ],
        unknown_rto: 14,
        initial_window: 10.0,
        segments_per_ack: 1.0,
        expected_wait_s: Some(0.0203),
        measured_wait_s: wait(47_102, 0.0213),
        expected_wait_like_data_s: Some(0.0288),
        sizes: vec![size(1, Some(3), 31_204, 0.148), size(11, Some(100), 9_118, 0.251), size(1_001, None, 310, 13.9)],
        gaps: Vec::new(),
        not_computed: Vec::new(),
    }
}

/// Findings of every kind.
fn findings() -> Vec<Finding> {
    let waits = |attempts, waited_s| Waits { attempts, waited_s };
    let failed = |reason, attempts, parties, name| Finding::Failed { reason, group: apart(attempts, parties, name) };
    vec![
        Finding::Warning { warning: 0 },
        Finding::NoTcp { packets: 1_204, kinds: BTreeMap::from([("udp", 1_200), ("fragment", 1), ("arp", 3)]) },
        Finding::NoTcp { packets: 0, kinds: BTreeMap::new() },
        Finding::NoSyn { segments: 12, answered: 0, answered_again: 0, synacks_again: 0 },
        Finding::NoSyn { segments: 12, answered: 1, answered_again: 0, synacks_again: 0 },
        Finding::NoSyn { segments: 12, answered: 3, answered_again: 1, synacks_again: 2 },
        Finding::OneSided { attempts: 100, completed: 200 },
        Finding::OneSided { attempts: 20, completed: 20 },
        Finding::WithoutSyn { connections: 23, again: 2 },
        Finding::WithoutSyn { connections: 1, again: 0 },
        Finding::NoneAnswered { attempts: 1, no_server: false },
        Finding::NoneAnswered { attempts: 3, no_server: true },
        Finding::NoLoss { answered: 1, all_answered: true, data_wait: None },
        Finding::NoLoss { answered: 7, all_answered: false, data_wait: None },
        Finding::NoLoss {
            answered: 1,
            all_answered: true,
            data_wait: Some(DataWait { waited_s: 2.5, mean_s: 2.5, before_capture_point: true }),
        },
        Finding::NoLoss {
            answered: 200,
            all_answered: true,
            data_wait: Some(DataWait { waited_s: 30.0, mean_s: 0.15, before_capture_point: false }),
        },
        loss(1, true, 1, 1, Some(1.01)),
        loss(20, false, 2, 2, Some(1.0)),
        loss(47_168, false, 751, 740, Some(1.42)),
        loss(10, true, 4, 0, None),
        Finding::WorstServer { name: "192.0.2.7:443".to_owned(), answered: 4_089, with_loss: 151, time_lost_s: 214.2 },
        Finding::DroppedFor(DroppedFor { name: "mptcp", attempts: 4, waited_s: 12.1 }),
        Finding::DroppedFor(DroppedFor { name: "fast-open", attempts: 3, waited_s: 3.0 }),
        Finding::DroppedFor(DroppedFor { name: "ecn", attempts: 3, waited_s: 3.0 }),
        Finding::DroppedFor(DroppedFor { name: "data", attempts: 3, waited_s: 3.0 }),
        Finding::ExpectedCost { handshake_loss: 0.0165, expected_wait_s: 0.0203, measured_wait_s: 0.0213 },
        Finding::Late { attempts: 1 },
        Finding::Late { attempts: 31 },
        Finding::Deferred(waits(1, 1.0)),
        Finding::Deferred(waits(12, 0.0)),
        Finding::PortInUse(waits(6, 6.1)),
        Finding::FirstRefused(waits(1, 1.0)),
        Finding::FirstReset(waits(1, 1.0)),
        Finding::HeldUp(waits(3, 8.2)),
        Finding::HeldUp(waits(1, 0.0)),
        Finding::NotContinued { attempts: 45 },
        failed(FailureReason::Abandoned, 9, 1, "192.0.2.13:443"),
        failed(FailureReason::Reset, 1, 1, "192.0.2.12:443"),
        failed(FailureReason::Challenged, 7, 1, "192.0.2.14:443"),
        failed(FailureReason::Elsewhere, 3, 1, "192.0.2.15:443"),
        failed(FailureReason::Blackholed, 40, 3, "192.0.2.7:443"),
        failed(FailureReason::Dead, 200, 2, "192.0.2.250:8080"),
        failed(FailureReason::Refused, 1, 1, "192.0.2.9:22"),
        failed(FailureReason::Refused, 302, 9, "192.0.2.9:22"),
        failed(FailureReason::Rejected, 20, 1, "192.0.2.10:80"),
        failed(FailureReason::Unseen, 5, 1, "192.0.2.77:443"),
        failed(FailureReason::Scans, 400, 1, "198.51.100.66"),
        failed(FailureReason::Floods, 75, 1, "192.0.2.7:80"),
        Finding::FailedWait { waited_s: 27.0 },
        Finding::SeenTwice { attempts: 8 },
        Finding::Copies(CaptureDuplicates { syn: 31, synack: 12, other: 2_210 }),
        Finding::Copies(CaptureDuplicates { syn: 1, synack: 0, other: 0 }),
        Finding::SlowLookups {
            lookups: 9_070,
            repeated: 119,
            unanswered: 24,
            waited_s: 722.1,
            server: "192.0.2.53:53".to_owned(),
        },
        Finding::OtherProtocol { protocol: "quic", attempts: 9_120, with_loss: 190, time_lost_s: 61.3 },
        Finding::Evicted { connections: 1 },
        Finding::Interrupted,
    ]
}

fn loss(
    answered: u64,
    all_answered: bool,
    with_loss: u64,
    completed_with_loss: u64,
    mean_wait_s: Option<f64>,
) -> Finding {
    let wait_s = mean_wait_s.unwrap_or(0.0) * completed_with_loss as f64;
    let all_waits_s = 1.7 * wait_s;
    Finding::Loss { answered, all_answered, with_loss, completed_with_loss, mean_wait_s, wait_s, all_waits_s }
}

fn apart(attempts: u64, parties: u64, name: &str) -> AttemptGroup {
    let most = vec![NamedParty { name: name.to_owned(), attempts: attempts - parties + 1 }];
    AttemptGroup { attempts, waited_s: 3.0 * attempts as f64, parties, most }
}

fn causes() -> Vec<Cause> {
    let cause = |kind, attempts, parties, evidence: &[(&'static str, f64)]| Cause {
        kind,
        group: apart(attempts, parties, "192.0.2.7:443"),
        share: attempts as f64 / 48_210.0,
        direction: (kind == CauseKind::Congestion).then_some(LossDirection::ToClient),
        evidence: evidence.iter().copied().collect(),
        sentence: "Round trips were longer when packets were lost, so a queue overflowed.".to_owned(),
        remedy: "Use a scheme with short queues.".to_owned(),
        check: "gentle compare --from CAPTURE --rate RATE".to_owned(),
    };
    vec![
        cause(
            CauseKind::Congestion,
            600,
            31,
            &[
                ("attempts_lost_to_client", 412.0),
                ("attempts_lost_either_way", 188.0),
                ("data_to_server", 8_120.0),
                ("data_to_client", 91_004.0),
                ("data_lost_to_client", 2_310.0),
            ],
        ),
        cause(CauseKind::RandomLoss, 151, 2, &[("data_segments", 9_000.0), ("data_lost", 120.0)]),
        cause(CauseKind::Scan, 5, 1, &[]),
    ]
}

/// Lookups with some that waited.
fn lookups() -> Lookups {
    let cause = |kind, attempts, waited_s| Cause {
        kind,
        group: AttemptGroup { waited_s, ..apart(attempts, 2, "192.0.2.53:53") },
        share: attempts as f64 / 9_070.0,
        direction: None,
        evidence: BTreeMap::new(),
        sentence: String::new(),
        remedy: String::new(),
        check: String::new(),
    };
    Lookups {
        lookups: 9_120,
        queries: 9_311,
        copies: 12,
        answered: 9_046,
        unanswered: 24,
        unseen: 44,
        undecided: 6,
        answer_s: quantiles(0.018),
        causes: vec![
            cause(CauseKind::DnsPairLoss, 88, 441.2),
            cause(CauseKind::DnsLoss, 31, 160.9),
            cause(CauseKind::DnsUnanswered, 24, 120.0),
        ],
    }
}

fn outcomes() -> Outcomes {
    Outcomes {
        answered: 47_168,
        completed: 47_102,
        one_sided: 14,
        half_open: 66,
        with_loss: 751,
        loss: Some(0.0159),
        completed_with_loss: 740,
        late: 31,
        deferred: 12,
        deferred_s: 18.4,
        completed_after_challenge: 6,
        completed_after_challenge_s: 6.1,
        completed_after_refusal: 4,
        completed_after_refusal_s: 2.2,
        completed_after_reset: 2,
        completed_after_reset_s: 2.1,
        held: 3,
        held_s: 8.2,
        reset: apart(12, 2, "192.0.2.12:443"),
        abandoned: apart(9, 1, "192.0.2.13:443"),
        dropped_for: vec![DroppedFor { name: "mptcp", attempts: 4, waited_s: 12.1 }],
        blackholed: apart(40, 3, "192.0.2.7:443"),
        dead: apart(200, 2, "192.0.2.250:8080"),
        refused: apart(302, 9, "192.0.2.9:22"),
        rejected: apart(20, 1, "192.0.2.10:80"),
        challenged: apart(7, 1, "192.0.2.14:443"),
        elsewhere: apart(3, 1, "192.0.2.15:443"),
        scans: apart(400, 1, "198.51.100.66"),
        floods: apart(75, 1, "192.0.2.7:80"),
        unseen: apart(5, 1, "192.0.2.77:443"),
        seen_twice: 8,
        without_syn: 23,
        without_syn_again: 2,
        repeats: Repeats {
            lost: 812,
            late: 44,
            rejected: 160,
            deferred: 15,
            challenged: 13,
            reset: 30,
            held: 9,
            failed: 310,
        },
        judged_early: 0,
    }
}

fn capture(path: &str, packets: u64) -> Capture {
    Capture {
        path: path.to_owned(),
        format: "pcap (ns)".to_owned(),
        packets,
        tcp_segments: packets - 96,
        wire_bytes: 701 * packets,
        skipped: BTreeMap::new(),
        other: BTreeMap::from([("udp", 96)]),
        tunnels: BTreeMap::new(),
        interfaces: Vec::new(),
        warnings: Vec::new(),
    }
}

fn quantiles(median: f64) -> Quantiles {
    Quantiles {
        n: 46_351,
        mean: Some(1.4 * median),
        p50: Some(median),
        p95: Some(4.1 * median),
        p99: Some(9.7 * median),
        max: Some(31.0 * median),
    }
}

fn directions(factor: f64) -> Vec<Direction> {
    vec![
        direction("from initiator", 2_301_554, 0.31 * factor, factor),
        Direction {
            capacity_bps: Some(20_000_000.0),
            ..direction("to initiator", 2_805_558, 0.82 * factor, 0.7 * factor)
        },
    ]
}

fn direction(name: &str, packets: u64, utilization: f64, factor: f64) -> Direction {
    Direction {
        name: name.to_owned(),
        packets,
        wire_bytes: 611 * packets,
        rate_bps: 20e6 * utilization,
        capacity_bps: Some(20e6),
        capacity_given: true,
        utilization: Some(utilization),
        packet_retransmission_probability: Some(0.0165 * factor),
        syn_share_of_retransmissions: Some(0.298 * factor),
        syn_retransmission_probability: Some(0.0351 * factor),
        retransmission_delay_sum_s: delay(0.412 * factor, 1.83 * factor, 0.204 * factor),
    }
}

fn delay(all: f64, with: f64, without: f64) -> RetransmissionDelay {
    let mean = |n: u64, mean: f64| MeanOf { n, mean: Some(mean), ci95: Some(mean * 9.0 / (n as f64).sqrt()) };
    RetransmissionDelay {
        all: Some(all),
        with_handshake_loss: Some(with),
        without_handshake_loss: Some(without),
        detail: RetransmissionDelayDetail {
            all: mean(46_990, all),
            with_handshake_loss: mean(1_010, with),
            without_handshake_loss: mean(45_980, without),
        },
    }
}

fn filters() -> Vec<Filter> {
    let filter = |name, description: &str, removed, left, factor| Filter {
        name,
        description: description.to_owned(),
        removed_connections: removed,
        removed_addresses: None,
        examples: Vec::new(),
        connections: left,
        directions: directions(factor),
    };
    vec![
        filter("syn-seen", "connections of which no SYN was seen", 1_204, 47_006, 1.1),
        filter("delay-45s", "connections whose retransmission delay exceeds 45 s", 16, 46_990, 1.0),
        Filter {
            removed_addresses: Some(12),
            examples: (0..10).map(|i| format!("203.0.113.{}", 9 + i)).collect(),
            ..filter(
                "syn-flood",
                "connections of addresses with at least 1,000 connections without data, and 1,000 times more without than with data",
                14_201,
                32_789,
                0.9,
            )
        },
        filter("established-with-data", "connections without a full handshake or without data", 2_110, 30_679, 0.6),
    ]
}

fn list(lines: u32, name: impl Fn(u32) -> String) -> Vec<TopEntry> {
    let entry = |i: u32| {
        let share = 1.0 / f64::from(1 + i).powf(1.2);
        TopEntry {
            name: name(i),
            attempts: (4_120.0 * share) as u64,
            answered: (4_120.0 * share) as u64 - u64::from(31 / (1 + i)),
            failures: u64::from(31 / (1 + i)),
            with_loss: (151.0 * share) as u64,
            time_lost_s: 214.2 * share,
            failed_s: 93.0 / f64::from(1 + 2 * i),
        }
    };
    (0..lines).map(entry).collect()
}

/// Bins of a hundredth of a decade, with peaks near the standard intervals and the capture's own duplicates near zero.
fn intervals() -> Intervals {
    let syn: &[(f64, u64)] =
        &[(1.0, 902), (2.0, 311), (3.0, 201), (4.0, 88), (6.0, 44), (8.0, 31), (12.0, 9), (16.0, 7), (32.0, 2)];
    let synack: &[(f64, u64)] = &[(1.0, 214), (2.0, 77), (4.0, 31), (8.0, 6)];
    Intervals {
        tolerance: 0.1,
        tolerance_floor_s: 0.05,
        syn: histogram(syn, &[(0.0004, 3), (0.013, 9), (0.21, 21), (0.52, 4), (5.1, 8), (97.0, 2)]),
        synack: histogram(synack, &[(0.004, 4), (0.35, 11)]),
        series: vec![
            SeriesCount { segment: "syn", label: "1, 2, 4 … s (RFC 6298)".to_owned(), count: 561 },
            SeriesCount { segment: "syn", label: "3, 6, 12 … s (RFC 2988)".to_owned(), count: 188 },
            SeriesCount {
                segment: "syn",
                label: "1, 1, 1, 1, 2, 4 … s (Linux, linear timeouts)".to_owned(),
                count: 62,
            },
            SeriesCount { segment: "synack", label: "1, 2, 4 … s (RFC 6298)".to_owned(), count: 202 },
        ],
    }
}

fn histogram(peaks: &[(f64, u64)], strays: &[(f64, u64)]) -> IntervalHistogram {
    const SHARES: [(f64, u64); 5] = [(0.97, 1), (1.0, 6), (1.02, 8), (1.05, 4), (1.08, 1)];
    let mut bins: BTreeMap<i32, u64> = BTreeMap::new();
    let mut add = |s: f64, count: u64| {
        if count > 0 {
            *bins.entry((s.log10() * 100.0).floor() as i32).or_default() += count;
        }
    };
    for &(s, count) in peaks {
        let mut left = count;
        for (factor, twentieths) in SHARES {
            let some = (count * twentieths / 20).min(left);
            add(s * factor, some);
            left -= some;
        }
        add(s * 1.01, left);
    }
    for &(s, count) in strays {
        add(s, count);
    }
    let outside = strays.iter().map(|(_, count)| count).sum();
    IntervalHistogram {
        bins: bins
            .into_iter()
            .map(|(hundredth, count)| IntervalBin {
                from_s: 10f64.powf(f64::from(hundredth) / 100.0),
                to_s: 10f64.powf(f64::from(hundredth + 1) / 100.0),
                count,
            })
            .collect(),
        standard: peaks.iter().map(|&(interval_s, count)| StandardInterval { interval_s, count }).collect(),
        total: outside + peaks.iter().map(|(_, count)| count).sum::<u64>(),
        outside,
    }
}

fn moment(i: u32) -> TimelineBin {
    let wave = (f64::from(i) / 19.0).sin();
    let burst = if (60..72).contains(&i) { 9.0 } else { 1.0 };
    TimelineBin {
        t_s: f64::from(10 * i),
        attempts: (270.0 + 80.0 * wave + f64::from(i * 37 % 29)) as u64,
        handshake_retransmissions: ((4.0 + f64::from(i * 53 % 11)) * burst) as u64,
        other_retransmissions: ((170.0 + 30.0 * wave) * burst.sqrt()) as u64,
        segments: (28_000.0 + 7_000.0 * wave) as u64,
        wire_bytes: (17e6 + 5e6 * wave + 4e5 * f64::from(i * 31 % 17)) as u64,
        time_lost_s: (3.1 + 0.2 * f64::from(i * 17 % 13)) * burst,
    }
}
