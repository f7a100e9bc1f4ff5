//! Outcomes of attempts, causes of retransmitted SYNs and SYN/ACKs, and the verdict on them: one capture per case,
//! written segment by segment.

use crate::frames::{ACK, CLIENT, SERVER, SYN, Segment};
use crate::talk::{Talk, analyze, fails, finds, is_near, lacks, repeats, talk, users};
use gentle_trace::results::{AttemptGroup, FailureReason, Finding, Outcomes, Waits};
use gentle_trace::row::Outcome;

/// Reasons of unanswered attempts, each with its counts.
pub(crate) fn apart(outcomes: &Outcomes) -> impl Iterator<Item = &AttemptGroup> {
    [
        &outcomes.blackholed,
        &outcomes.dead,
        &outcomes.refused,
        &outcomes.rejected,
        &outcomes.challenged,
        &outcomes.elsewhere,
        &outcomes.scans,
        &outcomes.floods,
        &outcomes.unseen,
    ]
    .into_iter()
}

/// A refused SYN is retransmitted, as Windows does, three transmissions in all.
#[test]
fn refused_and_sent_again() {
    let segments = [0.0, 0.5, 1.0].into_iter().fold(talk(), |talk, at_s| talk.syn(at_s).rst(at_s + 0.02)).segments;
    let (analysis, rows) = analyze(&segments);
    assert_eq!(repeats(&analysis), [0, 0, 2, 0, 0]);
    assert_eq!(analysis.outcomes.refused.attempts, 1);
    assert_eq!(analysis.outcomes.answered, 0);
    assert_eq!(rows[0].outcome, Some(Outcome::Refused));
    finds!(analysis, Finding::NoneAnswered { attempts: 1, no_server: false });
    fails(&analysis, FailureReason::Refused, 1, &["198.51.100.2:443"]);
    lacks!(analysis, Finding::Loss { .. } | Finding::NoLoss { .. } | Finding::WorstServer { .. });
    // The counts by definition are unaffected.
    assert_eq!(analysis.handshakes.duplicate_syn, 2);
    assert_eq!(analysis.handshakes.attempts_with_retransmission, 1);

    // The first SYN was lost before the second was refused: a loss, but not of an answered attempt.
    let (analysis, _) = analyze(&talk().syn(0.0).syn(1.0).rst(1.02).segments);
    assert_eq!(repeats(&analysis), [1, 0, 0, 0, 0]);
    assert_eq!(analysis.outcomes.with_loss, 0);
}

/// At the server, the ACK is captured before the SYN/ACK is retransmitted.
#[test]
fn deferred_by_the_server() {
    let handshake = || talk().syn(0.0).synack(0.0001).ack(0.08);
    // TCP_DEFER_ACCEPT: the client sends no data for a while.
    let deferred = handshake().synack(1.0).ack(1.08).synack(3.0).ack(3.08);
    let (analysis, rows) = analyze(&deferred.rest(5.0).segments);
    assert_eq!(repeats(&analysis), [0, 0, 0, 2, 0]);
    assert_eq!(analysis.outcomes.deferred, 1);
    assert_eq!(analysis.waiting.handshake_s, 0.0);
    assert_eq!(rows[0].handshake_deferred, 2);
    finds!(analysis, Finding::NoLoss { answered: 1, all_answered: true, data_wait: None });
    finds!(analysis, Finding::Deferred(Waits { attempts: 1, waited_s: 0.0 }));
    assert_eq!(analysis.handshakes.duplicate_synack, 2);

    // Full listen queue: the client's request waits.
    let request = |talk: Talk, at_s| talk.client(at_s, |s| s.payload(100));
    let full = [0.3, 0.7].into_iter().fold(request(handshake(), 0.081), request);
    let full = full.synack(1.0).ack(1.08);
    let (analysis, _) = analyze(&request(full, 1.5).rest(1.6).segments);
    assert_eq!(repeats(&analysis), [0, 0, 0, 1, 0]);
    let waited = analysis.outcomes.deferred_s;
    assert!((waited - 0.9999).abs() < 1e-3, "{waited}");

    // Full listen queue of a server that speaks first.
    let banner = |at_s| move |talk: Talk| talk.server(at_s, |s| s.payload(30)).client(at_s + 0.08, |s| s.ack(5_031));
    let (analysis, _) = analyze(&banner(1.081)(handshake().synack(1.0).ack(1.08)).segments);
    assert_eq!(repeats(&analysis), [0, 0, 0, 1, 0]);
    let waited = analysis.waiting.handshake_s;
    assert!((waited - 0.9999).abs() < 1e-3, "{waited}");
    finds!(analysis, Finding::Deferred(Waits { attempts: 1, waited_s }) if is_near(*waited_s, 1.0));

    // The queue was full when the SYN came: Linux drops it.
    let full = talk().syn(0.0).stamps(100, 0).syn(1.0).stamps(1_100, 0);
    let full = full.synack(1.0001).stamps(9_000, 1_100).ack(1.08);
    let (analysis, _) = analyze(&full.rest(1.1).segments);
    assert_eq!(repeats(&analysis), [0, 0, 0, 1, 0]);
    assert_eq!(analysis.waiting.handshake_s, 1.0);
    assert_eq!(analysis.outcomes.with_loss, 0);
}

