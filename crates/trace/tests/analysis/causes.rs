//! SYNs and SYN/ACKs that come again without a loss: each kind of cause alone, then all of them mixed with real losses.

mod copies;
mod held;
mod mixed;

use crate::captures::{analyze_bytes, analyze_files};
use crate::frames::{ACK, CLIENT, FIN, RST, SERVER, SYN, Segment, pcapng};
use crate::talk::{Talk, analyze, fails, finds, is_near, lacks, repeats, talk};
use gentle_trace::Options;
use gentle_trace::results::{Analysis, DataWait, FailureReason, Finding, TrustWarningKind, Waits};
use gentle_trace::row::{Outcome, Row};
use std::path::Path;

/// Analyses a capture from real hosts, by the name of its file.
fn real(name: &str) -> (Analysis, Vec<Row>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/causes");
    analyze_files(&[folder.join(name)], &Options::default())
}

/// Asserts that nothing was lost and that nobody waited for a loss.
fn nothing_lost(analysis: &Analysis) {
    assert_eq!(analysis.outcomes.with_loss, 0, "{:?}", analysis.findings);
    assert_eq!(analysis.outcomes.repeats.lost, 0, "{:?}", analysis.findings);
    assert_eq!(analysis.waiting.loss_s, 0.0, "{:?}", analysis.findings);
    lacks!(analysis, Finding::OneSided { .. } | Finding::WorstServer { .. });
    let lacks_packets = [TrustWarningKind::DroppedByCapture, TrustWarningKind::MissingPackets];
    assert!(analysis.warnings.iter().all(|it| !lacks_packets.contains(&it.kind)), "{:?}", analysis.warnings);
}

impl Talk {
    /// Adds an ACK of the server that belongs to a connection of which `next` is the client's next sequence number.
    fn challenge(self, at_s: f64, next: u32) -> Talk {
        self.server(at_s, |s| s.seq(7_777_000).ack(next))
    }

    /// Adds an RST of the client without ACK.
    fn client_rst(self, at_s: f64, seq: u32) -> Talk {
        self.client(at_s, |s| Segment { flags: RST, ack: 0, ..s.seq(seq) })
    }
}

/// The server still has a connection with the port of the client: it acknowledges that one, the client resets it and
/// sends its SYN again.
#[test]
fn a_port_that_is_still_in_use() {
    for (again, next) in [(0.0203, 900), (1.02, 900), (1.02, 2_900_000_000)] {
        let talk = talk().syn(0.0).challenge(0.02, next).client_rst(0.0201, next);
        let (analysis, rows) = analyze(&talk.clean(again).segments);
        nothing_lost(&analysis);
        let outcomes = &analysis.outcomes;
        assert_eq!(outcomes.completed_after_challenge, 1);
        assert!((outcomes.completed_after_challenge_s - again).abs() < 1e-3);
        assert_eq!(outcomes.repeats.challenged, 1);
        assert_eq!(rows[0].close, gentle_trace::row::Close::Fin);
        finds!(analysis, Finding::PortInUse(Waits { attempts: 1, .. }));
        finds!(analysis, Finding::NoLoss { answered: 1, all_answered: true, .. });
    }

    // A SYN is lost after that.
    let lost = talk().syn(0.0).challenge(0.02, 900).client_rst(0.021, 900);
    let (analysis, _) = analyze(&lost.syn(1.0).clean(3.0).segments);
    assert_eq!(repeats(&analysis), [1, 0, 0, 0, 0]);
    assert_eq!(analysis.outcomes.repeats.challenged, 1);

    // The RST is lost, so that each SYN meets the connection. The acknowledgement may lie just ahead of the SYN.
    for next in [900, 400_000] {
        let talk = [0.0, 1.02, 3.05, 7.1].into_iter().fold(talk(), |talk, at| talk.syn(at).challenge(at + 0.001, next));
        let (analysis, rows) = analyze(&talk.segments);
        nothing_lost(&analysis);
        assert_eq!(rows[0].outcome, Some(Outcome::Challenged));
        assert_eq!(analysis.outcomes.challenged.attempts, 1);
        assert_eq!(analysis.outcomes.repeats.challenged, 3);
        assert_eq!(analysis.waiting.failed_s, 7.1);
        fails(&analysis, FailureReason::Challenged, 1, &["198.51.100.2:443"]);
    }
}

