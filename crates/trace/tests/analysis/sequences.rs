//! Hand-written sequences of segments, one per case of the definitions.

use crate::captures::analyze_bytes;
use crate::frames::{ACK, CLIENT, FIN, PSH, RST, SERVER, SYN, Segment, pcap};
use gentle_trace::Options;
use gentle_trace::results::Analysis;
use gentle_trace::row::{Close, Row};

fn analyze(segments: &[Segment]) -> (Analysis, Vec<Row>) {
    analyze_bytes(&[&pcap(segments)], &Options::default())
}

/// Attempts, successes, duplicate SYNs, duplicate SYN/ACKs.
fn counts(analysis: &Analysis) -> [u64; 4] {
    let handshakes = &analysis.handshakes;
    [handshakes.attempts, handshakes.successes, handshakes.duplicate_syn, handshakes.duplicate_synack]
}

/// Attempts refused, unanswered, half open.
fn failures(analysis: &Analysis) -> [u64; 3] {
    let outcomes = &analysis.outcomes;
    [outcomes.refused.attempts, outcomes.dead.attempts, outcomes.half_open]
}

/// Handshake at `at_s` with a round-trip time of 40 ms, half of it on each side; the streams begin at 1,001 and 5,001.
fn handshake(at_s: f64) -> Vec<Segment> {
    vec![
        Segment::client(at_s, SYN).seq(1_000),
        Segment::server(at_s + 0.02, SYN | ACK).seq(5_000).ack(1_001),
        Segment::client(at_s + 0.04, ACK).seq(1_001).ack(5_001),
    ]
}

/// Data of the client: `len` bytes at `seq`.
fn data(at_s: f64, seq: u32, len: u16) -> Segment {
    Segment::client(at_s, ACK | PSH).seq(seq).ack(5_001).payload(len)
}

fn acknowledgement(at_s: f64, ack: u32) -> Segment {
    Segment::server(at_s, ACK).seq(5_001).ack(ack)
}

#[test]
fn a_handshake() {
    let (analysis, rows) = analyze(&handshake(0.0));
    assert_eq!(counts(&analysis), [1, 1, 0, 0]);
    assert_eq!(analysis.handshakes.attempts_with_retransmission, 0);
    assert_eq!(rows.len(), 1);
    assert!(rows[0].syn_seen && rows[0].established);
    assert_eq!(rows[0].rtt_server.unwrap().as_secs_f64(), 0.02);
    assert_eq!(rows[0].rtt_client.unwrap().as_secs_f64(), 0.02);
    assert_eq!(rows[0].client_port, CLIENT.1);
    assert_eq!(rows[0].server_port, SERVER.1);
    assert_eq!(rows[0].close, Close::Open);
}

#[test]
fn simultaneous_open() {
    // RFC 9293, 3.5, figure 7: two SYNs, each an attempt; a SYN/ACK of each side acknowledges the other's SYN.
    let (analysis, _) = analyze(&[
        Segment::client(0.0, SYN).seq(1_000),
        Segment::server(0.001, SYN).seq(5_000),
        Segment::client(0.020, SYN | ACK).seq(1_000).ack(5_001),
        Segment::server(0.021, SYN | ACK).seq(5_000).ack(1_001),
        Segment::client(0.040, ACK).seq(1_001).ack(5_001),
        Segment::server(0.041, ACK).seq(5_001).ack(1_001),
    ]);
    assert_eq!(counts(&analysis), [2, 2, 0, 0]);
    assert_eq!(analysis.handshakes.synack_without_syn, 0);
}