/// The handshake's ACK is lost beyond the capture point, and the server would speak first.
#[test]
fn the_ack_is_lost() {
    let talk = talk().syn(0.0).synack(0.02).ack(0.021).synack(1.03).ack(1.031);
    let talk = talk.server(1.06, |s| s.payload(30)).client(1.061, |s| s.ack(5_031));
    let (analysis, rows) = analyze(&talk.segments);
    assert_eq!(repeats(&analysis), [1, 0, 0, 0, 0]);
    let waited = analysis.waiting.handshake_s;
    assert!((waited - 1.01).abs() < 1e-3, "{waited}");
    assert_eq!(rows[0].handshake_delay.as_secs_f64(), waited);
    finds!(
        analysis,
        Finding::Loss { answered: 1, all_answered: true, with_loss: 1, mean_wait_s: Some(mean), .. } if is_near(*mean, 1.01)
    );
}

/// The round trip takes longer than the client's timeout, before any SYN/ACK.
#[test]
fn late_answers() {
    // At the client. The server answers both SYNs; Linux echoes the first timestamp in both SYN/ACKs.
    let late = || {
        talk()
            .syn(0.0)
            .stamps(100, 0)
            .syn(1.0)
            .stamps(1_100, 0)
            .synack(1.4)
            .stamps(9_700, 100)
            .ack(1.401)
            .stamps(1_501, 9_700)
    };
    let (analysis, rows) = analyze(&late().segments);
    assert_eq!(repeats(&analysis), [0, 1, 0, 0, 0]);
    assert_eq!(rows[0].handshake_delay.as_secs_f64(), 0.0);
    finds!(analysis, Finding::NoLoss { answered: 1, all_answered: true, .. });
    finds!(analysis, Finding::Late { attempts: 1 });
    let twice = late().synack(2.4).stamps(10_700, 100).ack(2.401);
    let (analysis, _) = analyze(&twice.segments);
    assert_eq!(repeats(&analysis), [0, 1, 0, 0, 0]);
    assert_eq!(analysis.outcomes.late, 1);

    // A later round trip of 20 ms shows that Linux echoed the first SYN but answered the second.
    let (analysis, _) = analyze(&late().rest(1.402).segments);
    assert_eq!(repeats(&analysis), [1, 0, 0, 0, 0]);

    // An echo of the second SYN, and no echo.
    let lost = |echo: Option<u32>| {
        let talk = talk().syn(0.0).syn(1.0).synack(1.4).ack(1.401);
        let mut segments = talk.segments;
        if let Some(echo) = echo {
            let stamps = [(100, 0), (1_100, 0), (9_700, echo), (1_501, 9_700)];
            for (segment, stamps) in segments.iter_mut().zip(stamps) {
                segment.timestamps = Some(stamps);
            }
        }
        repeats(&analyze(&segments).0)
    };
    assert_eq!(lost(Some(1_100)), [1, 0, 0, 0, 0]);
    assert_eq!(lost(None), [1, 0, 0, 0, 0]);
}