/// The server answers an older SYN with the same ports: its SYN/ACK acknowledges another number, and the client resets it.
#[test]
fn a_synack_that_answers_an_older_syn() {
    // The number of the older SYN, before or after the number of the new one.
    for next in [700, 1_777, 3_000_000_000] {
        let other =
            |talk: Talk, at: f64| talk.server(at, |s| Segment { flags: SYN | ACK, ..s.seq(7_777_000).ack(next) });
        let times = [0.0, 1.0, 3.0];
        for (rst, meets) in [(true, 1), (true, 2), (false, 1)] {
            let talk = times[..meets].iter().fold(talk(), |talk, &at| {
                let talk = other(talk.syn(at), at + 0.02);
                match rst {
                    true => talk.client_rst(at + 0.021, next),
                    false => talk,
                }
            });
            let (analysis, rows) = analyze(&talk.clean(times[meets]).segments);
            nothing_lost(&analysis);
            let outcomes = &analysis.outcomes;
            assert_eq!(outcomes.without_syn, 0, "{:?}", analysis.findings);
            assert_eq!(outcomes.completed_after_challenge, 1, "{next} {rst}");
            let waited = outcomes.completed_after_challenge_s;
            assert!((waited - times[meets]).abs() < 1e-6, "{waited}");
            assert!(rows.iter().any(|row| row.established));
            lacks!(analysis, Finding::WithoutSyn { .. });
        }

        // Each SYN meets the older connection.
        let failed = times.iter().fold(talk(), |talk, &at| other(talk.syn(at), at + 0.02).client_rst(at + 0.021, next));
        let (analysis, _) = analyze(&failed.segments);
        nothing_lost(&analysis);
        assert_eq!(analysis.outcomes.challenged.attempts, 1);
        assert_eq!(analysis.outcomes.repeats.challenged, 2);

        // A SYN is lost after that.
        let lost = other(talk().syn(0.0), 0.02).client_rst(0.021, next);
        let (analysis, _) = analyze(&lost.syn(1.0).clean(3.0).segments);
        assert_eq!(repeats(&analysis), [1, 0, 0, 0, 0]);
        assert!((analysis.waiting.loss_s - 2.0).abs() < 1e-6);
    }

    // The older SYN is in the capture.
    let old = talk().client(0.0, |s| Segment { flags: SYN, ack: 0, ..s.seq(500) });
    let old = old.syn(0.1).server(0.12, |s| Segment { flags: SYN | ACK, ..s.seq(7_777_000).ack(501) });
    let (analysis, _) = analyze(&old.client_rst(0.121, 501).clean(1.1).segments);
    nothing_lost(&analysis);
    assert_eq!(analysis.outcomes.completed_after_challenge, 1);
}

/// The connection that the server still has is in the capture.
#[test]
fn a_port_of_a_captured_connection() {
    // Open on the server; the client has forgotten it.
    let old = || {
        let talk = talk().syn(0.0).synack(0.02).ack(0.05);
        talk.client(0.06, |s| s.payload(100)).server(0.08, |s| s.ack(1_101))
    };
    let new_syn = |talk: Talk, at| talk.client(at, |s| Segment { flags: SYN, ack: 0, ..s.seq(5_000_000) });
    let answered = |talk: Talk, at: f64| {
        talk.server(at, |s| Segment { flags: SYN | ACK, ..s.seq(90_000).ack(5_000_001) })
            .client(at + 0.03, |s| s.seq(5_000_001).ack(90_001))
            .client(at + 0.04, |s| s.seq(5_000_001).ack(90_001).payload(10))
    };
    let met = new_syn(old(), 2.0).server(2.02, |s| s.ack(1_101)).client_rst(2.021, 1_101);
    let (analysis, rows) = analyze(&answered(new_syn(met, 3.0), 3.02).segments);
    nothing_lost(&analysis);
    assert_eq!(analysis.outcomes.completed_after_challenge, 1);
    assert_eq!(rows.len(), 2);

    // Without the RST.
    let met = new_syn(old(), 2.0).server(2.02, |s| s.ack(1_101));
    let (analysis, _) = analyze(&answered(new_syn(met, 3.0), 3.02).segments);
    nothing_lost(&analysis);

    // A late acknowledgement of data of the old connection answers no SYN: the SYN was lost.
    let late = old().client(0.09, |s| s.seq(1_101).payload(100));
    let late = new_syn(late, 0.1).server(0.11, |s| s.ack(1_201));
    let (analysis, _) = analyze(&answered(new_syn(late, 1.1), 1.12).segments);
    assert_eq!(repeats(&analysis), [1, 0, 0, 0, 0]);

    let (analysis, _) = real("real-port-reuse.pcap");
    nothing_lost(&analysis);
    assert_eq!(analysis.outcomes.completed_after_challenge, 5);
}