#[test]
fn a_synack_with_another_sequence_number() {
    // A server that lost its state, or another host: it answers the same SYN, so it is no duplicate, and an ACK of
    // either completes the handshake.
    for acknowledged in [5_001, 9_001] {
        let (analysis, _) = analyze(&[
            Segment::client(0.0, SYN).seq(1_000),
            Segment::server(0.020, SYN | ACK).seq(5_000).ack(1_001),
            Segment::server(1.020, SYN | ACK).seq(9_000).ack(1_001),
            Segment::client(1.040, ACK).seq(1_001).ack(acknowledged),
        ]);
        assert_eq!(counts(&analysis), [1, 1, 0, 0], "{acknowledged}");
    }
    // Each again: now they are duplicates.
    let (analysis, _) = analyze(&[
        Segment::client(0.0, SYN).seq(1_000),
        Segment::server(0.020, SYN | ACK).seq(5_000).ack(1_001),
        Segment::server(1.020, SYN | ACK).seq(9_000).ack(1_001),
        Segment::server(2.020, SYN | ACK).seq(9_000).ack(1_001),
        Segment::server(3.020, SYN | ACK).seq(5_000).ack(1_001),
    ]);
    assert_eq!(counts(&analysis), [1, 0, 0, 2]);
    assert_eq!(failures(&analysis), [0, 0, 1]);
}

#[test]
fn a_synack_that_acknowledges_something_else() {
    let (analysis, _) = analyze(&[
        Segment::client(0.0, SYN).seq(1_000),
        Segment::server(0.020, SYN | ACK).seq(5_000).ack(777),
        Segment::client(0.040, RST).seq(777),
    ]);
    assert_eq!(counts(&analysis), [1, 0, 0, 0]);
    assert_eq!(analysis.handshakes.synack_without_syn, 1);
}

#[test]
fn refused_by_a_reset() {
    let refused = |at_s| Segment::server(at_s, RST | ACK).ack(1_001);
    let (analysis, rows) = analyze(&[Segment::client(0.0, SYN).seq(1_000), refused(0.02)]);
    assert_eq!(counts(&analysis), [1, 0, 0, 0]);
    assert_eq!(failures(&analysis), [1, 0, 0]);
    assert_eq!(rows[0].close, Close::Rst);
    assert_eq!(analysis.closes.never_established, 1);

    // Windows tries three times, 500 ms apart, before it accepts an RST.
    let (analysis, _) = analyze(&[
        Segment::client(0.0, SYN).seq(1_000).id(1),
        refused(0.02),
        Segment::client(0.5, SYN).seq(1_000).id(2),
        refused(0.52),
        Segment::client(1.0, SYN).seq(1_000).id(3),
        refused(1.02),
    ]);
    assert_eq!(counts(&analysis), [1, 0, 2, 0]);
    assert_eq!(failures(&analysis), [1, 0, 0]);
    assert_eq!(analysis.handshakes.failures_with_duplicate_syn, 1);
}

#[test]
fn completed_only_by_an_acknowledgement_of_the_initiator() {
    for last in [
        // An ACK of nothing that was sent; with RST; with SYN; from the other side.
        Segment::client(0.04, ACK).seq(1_001).ack(5_000),
        Segment::client(0.04, RST | ACK).seq(1_001).ack(5_001),
        Segment::client(0.04, SYN | ACK).seq(1_001).ack(5_001),
        Segment::server(0.04, ACK).seq(5_001).ack(1_001),
    ] {
        let (analysis, _) = analyze(&[
            Segment::client(0.0, SYN).seq(1_000),
            Segment::server(0.020, SYN | ACK).seq(5_000).ack(1_001),
            last.clone(),
        ]);
        assert_eq!(analysis.handshakes.attempts, 1, "{last:?}");
        assert_eq!(analysis.handshakes.successes, 0, "{last:?}");
        assert_eq!(failures(&analysis), [0, 0, 1], "{last:?}");
    }
    // Data and FIN acknowledge, too.
    for last in [data(0.04, 1_001, 10), Segment::client(0.04, FIN | ACK).seq(1_001).ack(5_001)] {
        let (analysis, _) = analyze(&[
            Segment::client(0.0, SYN).seq(1_000),
            Segment::server(0.020, SYN | ACK).seq(5_000).ack(1_001),
            last,
        ]);
        assert_eq!(counts(&analysis), [1, 1, 0, 0]);
    }
}