/// The client's ACK echoes the timestamp of the SYN/ACK that it received, after a SYN retransmitted after a SYN/ACK.
#[test]
fn late_behind_the_answer() {
    let handshake = |echo: u32, again: bool| {
        let talk = talk()
            .syn(0.0)
            .stamps(100, 0)
            .synack(0.02)
            .stamps(9_000, 100)
            .syn(1.0)
            .stamps(1_100, 0)
            .synack(1.02)
            .stamps(10_000, 100)
            .ack(1.3)
            .stamps(1_350, echo);
        let talk = if again { talk.ack(2.3) } else { talk };
        repeats(&analyze(&talk.segments).0)
    };
    assert_eq!(handshake(9_000, false), [0, 1, 0, 0, 0]);
    assert_eq!(handshake(10_000, false), [1, 0, 0, 0, 0]);
    // Both SYN/ACKs have the timestamp of a slow clock: the client answers both, as far apart as they were.
    assert_eq!(handshake(7, false), [1, 0, 0, 0, 0]);
    assert_eq!(handshake(7, true), [0, 1, 0, 0, 0]);
}

/// SYN/ACKs wait in a queue that has drained when the round trip is measured: an ACK that follows the last SYN/ACK by far more than a
/// round trip does not answer that one.
#[test]
fn late_behind_a_queue_that_drains() {
    let handshake = |acked_at: f64, payload: u16| {
        let talk = talk()
            .syn(0.0)
            .stamps(100, 0)
            .synack(0.001)
            .stamps(9_000, 100)
            .syn(1.0)
            .stamps(1_100, 0)
            .synack(1.001)
            .stamps(10_000, 100);
        let talk = talk.client(acked_at, |segment| segment.payload(payload)).stamps(1_600, 9_000);
        let end = 1_001 + u32::from(payload);
        let talk = talk
            .server(acked_at + 0.01, |s| s.ack(end).payload(700))
            .client(acked_at + 0.04, |s| s.seq(end).ack(5_701));
        repeats(&analyze(&talk.segments).0)
    };
    assert_eq!(handshake(1.5, 0), [0, 1, 0, 0, 0]);
    // The first ACK may have been lost, and this one answers the second SYN/ACK; or data carries it.
    assert_eq!(handshake(1.03, 0), [1, 0, 0, 0, 0]);
    assert_eq!(handshake(1.5, 100), [1, 0, 0, 0, 0]);
    // At the server, where the timer sent the second SYN/ACK.
    let timer = |acked_at: f64| {
        let talk = talk().syn(0.0).stamps(100, 0).synack(0.001).stamps(9_000, 100);
        let talk = talk.synack(1.001).stamps(10_000, 100).ack(acked_at);
        let talk = talk.stamps(1_600, 9_000).server(acked_at + 0.01, |s| s.payload(700));
        let talk = talk.client(acked_at + 0.04, |s| s.ack(5_701));
        repeats(&analyze(&talk.segments).0)
    };
    assert_eq!(timer(1.5), [0, 1, 0, 0, 0]);
    assert_eq!(timer(1.03), [1, 0, 0, 0, 0]);
}

/// SYN/ACKs wait in a queue that drains at once: the client answers each of them, within two of the round trips measured later.
#[test]
fn as_many_acknowledgements_as_answers() {
    let handshake = |repeated: u32| {
        let talk = talk()
            .syn(0.0)
            .stamps(100, 0)
            .synack(0.001)
            .stamps(9_000, 100)
            .syn(1.0)
            .stamps(1_100, 0)
            .synack(1.0)
            .stamps(10_000, 100)
            .synack(1.001)
            .stamps(10_001, 100);
        let talk = talk.ack(1.03).stamps(1_600, 9_000);
        let talk = talk.client(1.031, |segment| segment.payload(1)).stamps(1_600, 9_000);
        let talk = (0..repeated)
            .fold(talk, |talk, n| talk.client(1.032 + 0.001 * f64::from(n), |s| s.seq(1_002)).stamps(1_601 + n, 9_000));
        let talk = talk.server(1.05, |s| s.ack(1_002).payload(700)).client(1.07, |s| s.seq(1_002).ack(5_701));
        // Data of the server that arrives out of order is acknowledged by repeated ACKs as well.
        let talk = talk.client(1.08, |s| s.seq(1_002));
        repeats(&analyze(&talk.segments).0)
    };
    let [lost, late, ..] = handshake(2);
    assert_eq!((lost, late), (0, 2));
    // One of them got no answer.
    let [lost, ..] = handshake(1);
    assert!(lost > 0);
}