/// The client answers SYN/ACKs with RST, as when address translation is not undone for them.
#[test]
fn a_client_that_resets_synacks() {
    let refused = |talk: Talk, at: f64, isn: u32| {
        talk.syn(at).server(at + 0.02, |s| Segment { flags: SYN | ACK, ..s.seq(isn) }).client_rst(at + 0.021, 1_001)
    };
    let times = || [(0.0, 5_000), (1.0, 700_000), (3.0, 9_000_000)].into_iter();
    let failed = times().fold(talk(), |talk, (at, isn)| refused(talk, at, isn));
    let (analysis, _) = analyze(&failed.segments);
    nothing_lost(&analysis);
    assert_eq!(analysis.outcomes.blackholed.attempts, 0);
    assert_eq!(analysis.outcomes.reset.attempts, 1);
    assert_eq!(analysis.outcomes.repeats.reset, 2);
    fails(&analysis, FailureReason::Reset, 1, &["198.51.100.2:443"]);

    let later = times().take(2).fold(talk(), |talk, (at, isn)| refused(talk, at, isn));
    let (analysis, _) = analyze(&later.clean(3.0).segments);
    nothing_lost(&analysis);
    assert_eq!(analysis.outcomes.completed_after_reset, 1);

    // After the RST, the SYN/ACK is lost on the way to the client.
    let lost = refused(talk(), 0.0, 5_000).syn(1.0).synack(1.02);
    let (analysis, _) = analyze(&lost.clean(3.0).segments);
    assert_eq!(repeats(&analysis)[0], 1, "{:?}", analysis.outcomes.repeats);
}

/// A client that gives up after 250 ms answers the SYN/ACK with an RST. Its round-trip time counts.
#[test]
fn answers_after_the_client_gave_up() {
    let mut segments = Vec::new();
    for i in 0..10_u16 {
        let at = f64::from(i) * 5.0;
        let slow = Talk::new((CLIENT.0, 41_000 + i), ("198.51.100.9", 443));
        segments.extend(slow.syn(at).synack(at + 0.3).client_rst(at + 0.301, 1_001).segments);
        segments.extend(Talk::new((CLIENT.0, 42_000 + i), SERVER).clean(at).segments);
    }
    let (analysis, _) = analyze(&segments);
    nothing_lost(&analysis);
    let outcomes = &analysis.outcomes;
    assert_eq!((outcomes.half_open, outcomes.abandoned.attempts), (10, 10));
    let rtt = &analysis.handshakes.rtt_s.both;
    assert_eq!(rtt.n, 20);
    assert!(rtt.p95.is_some_and(|p95| (0.29..0.31).contains(&p95)), "{rtt:?}");
    finds!(analysis, Finding::Failed { reason: FailureReason::Abandoned, group } if group.attempts == 10);
    lacks!(analysis, Finding::NotContinued { .. });
}