#[test]
fn a_port_used_again_while_old_segments_arrive() {
    let mut segments = handshake(0.0);
    segments.extend([
        data(0.05, 1_001, 100),
        Segment::client(0.06, FIN | ACK).seq(1_101).ack(5_001),
        Segment::server(0.08, FIN | ACK).seq(5_001).ack(1_102),
        Segment::client(0.10, ACK).seq(1_102).ack(5_002),
        // A new connection, with another sequence number.
        Segment::client(1.0, SYN).seq(2_000_000_000),
        Segment::server(1.02, SYN | ACK).seq(3_000_000_000).ack(2_000_000_001),
        // Late segments of the first connection: data, SYN, SYN/ACK.
        data(1.025, 1_001, 100),
        Segment::client(1.03, SYN).seq(1_000),
        Segment::server(1.035, SYN | ACK).seq(5_000).ack(1_001),
        Segment::client(1.04, ACK).seq(2_000_000_001).ack(3_000_000_001),
        Segment::client(1.05, ACK).seq(2_000_000_001).ack(3_000_000_001).payload(50),
    ]);
    let (analysis, rows) = analyze(&segments);
    assert_eq!(counts(&analysis), [2, 2, 1, 1]);
    assert_eq!(analysis.retransmissions.retransmitted, 1);
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].from_client.bytes, rows[1].from_client.bytes), (100, 50));
    // The SYN is a copy: the client had sent more.
    assert_eq!(rows[0].from_client.retransmissions, 1);
    assert_eq!(rows[1].from_client.retransmissions, 0);
    assert_eq!((rows[0].close, rows[1].close), (Close::Fin, Close::Open));
}

#[test]
fn the_same_sequence_number_from_another_port_is_another_attempt() {
    let segments: Vec<Segment> =
        (0..5).map(|i| Segment::client(f64::from(i), SYN).seq(1_000).port(40_000 + i as u16)).collect();
    let (analysis, _) = analyze(&segments);
    assert_eq!(counts(&analysis), [5, 0, 0, 0]);
    assert_eq!(failures(&analysis), [0, 5, 0]);
}

#[test]
fn copies_made_by_the_capture() {
    let syn = Segment::client(0.0, SYN).seq(1_000).id(77).stamps(500, 0);
    let synack = Segment::server(0.02, SYN | ACK).seq(5_000).ack(1_001).stamps(900, 500);
    let ack = Segment::client(0.04, ACK).seq(1_001).ack(5_001).id(78).stamps(540, 900);
    let data = data(0.05, 1_001, 100).id(79).stamps(550, 900);
    let answer = Segment::server(0.07, ACK).seq(5_001).ack(1_101).stamps(950, 550);
    let copied = [&syn, &synack, &ack, &data, &answer];
    let segments: Vec<Segment> =
        copied.into_iter().flat_map(|segment| [segment.clone(), segment.again(30).ttl(segment.ttl - 1)]).collect();
    let (analysis, rows) = analyze(&segments);
    assert_eq!(counts(&analysis), [1, 1, 1, 1]);
    let copies = analysis.handshakes.capture_duplicates;
    assert_eq!((copies.syn, copies.synack, copies.other), (1, 1, 3));
    // Copies enter no probability, delay or histogram.
    assert_eq!(analysis.handshakes.attempts_with_duplicate_syn, 1);
    assert_eq!(analysis.handshakes.attempts_with_retransmission, 0);
    assert_eq!(analysis.waiting.handshake_s, 0.0);
    assert_eq!(analysis.intervals.syn.total + analysis.intervals.synack.total, 0);
    assert_eq!(analysis.retransmissions.retransmitted, 0);
    assert_eq!((rows[0].from_client.segments, rows[0].from_server.segments), (3, 2));
    for direction in &analysis.directions {
        assert_eq!(direction.packet_retransmission_probability, Some(0.0));
    }

    // An equal SYN a second later, or one with a field that a retransmission changes, is no copy.
    for again in [syn.again(1_000_000), syn.again(30).id(80), syn.again(30).stamps(501, 0)] {
        let (analysis, _) = analyze(&[syn.clone(), again]);
        assert_eq!(counts(&analysis), [1, 0, 1, 0]);
        assert_eq!(analysis.handshakes.capture_duplicates.syn, 0);
        assert_eq!(analysis.handshakes.attempts_with_retransmission, 1);
        assert_eq!(analysis.intervals.syn.total, 1);
    }
}