/// A timer retransmits a SYN/ACK while the client's ACK is under way.
#[test]
fn a_late_ack() {
    // At the server: the round-trip time is 1.4 s.
    let talk = || talk().syn(0.0).synack(0.0001).stamps(9_000, 100);
    let late = talk().synack(1.0).stamps(10_000, 100).ack(1.4);
    assert_eq!(repeats(&analyze(&late.stamps(1_500, 9_000).segments).0), [0, 1, 0, 0, 0]);
    let lost = talk().synack(1.0).stamps(10_000, 100).ack(1.4);
    assert_eq!(repeats(&analyze(&lost.stamps(1_500, 10_000).segments).0), [1, 0, 0, 0, 0]);
    // At the client: the ACK leaves at once, and crosses the SYN/ACK.
    let talk = Talk::new(CLIENT, SERVER).syn(0.0).synack(1.4).ack(1.401);
    let crossed = talk.synack(2.4).ack(2.401);
    assert_eq!(repeats(&analyze(&crossed.segments).0), [0, 1, 0, 0, 0]);
}

/// ICMP and ICMPv6 messages answer a SYN.
#[test]
fn rejected_by_icmp() {
    let syn = |at_s| Segment::client(at_s, SYN).seq(1_000);
    for code in [0, 1, 3, 9, 10, 13] {
        let (analysis, rows) = analyze(&[syn(0.0), syn(0.01).icmp(3, code), syn(1.0), syn(1.01).icmp(3, code)]);
        assert_eq!(rows[0].outcome, Some(Outcome::Rejected), "{code}");
        assert_eq!(repeats(&analysis), [0, 0, 1, 0, 0], "{code}");
        fails(&analysis, FailureReason::Rejected, 1, &["198.51.100.2:443"]);
    }
    let v6 = |at_s| {
        let ends = [("2001:db8::1", 40_000), ("2001:db8::2", 443)];
        Segment::between(at_s, ends[0], ends[1], SYN).seq(1_000)
    };
    for code in [0, 1, 3, 4, 5, 6] {
        let (_, rows) = analyze(&[v6(0.0), v6(0.01).icmp(1, code)]);
        assert_eq!(rows[0].outcome, Some(Outcome::Rejected), "{code}");
    }
    // Messages about another attempt, about none, and of other kinds; then about an attempt that was answered after
    // all.
    for message in
        [syn(0.01).seq(7).icmp(3, 3), syn(0.01).port(7).icmp(3, 3), syn(0.01).icmp(3, 4), syn(0.01).icmp(11, 0)]
    {
        let (analysis, rows) = analyze(&[syn(0.0), message]);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].outcome, Some(Outcome::Unanswered));
        assert_eq!(analysis.captures[0].tcp_segments, 1);
        assert_eq!(analysis.captures[0].other["other"], 1);
    }
    let mut segments = talk().clean(1.0).segments;
    segments.extend([syn(0.0), syn(0.01).icmp(3, 1)]);
    let (analysis, rows) = analyze(&segments);
    assert_eq!(rows[0].outcome, Some(Outcome::Succeeded));
    assert_eq!(repeats(&analysis), [0, 0, 1, 0, 0]);
}