/// The server uses another initial sequence number for each SYN, as with SYN cookies and proxies.
#[test]
fn a_second_initial_sequence_number() {
    for other in [5_000 + 65_000_u32, 3_000_000_000] {
        let talk = talk().syn(0.0).synack(0.02).syn(1.0);
        let talk = talk
            .server(1.02, |s| Segment { flags: SYN | ACK, ..s.seq(other) })
            .client(1.05, |s| s.ack(other + 1))
            .client(1.051, |s| s.ack(other + 1).payload(100));
        let talk = (0..6_u32).fold(talk, |talk, n| {
            let at = 1.08 + f64::from(n) * 0.05;
            talk.server(at, |s| s.seq(other + 1 + n * 1_000).ack(1_101).payload(1_000))
                .client(at + 0.001, |s| s.seq(1_101).ack(other + 1_001 + n * 1_000))
        });
        let (analysis, rows) = analyze(&talk.segments);
        assert_eq!(analysis.warnings, []);
        let data = analysis.retransmissions;
        assert_eq!((data.retransmitted, data.late), (0, 0), "{other}");
        assert_eq!(analysis.waiting.data_s, 0.0);
        assert_eq!(rows[0].from_server.bytes, 6_000);
        assert_eq!(rows[0].outcome, Some(Outcome::Succeeded));
        assert!(rows[0].established);
        // The first SYN/ACK did not reach the client.
        assert_eq!(repeats(&analysis), [1, 0, 0, 0, 0]);
        lacks!(analysis, Finding::OneSided { .. });
    }
}

/// Views of a connection before and after address translation: source, or destination.
fn view(segments: &[Segment], source: bool) -> Vec<Segment> {
    let mut both = Vec::new();
    for segment in segments {
        let mut other = segment.again(150);
        let from_client = segment.src.1 != SERVER.1;
        let end = match (from_client, source) {
            (true, true) | (false, false) => &mut other.src,
            _ => &mut other.dst,
        };
        end.0 = if source { "203.0.113.5" } else { "198.51.100.77" }.parse().unwrap();
        other.ttl -= 1;
        if from_client {
            both.extend([segment.clone(), other]);
        } else {
            // From the server, the translated packet comes first.
            let ttl = segment.ttl;
            let (mut first, mut second) = (other, segment.clone());
            (first.ttl, second.ttl) = (ttl, ttl - 1);
            (first.at_us, second.at_us) = (segment.at_us, segment.at_us + 150);
            both.extend([first, second]);
        }
    }
    both.sort_by_key(|it| it.at_us);
    both
}

/// Address translation shows each connection twice.
#[test]
fn connections_seen_on_both_sides_of_a_nat() {
    let stamped = |mut segment: Segment| {
        segment.timestamps = Some((1_000 + (segment.at_us / 1_000) as u32, 1));
        segment
    };
    for source in [true, false] {
        let segments: Vec<Segment> = (0..10_u16)
            .flat_map(|i| {
                let talk = Talk::new((CLIENT.0, 20_000 + i), SERVER);
                let at = f64::from(i) * 3.0;
                let talk = if i < 4 { talk.lossy(at) } else { talk.clean(at) };
                talk.segments
            })
            .map(stamped)
            .collect();
        let (analysis, _) = analyze(&view(&segments, source));
        let outcomes = &analysis.outcomes;
        assert_eq!(analysis.handshakes.attempts, 20);
        assert_eq!(outcomes.seen_twice, 10);
        assert_eq!((outcomes.answered, outcomes.with_loss), (10, 4));
        assert!((analysis.waiting.loss_s - 4.0).abs() < 0.01, "{:?}", analysis.waiting);
        finds!(analysis, Finding::Loss { answered: 10, all_answered: true, with_loss: 4, .. });
        finds!(analysis, Finding::SeenTwice { attempts: 10 });
    }
}