#[test]
fn an_acknowledgement_said_twice_is_no_copy() {
    // Two holes reported almost at once, by a host without IP identification.
    let mut segments = handshake(0.0);
    segments.extend([
        data(0.05, 1_001, 100),
        data(0.0501, 1_201, 100),
        data(0.0502, 1_301, 100),
        acknowledgement(0.0700, 1_101),
        acknowledgement(0.0701, 1_101),
        acknowledgement(0.0702, 1_101),
    ]);
    let (analysis, _) = analyze(&segments);
    assert_eq!(analysis.handshakes.capture_duplicates.other, 0);
}

#[test]
fn data_that_comes_again() {
    let mut segments = handshake(0.0);
    segments.extend([
        data(0.05, 1_001, 100),
        // Retransmitted whole, with more bytes, and in part with new bytes.
        data(0.30, 1_001, 100),
        data(0.40, 1_101, 100),
        data(0.70, 1_001, 200),
        data(0.90, 1_151, 100),
        acknowledgement(1.0, 1_251),
    ]);
    let (analysis, rows) = analyze(&segments);
    let found = analysis.retransmissions;
    assert_eq!(found.data_segments, 5);
    assert_eq!((found.retransmitted, found.late, found.reordered, found.probes), (3, 0, 0, 0));
    assert_eq!(rows[0].from_client.bytes, 250);
    assert_eq!(rows[0].from_client.retransmissions, 3);
    // 0.05 to 0.30, 0.30 to 0.70, 0.70 to 0.90.
    let delay = rows[0].from_client.retransmission_delay.as_secs_f64();
    assert!((delay - 0.85).abs() < 1e-9, "{delay}");
    assert_eq!(analysis.waiting.handshake_share, Some(0.0));
}

#[test]
fn segments_that_wait_at_the_same_time() {
    let mut segments = handshake(0.0);
    // A window of ten segments, all sent again after 300 ms.
    for round in [0.05, 0.35] {
        segments.extend((0..10).map(|i| data(round + 0.001 * f64::from(i), 1_001 + 100 * i, 100)));
    }
    segments.push(acknowledgement(0.5, 2_001));
    let (analysis, rows) = analyze(&segments);
    let client = rows[0].from_client;
    assert_eq!(client.retransmissions, 10);
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-6;
    assert!(near(client.retransmission_delay_sum.as_secs_f64(), 3.0));
    // From the first transmission to the last retransmission.
    assert!(near(client.retransmission_delay.as_secs_f64(), 0.309));
    assert!(near(analysis.waiting.data_s, 0.309));
}

#[test]
fn data_that_fills_a_hole() {
    // The round-trip time is 40 ms; a segment within half of it is out of order, a later one was lost.
    let fill = |at_s, segment: fn(Segment) -> Segment| {
        let mut segments = handshake(0.0);
        segments.push(data(0.05, 1_001, 100).id(10).stamps(50, 9));
        segments.push(data(0.06, 1_201, 100).id(12).stamps(60, 9));
        segments.push(segment(data(at_s, 1_101, 100)));
        let (analysis, rows) = analyze(&segments);
        let found = analysis.retransmissions;
        assert_eq!(found.retransmitted, 0);
        assert_eq!(rows[0].from_client.bytes, 300);
        (found.late, found.reordered)
    };
    // Without identification and timestamps.
    assert_eq!(fill(0.079, |s| s), (0, 1));
    assert_eq!(fill(0.081, |s| s), (1, 0));
    // The identification shows the order of sending, whatever the time.
    assert_eq!(fill(0.5, |s| s.id(11)), (0, 1));
    assert_eq!(fill(0.061, |s| s.id(13)), (1, 0));
    // Timestamps do so, too.
    assert_eq!(fill(0.5, |s| s.stamps(55, 9)), (0, 1));
    assert_eq!(fill(0.061, |s| s.stamps(61, 9)), (1, 0));
}

