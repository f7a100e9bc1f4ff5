//! SYNs and SYN/ACKs that something held up on their way and let go together.

use super::nothing_lost;
use crate::talk::{Talk, analyze, finds, repeats, talk};
use gentle_trace::results::Finding;

/// Something before the capture point holds SYNs and lets them go together.
#[test]
fn syns_that_were_held_up() {
    for stamped in [true, false] {
        let mut talk = talk();
        for n in 0..4_u16 {
            let at = f64::from(n) * 0.00002;
            talk = talk.syn(at);
            let syn = talk.segments.pop().unwrap().id(n + 1);
            let stamps = (1_000 + 1_000 * u32::from(n), 0);
            talk.segments.push(match stamped {
                true => syn.stamps(stamps.0, stamps.1),
                false => syn,
            });
        }
        let talk = (0..4_u16).fold(talk, |talk, n| talk.synack(0.0001 + f64::from(n) * 0.00002));
        let (analysis, _) = analyze(&talk.ack(0.02).rest(0.021).segments);
        nothing_lost(&analysis);
        assert_eq!(analysis.outcomes.held, 1);
        assert_eq!(analysis.outcomes.repeats.held, 3);
        let expected = if stamped { 3.0 } else { 0.0 };
        assert!((analysis.outcomes.held_s - expected).abs() < 1e-3);
        assert_eq!(analysis.waiting.handshake_s, 0.0);
        finds!(analysis, Finding::HeldUp(_));
    }
}

/// The server answers before the last of the SYNs that were held up has passed: by timestamp or IP identification, these are
/// no copies.
#[test]
fn syns_that_were_held_up_and_answered_before_the_last() {
    for (stamped, data) in [(true, false), (true, true), (false, false), (false, true)] {
        let syn = |talk: Talk, n: u16| {
            let mut talk = talk.syn(3.0 + f64::from(n) * 0.003);
            let syn = talk.segments.pop().unwrap().id(n + 1);
            talk.segments.push(match stamped {
                true => syn.stamps(1_000 + 1_000 * u32::from(n), 0),
                false => syn,
            });
            talk
        };
        let own = |talk: Talk, value, echo| match stamped {
            true => talk.stamps(value, echo),
            false => talk,
        };
        let talk = own(syn(talk(), 0).synack(3.0005), 7_000, 1_000);
        let talk = own(talk.ack(3.001), 3_001, 7_000);
        let talk = match data {
            true => own(talk.client(3.0012, |s| s.payload(100).id(8)), 3_001, 7_000),
            false => talk,
        };
        let talk = syn(syn(talk, 1), 2);
        let talk = talk.server(3.0062, |s| s.ack(1_101).payload(5));
        let talk = own(own(talk, 7_005, 3_001).synack(3.0065), 7_006, 1_000);
        let talk = own(talk.synack(3.0095), 7_009, 1_000);
        let (analysis, _) = analyze(&talk.segments);
        nothing_lost(&analysis);
        let outcomes = &analysis.outcomes;
        assert_eq!((outcomes.held, outcomes.repeats.held), (1, 2), "{outcomes:?}");
        assert_eq!(repeats(&analysis), [0; 5]);
        let expected = if stamped { 1.994 } else { 0.0 };
        assert!((outcomes.held_s - expected).abs() < 1e-6, "{outcomes:?}");
        let copies = analysis.handshakes.capture_duplicates;
        assert_eq!((copies.syn, copies.synack), (0, 0));
        assert_eq!(analysis.waiting.handshake_s, 0.0);
    }
}

/// SYN/ACKs held up together; their timestamps show that the first was under way when the client sent again.
#[test]
fn synacks_that_were_held_up() {
    let syns = [(0.0, 100), (1.0, 1_100), (3.0, 3_100)];
    let talk = syns.into_iter().fold(talk(), |talk, (at, stamp)| talk.syn(at).stamps(stamp, 0));
    let talk = [0, 1_000, 3_000_u32].into_iter().fold(talk, |talk, ms| {
        let at = 3.5 + f64::from(ms) * 1e-8;
        talk.synack(at).stamps(7_000 + ms, 100)
    });
    let (analysis, _) = analyze(&talk.ack(3.501).stamps(3_601, 10_000).segments);
    nothing_lost(&analysis);
    assert_eq!(repeats(&analysis), [0, 2, 0, 0, 0]);
    assert_eq!(analysis.waiting.handshake_s, 0.0);
}

/// Three answers that come together answer three SYNs: no timer repeats a SYN/ACK at once.
#[test]
fn answers_that_were_held_up() {
    let talk = [0.0, 1.0, 3.0].into_iter().fold(talk(), Talk::syn);
    let talk = [3.2, 3.200_05, 3.200_1].into_iter().fold(talk, Talk::synack);
    let (analysis, _) = analyze(&talk.ack(3.23).rest(3.231).segments);
    nothing_lost(&analysis);
    assert_eq!(analysis.outcomes.late, 1);
}

/// Two that come together are a loss only if the first took as long as a round trip does: the answer to the second SYN, and
/// one by the server's timer.
#[test]
fn two_answers_together() {
    for (answered, data, lost) in [
        (1.2, true, 0),
        (1.9, true, 0),
        (1.02, true, 1),
        (1.03, true, 1),
        // Without a round trip to compare with, the cause is unknown.
        (1.2, false, 0),
        (1.02, false, 0),
    ] {
        let talk = talk().syn(0.0).syn(1.0).synack(answered);
        let talk = talk.synack(answered + 0.000_05).ack(answered + 0.03);
        let talk = match data {
            true => talk.rest(answered + 0.031),
            false => talk,
        };
        let (analysis, _) = analyze(&talk.segments);
        let outcomes = &analysis.outcomes;
        let found = (outcomes.with_loss, outcomes.repeats.lost, outcomes.late);
        assert_eq!(found, (lost, lost, 1 - lost), "{answered} {data}");
        assert_eq!(analysis.waiting.loss_s, lost as f64);
    }
}

/// A timer shorter than 20 ms, as `gentle rexmit` may learn on a near path: the timestamps show that nothing was held up.
#[test]
fn a_timer_of_a_few_milliseconds() {
    let stamped = |talk: Talk, at: f64, value: u32| talk.syn(at).stamps(value, 0);
    let talk = stamped(stamped(talk(), 0.0, 1_000), 0.015, 1_015);
    let talk = talk.synack(0.0152).stamps(7_000, 1_015);
    let (analysis, _) = analyze(&talk.ack(0.0153).stamps(1_015, 7_000).rest(0.0154).segments);
    assert_eq!(analysis.outcomes.held, 0);
    assert_eq!(analysis.outcomes.repeats.held, 0);
    assert_eq!(repeats(&analysis)[0] + repeats(&analysis)[3], 1);
}