/// Connections that have the initial sequence number in common are others.
#[test]
fn equal_sequence_numbers_are_no_views() {
    // Scans: one port and one sequence number for all hosts, and any TTL, as nmap does.
    let scan = (0..30_u16).map(|i| {
        let host = format!("198.51.100.{}", i + 1);
        let segment = Segment::between(f64::from(i) * 0.0002, CLIENT, (&host, 80), SYN);
        segment.seq(1_000).id(7 * i + 1).ttl(50 - (i % 8) as u8)
    });
    let (analysis, _) = analyze(&scan.collect::<Vec<_>>());
    assert_eq!(analysis.outcomes.seen_twice, 0);
    assert_eq!(analysis.outcomes.dead.attempts, 30);

    // Hosts behind routers at the same distance, stacks with a constant sequence number.
    let users = (0..10_u16).flat_map(|i| {
        let host = format!("192.0.2.{}", i + 1);
        Talk::new((&host, 3_000), SERVER).clean(f64::from(i) * 0.0001).segments
    });
    let (analysis, _) = analyze(&users.collect::<Vec<_>>());
    assert_eq!(analysis.outcomes.seen_twice, 0);
    assert_eq!(analysis.outcomes.completed, 10);

    // Other servers answer with other numbers.
    let stamped = |at, server: (&str, u16), ttl, isn: u32| {
        let talk = Talk::new(CLIENT, server).clean(at);
        let mut segments = talk.segments;
        for segment in &mut segments {
            segment.timestamps = Some((9, 9));
            segment.ttl = ttl;
            let number = if segment.src.1 == server.1 { &mut segment.seq } else { &mut segment.ack };
            *number = number.wrapping_add(isn);
        }
        segments
    };
    let mut segments = stamped(0.0, SERVER, 64, 0);
    segments.extend(stamped(0.0001, ("198.51.100.3", 443), 63, 77_777));
    segments.sort_by_key(|it| it.at_us);
    let (analysis, _) = analyze(&segments);
    assert_eq!(analysis.outcomes.seen_twice, 0);
    assert_eq!(analysis.outcomes.completed, 2);
}

/// The SYN/ACK comes from another address than the SYN went to: destination translation that is not undone.
#[test]
fn synacks_from_another_address() {
    let (analysis, _) = real("dnat-synack-not-translated.pcap");
    nothing_lost(&analysis);
    let outcomes = &analysis.outcomes;
    assert_eq!(outcomes.elsewhere.attempts * 2, analysis.handshakes.attempts);
    assert_eq!(outcomes.seen_twice, outcomes.elsewhere.attempts);
    assert_eq!(outcomes.elsewhere.most[0].name, "10.103.175.29:7800");
    finds!(analysis, Finding::Failed { reason: FailureReason::Elsewhere, .. });
    lacks!(analysis, Finding::Failed { reason: FailureReason::Dead, .. });

    // At the client, which does not see the translated SYN.
    let virtual_server = ("198.51.100.200", SERVER.1);
    let mut segments = Vec::new();
    for at in [0.0, 1.0, 3.0] {
        segments.extend(Talk::new(CLIENT, virtual_server).syn(at).segments);
        segments.extend(talk().synack(at + 0.02).client_rst(at + 0.021, 1_001).segments);
    }
    let (analysis, _) = analyze(&segments);
    nothing_lost(&analysis);
    assert_eq!(analysis.outcomes.elsewhere.attempts, 1);
    assert_eq!(analysis.outcomes.elsewhere.most[0].name, "198.51.100.200:443");
}

/// A server with `TCP_DEFER_ACCEPT` gives up waiting for data and closes.
#[test]
fn a_deferring_server_that_closes_first() {
    let (analysis, _) = real("defer-accept-idle-preconnect.pcap");
    nothing_lost(&analysis);
    assert_eq!(analysis.outcomes.deferred, 4);
    assert_eq!(analysis.waiting.handshake_s, 0.0);

    // A server that closes as soon as it accepts: the ACK was lost.
    let talk = talk().syn(0.0).synack(0.02).ack(0.021).synack(1.03).ack(1.031);
    let closed = talk.server(1.06, |s| Segment { flags: FIN | ACK, ..s });
    let (analysis, _) = analyze(&closed.client(1.061, |s| s.ack(5_002)).segments);
    assert_eq!(repeats(&analysis), [1, 0, 0, 0, 0]);
}