#[test]
fn keep_alives_are_no_retransmissions() {
    let mut segments = handshake(0.0);
    segments.extend([data(0.05, 1_001, 100), acknowledgement(0.07, 1_101)]);
    for minute in 1..4 {
        let at_s = 60.0 * f64::from(minute);
        // RFC 9293, 3.8.4: with or without a byte of garbage.
        segments.push(data(at_s, 1_100, u16::from(minute % 2 == 0)));
        segments.push(acknowledgement(at_s + 0.02, 1_101));
    }
    let (analysis, rows) = analyze(&segments);
    let found = analysis.retransmissions;
    assert_eq!((found.retransmitted, found.probes), (0, 1));
    assert_eq!(rows[0].from_client.retransmissions, 0);
    assert_eq!(rows[0].from_client.bytes, 100);
}

#[test]
fn probes_of_a_closed_window_are_no_retransmissions() {
    let mut segments = handshake(0.0);
    segments.extend([
        data(0.05, 1_001, 100),
        acknowledgement(0.07, 1_101).window(0),
        // The next byte, which does not fit, again and again.
        data(0.30, 1_101, 1),
        acknowledgement(0.32, 1_101).window(0),
        data(0.70, 1_101, 1),
        acknowledgement(0.72, 1_101).window(0),
        data(1.50, 1_101, 1),
        acknowledgement(1.52, 1_102),
        data(1.60, 1_102, 100),
    ]);
    let (analysis, rows) = analyze(&segments);
    let found = analysis.retransmissions;
    assert_eq!((found.retransmitted, found.late, found.probes), (0, 0, 2));
    assert_eq!(rows[0].from_client.bytes, 201);
}

#[test]
fn sequence_numbers_wrap_around() {
    let isn = u32::MAX - 50;
    let at = |offset: u32| isn.wrapping_add(1).wrapping_add(offset);
    let server = |at_s, ack| Segment::server(at_s, ACK).seq(5_001).ack(ack);
    let mut segments = vec![
        Segment::client(0.0, SYN).seq(isn),
        Segment::server(0.02, SYN | ACK).seq(5_000).ack(at(0)),
        Segment::client(0.04, ACK).seq(at(0)).ack(5_001),
        data(0.05, at(0), 100),
        server(0.07, at(100)),
        data(0.08, at(100), 100),
        data(0.081, at(300), 100),
        // Retransmitted, and into the hole.
        data(0.40, at(100), 100),
        data(0.50, at(200), 100),
        server(0.52, at(400)),
        Segment::client(0.60, FIN | ACK).seq(at(400)).ack(5_001),
        server(0.62, at(401)),
    ];
    let (analysis, rows) = analyze(&segments);
    assert_eq!(counts(&analysis), [1, 1, 0, 0]);
    let found = analysis.retransmissions;
    assert_eq!((found.retransmitted, found.late, found.reordered), (1, 1, 0));
    assert_eq!(rows[0].from_client.bytes, 400);
    assert_eq!(rows[0].response_time.unwrap().as_secs_f64(), 0.62);

    // The handshake itself at the wrap-around: ISNs whose successor is zero.
    segments = vec![
        Segment::client(0.0, SYN).seq(u32::MAX),
        Segment::server(0.02, SYN | ACK).seq(u32::MAX).ack(0),
        Segment::client(0.04, ACK).seq(0).ack(0),
    ];
    assert_eq!(counts(&analyze(&segments).0), [1, 1, 0, 0]);
}

#[test]
fn spurious_by_dsack_and_by_time_stamp() {
    let mut segments = handshake(0.0);
    segments.extend([
        data(0.05, 1_001, 100),
        data(0.30, 1_001, 100),
        acknowledgement(0.31, 1_101),
        acknowledgement(0.32, 1_101).sack(&[(1_001, 1_101)]),
    ]);
    let found = analyze(&segments).0.retransmissions;
    assert_eq!((found.retransmitted, found.spurious), (1, 1));

    // RFC 3522: the acknowledgement echoes the timestamp of the original.
    let stamped = |echo| {
        let mut segments = handshake(0.0);
        segments.extend([
            data(0.05, 1_001, 100).stamps(50, 9),
            data(0.30, 1_001, 100).stamps(300, 9),
            acknowledgement(0.31, 1_101).stamps(99, echo),
        ]);
        analyze(&segments).0.retransmissions.spurious
    };
    assert_eq!(stamped(50), 1);
    assert_eq!(stamped(300), 0);
}