/// The SYN/ACK acknowledges the data of the SYN (RFC 7413).
#[test]
fn fast_open() {
    let talk = talk()
        .client(0.0, |s| Segment { flags: SYN, ..s.seq(1_000).ack(0).payload(10) })
        .server(0.02, |s| Segment { flags: SYN | ACK, ..s.seq(5_000).ack(1_011) })
        .client(0.05, |s| s.seq(1_011))
        .server(0.06, |s| s.ack(1_011).payload(300));
    let (analysis, rows) = analyze(&talk.segments);
    assert_eq!(rows[0].outcome, Some(Outcome::Succeeded));
    assert_eq!((analysis.outcomes.answered, analysis.outcomes.completed), (1, 1));
    finds!(analysis, Finding::NoLoss { answered: 1, all_answered: true, .. });
    lacks!(analysis, Finding::OneSided { .. });
    assert_eq!(analysis.handshakes.successes, 0, "by the definition");
}

/// Later segments prove an answer that was not captured.
#[test]
fn later_segments_show_the_answer() {
    // The ACK of the handshake is missing; the next one acknowledges the banner.
    let banner = talk().syn(0.0).synack(0.02).server(0.06, |s| s.payload(30)).client(0.08, |s| s.ack(5_031));
    let (analysis, rows) = analyze(&banner.segments);
    assert_eq!(rows[0].outcome, Some(Outcome::Succeeded));
    assert_eq!(analysis.outcomes.half_open, 0);
    // Only the server continues.
    let rest = talk().syn(0.0).synack(0.02).server(0.06, |s| s.payload(30));
    assert_eq!(analyze(&rest.segments).1[0].outcome, Some(Outcome::Succeeded));

    // The SYN/ACKs of half of the connections are missing.
    let mut segments = users(200, 0, SERVER);
    segments.retain(|s| s.flags != SYN | ACK || s.dst.1 % 2 == 0);
    let (analysis, _) = analyze(&segments);
    let outcomes = &analysis.outcomes;
    assert_eq!((outcomes.answered, outcomes.completed, outcomes.one_sided), (200, 200, 100));
    assert_eq!(analysis.handshakes.successes, 100, "by the definition");
    finds!(analysis, Finding::OneSided { attempts: 100, completed: 200 });
    finds!(analysis, Finding::NoLoss { answered: 200, all_answered: true, .. });

    // Only the clients' side, with two losses, and an attempt without any evidence.
    let mut segments = users(20, 2, SERVER);
    segments.extend(Talk::new(("192.0.2.5", 9), SERVER).syn(0.0).syn(1.0).segments);
    segments.retain(|s| s.dst.1 == SERVER.1);
    let (analysis, _) = analyze(&segments);
    finds!(analysis, Finding::OneSided { attempts: 20, completed: 20 });
    finds!(analysis, Finding::Loss { answered: 20, all_answered: false, with_loss: 2, .. });
    fails(&analysis, FailureReason::Unseen, 1, &["198.51.100.2:443"]);
}

/// Only the servers' side is captured.
#[test]
fn synacks_without_syns() {
    let talk = talk().synack(0.0).synack(1.0).synack(3.0);
    let (analysis, rows) = analyze(&talk.segments);
    assert_eq!(analysis.outcomes.without_syn_again, 1);
    assert_eq!(rows[0].outcome, Some(Outcome::HalfOpen));
    finds!(analysis, Finding::NoSyn { answered: 1, answered_again: 1, synacks_again: 2, .. });
}

/// A program connects to its own port.
#[test]
fn connected_to_itself() {
    for end in [("127.0.0.1", 40_000), ("::1", 40_000)] {
        let segment = |at_s, flags| Segment::between(at_s, end, end, flags).seq(1_000);
        let (analysis, rows) = analyze(&[
            segment(0.0, SYN),
            segment(0.00001, SYN | ACK).ack(1_001),
            segment(0.00002, ACK).seq(1_001).ack(1_001),
            segment(0.1, ACK).seq(1_001).ack(1_001).payload(10),
        ]);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].outcome, Some(Outcome::Succeeded));
        assert!(rows[0].established, "by the definition, too");
        assert_eq!(analysis.handshakes.synack_without_syn, 0);
    }
}