/// It gives up waiting and sends data itself, such as HTTP status 408, or closes: nobody waited for that.
#[test]
fn a_deferring_server_that_speaks_first() {
    // Ends of the path to the server and to the client, and SYN/ACKs sent again.
    for (up, down) in [(0.03, 0.0001), (0.015, 0.015), (0.0001, 0.03)] {
        for again in [&[1.0][..], &[1.0, 3.0], &[1.0, 3.0, 7.0]] {
            for (after, data) in [(3.0, true), (3.0, false), (0.4, true)] {
                let talk = talk().syn(0.0).synack(down).ack(down + up);
                let talk = again.iter().fold(talk, |talk, at| talk.synack(at + down).ack(at + down + up));
                let at = again[again.len() - 1] + after;
                let talk = match data {
                    true => talk.server(at, |s| s.payload(200)),
                    false => talk,
                };
                let bytes = if data { 200 } else { 0 };
                let closed = talk.server(at + 0.0001, |s| Segment { flags: FIN | ACK, ..s.seq(5_001 + bytes) });
                let closed = closed.client(at + up + 0.001, |s| s.ack(5_002 + bytes));
                let (analysis, _) = analyze(&closed.segments);
                nothing_lost(&analysis);
                assert_eq!(repeats(&analysis), [0, 0, 0, again.len() as u64, 0]);
                assert_eq!(analysis.waiting.handshake_s, 0.0, "{up} {again:?} {after}");
                assert_eq!(analysis.outcomes.deferred_s, 0.0);
            }
        }
    }

    // Two ACKs passed before the last SYN/ACK, and the server speaks as soon as it accepts the client.
    let ignored = [0.02, 1.02, 3.02].into_iter().fold(talk().syn(0.0), |talk, at| talk.synack(at).ack(at + 0.001));
    let (analysis, _) = analyze(&ignored.server(3.05, |s| s.payload(200)).segments);
    nothing_lost(&analysis);
    assert_eq!(analysis.outcomes.repeats.deferred, 2);

    // A greeting within the time that a program needs: the ACK was lost, also after a lost SYN.
    for lost in [talk(), talk().syn(0.0)] {
        let lost = lost.syn(1.0).synack(1.02).ack(1.021).synack(2.02).ack(2.021);
        let greeted = lost.server(2.09, |s| s.payload(20));
        let answered = greeted.client(2.1, |s| s.ack(5_021).payload(10)).server(2.12, |s| s.seq(5_021).ack(1_011));
        let (analysis, _) = analyze(&answered.segments);
        assert_eq!(repeats(&analysis)[1..], [0; 4]);
        assert_eq!(analysis.outcomes.with_loss, 1);
    }
}

/// A SYN/ACK is sent again because a round trip takes longer than the timeout; it counts in the round-trip times.
#[test]
fn late_answers_count_in_the_round_trip_time() {
    let (analysis, _) = real("synack-again-rtt-1.5s.pcap");
    nothing_lost(&analysis);
    assert_eq!((analysis.outcomes.late, analysis.outcomes.deferred), (1, 0));
    assert_eq!(analysis.waiting.handshake_s, 0.0);
    let rtt = &analysis.handshakes.rtt_s.both;
    assert!(rtt.max.is_some_and(|max| (1.52..1.54).contains(&max)), "{rtt:?}");

    let slow = talk().syn(0.0).stamps(100, 0).syn(1.0).stamps(1_100, 0);
    let slow = slow.synack(1.4).stamps(9_700, 100).ack(1.401).stamps(1_501, 9_700);
    let (analysis, _) = analyze(&slow.segments);
    assert_eq!(repeats(&analysis), [0, 1, 0, 0, 0]);
    assert_eq!(analysis.handshakes.rtt_s.server_side.max, Some(1.4));
}