#[test]
fn one_direction_only() {
    let mut segments = handshake(0.0);
    segments.extend([
        data(0.05, 1_001, 100),
        acknowledgement(0.07, 1_101),
        Segment::server(0.08, ACK).seq(5_001).ack(1_101).payload(700),
        Segment::client(0.10, FIN | ACK).seq(1_101).ack(5_701),
        Segment::server(0.12, FIN | ACK).seq(5_701).ack(1_102),
        Segment::client(0.14, ACK).seq(1_102).ack(5_702),
    ]);
    let client = CLIENT.1;
    let (from_client, from_server): (Vec<Segment>, Vec<Segment>) =
        segments.into_iter().partition(|segment| segment.src.1 == client);

    let (analysis, rows) = analyze(&from_client);
    assert_eq!(counts(&analysis), [1, 0, 0, 0]);
    assert_eq!(failures(&analysis), [0, 0, 0]);
    assert_eq!(analysis.outcomes.one_sided, 1);
    assert_eq!((rows[0].from_client.bytes, rows[0].from_server.segments), (100, 0));
    let names: Vec<(&str, u64)> =
        analysis.directions.iter().map(|direction| (direction.name.as_str(), direction.packets)).collect();
    assert_eq!(names, [("from initiator", 5), ("to initiator", 0)]);

    let (analysis, rows) = analyze(&from_server);
    assert_eq!(counts(&analysis), [0, 0, 0, 0]);
    assert_eq!(analysis.handshakes.synack_without_syn, 1);
    assert_eq!(rows.len(), 1);
    assert!(!rows[0].syn_seen);
    assert_eq!((rows[0].client_port, rows[0].server_port), (CLIENT.1, SERVER.1));
    assert_eq!(rows[0].from_server.bytes, 700);
    // Connections without a captured SYN are removed by the first filter.
    assert_eq!(analysis.filters[0].removed_connections, 1);
}

#[test]
fn a_syn_with_data() {
    // RFC 7413: the SYN/ACK also acknowledges the data, so by the definition it does not answer the SYN, but it is
    // known to belong to it. If only the SYN is acknowledged, as after a retransmission, the handshake counts.
    let syn = Segment::client(0.0, SYN).seq(1_000).payload(10);
    let synack = |at_s, ack| Segment::server(at_s, SYN | ACK).seq(5_000).ack(ack);
    let ack = Segment::client(1.1, ACK).seq(1_011).ack(5_001);
    let (analysis, rows) = analyze(&[syn.clone(), synack(0.02, 1_011), ack.clone()]);
    assert_eq!(counts(&analysis), [1, 0, 0, 0]);
    assert_eq!(analysis.handshakes.synack_without_syn, 0);
    assert_eq!(analysis.handshakes.syn_with_data, 1);
    assert_eq!((rows.len(), rows[0].from_client.bytes), (1, 10));
    let (analysis, rows) = analyze(&[syn, synack(0.02, 1_011), synack(1.02, 1_001), ack]);
    assert_eq!(counts(&analysis), [1, 1, 0, 0]);
    assert_eq!(rows.len(), 1);
}

#[test]
fn captured_in_the_wrong_order() {
    // Two queues of a network card: the SYN is captured last.
    let mut segments = handshake(0.0);
    segments.rotate_left(1);
    let (analysis, rows) = analyze(&segments);
    assert_eq!(counts(&analysis), [1, 1, 0, 0]);
    assert_eq!(analysis.handshakes.rtt_s.both.n, 0);
    assert_eq!((rows[0].rtt_server, rows[0].rtt_client), (None, None));
    assert!(rows[0].established);
}