/// SYNs with an option, data or ECN flags are dropped, and only those.
#[test]
fn syns_dropped_for_what_they_carry() {
    type Change = fn(Segment) -> Segment;

    let plain = |segment: Segment| segment;
    let with: [(&str, Change); 4] = [
        ("mptcp", |s| s.option(&[30, 4, 1, 0])),
        ("fast-open", |s| s.option(&[34, 2, 1, 1])),
        ("data", |s| s.payload(200)),
        ("ecn", |s| Segment { flags: SYN | 0xc0, ..s }),
    ];
    let connection = |i: u16, first: fn(Segment) -> Segment, second: fn(Segment) -> Segment| {
        let talk = Talk::new((CLIENT.0, 20_000 + i), SERVER).lossy(f64::from(i) * 5.0);
        let mut segments = talk.segments;
        segments[0] = first(segments[0].clone());
        segments[1] = second(segments[1].clone());
        segments
    };
    for (name, carry) in with {
        let segments: Vec<Segment> = (0..12).flat_map(|i| connection(i, carry, plain)).collect();
        let (analysis, _) = analyze(&segments);
        let dropped = &analysis.outcomes.dropped_for;
        assert_eq!(dropped.len(), 1, "{dropped:?}");
        assert_eq!((dropped[0].name, dropped[0].attempts), (name, 12));
        assert!((dropped[0].waited_s - 12.0).abs() < 1e-6);
        // The loss is real; a model of queues does not apply.
        assert_eq!(analysis.outcomes.with_loss, 12);
        finds!(analysis, Finding::DroppedFor(_));
        lacks!(analysis, Finding::ExpectedCost { .. });
        let cost = analysis.expected_cost.expect("there are losses");
        assert_eq!(cost.expected_wait_s, None);

        // One such SYN is answered: the losses are chance.
        let mut segments: Vec<Segment> = (0..12).flat_map(|i| connection(i, carry, plain)).collect();
        segments.extend(connection(13, carry, carry));
        let (analysis, _) = analyze(&segments);
        assert_eq!(analysis.outcomes.dropped_for, []);
        // Too few for a conclusion.
        let segments: Vec<Segment> = (0..2).flat_map(|i| connection(i, carry, plain)).collect();
        assert_eq!(analyze(&segments).0.outcomes.dropped_for, []);
    }
}

/// Behind the bottleneck, SYNs are not lost any more, and the waiting for data comes first.
#[test]
fn waiting_for_data_comes_first() {
    let mut talk = talk().syn(0.0).synack(0.02).ack(0.05);
    for n in 0..5_u32 {
        let at = 1.0 + f64::from(n);
        let seq = 5_001 + n * 2_000;
        // The first of two segments is lost before the capture point.
        talk = talk
            .server(at, |s| s.seq(seq + 1_000).payload(1_000))
            .client(at + 0.03, |s| s.ack(seq))
            .server(at + 0.5, |s| s.seq(seq).payload(1_000))
            .client(at + 0.53, |s| s.ack(seq + 2_000));
    }
    let (analysis, _) = analyze(&talk.segments);
    let Finding::NoLoss { answered: 1, all_answered: true, data_wait: Some(wait) } = &analysis.findings[0] else {
        panic!("{:?}", analysis.findings);
    };
    let DataWait { waited_s, mean_s, before_capture_point } = *wait;
    assert!(is_near(waited_s, 2.5) && is_near(mean_s, 2.5) && before_capture_point, "{wait:?}");
}

/// Packets of different receive queues: the ACK is captured before the SYN/ACK that it acknowledges.
#[test]
fn an_ack_captured_before_the_synack() {
    let talk = talk().syn(0.0).ack(0.019_993).synack(0.02);
    let (analysis, rows) = analyze(&talk.rest(0.03).segments);
    nothing_lost(&analysis);
    assert_eq!(analysis.handshakes.successes, 1);
    assert_eq!(analysis.outcomes.completed, 1);
    assert!(rows[0].established);
    assert_eq!(analysis.handshakes.rtt_s.both.n, 1);
    assert_eq!(analysis.warnings, []);
}

/// Several interfaces with the same packets give the same counts as one with copies.
#[test]
fn views_at_two_interfaces() {
    let talk = talk().clean(0.0);
    let segments: Vec<Segment> =
        (talk.segments.iter()).flat_map(|it| [it.clone(), it.again(20).interface(1)]).collect();
    let (analysis, _) = analyze_bytes(&[&pcapng(&segments, 2)], &Options::default());
    nothing_lost(&analysis);
}

/// A SYN and then its SYN/ACK are lost, on both sides of a capture in the middle: the time until the ACK contains a timeout,
/// so it does not show that the capture point is next to the server.
#[test]
fn losses_on_both_sides() {
    let lost = talk().syn(0.0).syn(1.0).synack(1.02).synack(2.02);
    let (analysis, rows) = analyze(&lost.ack(2.05).rest(2.051).segments);
    assert_eq!(repeats(&analysis), [2, 0, 0, 0, 0]);
    assert_eq!(analysis.outcomes.deferred, 0);
    assert!((rows[0].handshake_delay.as_secs_f64() - 2.0).abs() < 1e-6);
    assert!((analysis.waiting.loss_s - 2.0).abs() < 1e-6);

    // The client resets a SYN/ACK and tries again; only the first SYN was lost.
    let reset = talk().syn(0.0).syn(1.0).synack(1.02).client_rst(1.05, 1_001);
    let (analysis, _) = analyze(&reset.clean(3.0).segments);
    assert_eq!(repeats(&analysis), [1, 0, 0, 0, 0]);
    assert_eq!(analysis.outcomes.repeats.reset, 1);
    assert!((analysis.waiting.loss_s - 1.0).abs() < 1e-6);
    assert!((analysis.waiting.handshake_s - 3.0).abs() < 1e-6);
}

/// Each cause has its own part of the time that an attempt waited.
#[test]
fn a_wait_belongs_to_its_cause() {
    let lost_first = talk().syn(0.0).syn(1.0).challenge(1.02, 900);
    let challenged_first = talk().syn(0.0).challenge(0.02, 900).client_rst(0.021, 900);
    for (talk, loss, challenge) in
        [(lost_first.client_rst(1.021, 900), 1.0, 2.0), (challenged_first.syn(1.0), 2.0, 1.0)]
    {
        let (analysis, _) = analyze(&talk.clean(3.0).segments);
        assert_eq!(repeats(&analysis), [1, 0, 0, 0, 0]);
        let waiting = &analysis.waiting;
        assert!((waiting.loss_s - loss).abs() < 1e-6, "{waiting:?}");
        assert!((waiting.handshake_s - 3.0).abs() < 1e-6, "{waiting:?}");
        let found = analysis.outcomes.completed_after_challenge_s;
        assert!((found - challenge).abs() < 1e-6, "{found}");
        lacks!(analysis, Finding::NoLoss { .. });
    }
}

/// The server acknowledges the SYN without its data, and the client sends them again at once (RFC 7413, 4.2.2).
#[test]
fn a_fast_open_that_is_not_accepted() {
    let syn = talk().client(0.0, |segment| Segment { flags: SYN, ack: 0, ..segment.seq(1_000).payload(100) });
    let (analysis, rows) = analyze(&syn.synack(0.02).ack(0.05).rest(0.0501).segments);
    assert_eq!(analysis.retransmissions.retransmitted, 0);
    assert_eq!(analysis.waiting.data_s, 0.0);
    assert_eq!(rows[0].from_client.bytes, 100);
    lacks!(analysis, Finding::NoLoss { data_wait: Some(_), .. });
}

/// The server refuses a SYN and accepts the next, or the client resets a SYN/ACK: the verdict says what that cost.
#[test]
fn success_after_an_rst() {
    let refused = talk().syn(0.0).rst(0.02);
    let reset = talk().syn(0.0).synack(0.02).client_rst(0.021, 1_001);
    for (talk, refused, reset) in [(refused, 1.0, 0.0), (reset, 0.0, 1.0)] {
        let (analysis, _) = analyze(&talk.clean(1.0).segments);
        nothing_lost(&analysis);
        let outcomes = &analysis.outcomes;
        let waited = (outcomes.completed_after_refusal_s, outcomes.completed_after_reset_s);
        assert_eq!(waited, (refused, reset));
        assert_eq!(analysis.waiting.handshake_s, 1.0);
        match refused > 0.0 {
            true => finds!(analysis, Finding::FirstRefused(Waits { attempts: 1, waited_s: 1.0 })),
            false => finds!(analysis, Finding::FirstReset(Waits { attempts: 1, waited_s: 1.0 })),
        }
    }

    // A SYN is lost before the refusal.
    let lost = talk().syn(0.0).syn(1.0).rst(1.02);
    let (analysis, _) = analyze(&lost.clean(1.5).segments);
    assert_eq!(repeats(&analysis), [1, 0, 1, 0, 0]);
    assert_eq!(analysis.waiting.loss_s, 1.0);
    assert_eq!(analysis.outcomes.completed_after_refusal_s, 0.5);
}
