//! Copies made by the capture or a switch, and retransmissions that are none.

use super::{nothing_lost, real};
use crate::frames::{SYN, Segment};
use crate::talk::{Talk, analyze, repeats, talk};

/// Copies of handshake packets, however late they are.
#[test]
fn copies_of_handshake_packets() {
    let copied = |talk: Talk, number: usize, us: u64, ttl: u8| {
        let talk = talk.rest(0.06);
        let copy = talk.segments[number].again(us).ttl(ttl);
        let mut segments = talk.segments;
        segments.push(copy);
        let (analysis, _) = analyze(&segments);
        nothing_lost(&analysis);
        assert_eq!(repeats(&analysis), [0; 5], "{number} {us}");
        let copies = analysis.handshakes.capture_duplicates;
        assert_eq!(copies.syn + copies.synack, 1, "{number} {us}");
    };
    let bare = || talk().syn(0.0).synack(0.02).ack(0.05);
    let stamped = || {
        let talk = talk().syn(0.0).stamps(100, 0).synack(0.02);
        talk.stamps(7_000, 100).ack(0.05).stamps(150, 7_000)
    };
    for talk in [bare, stamped] {
        // A SYN, a SYN/ACK: soon; after the ACK; after data, of client or server.
        for (number, us) in [(0, 4_000), (0, 55_000), (0, 300_000), (1, 255), (1, 6_000), (1, 90_000)] {
            copied(talk(), number, us, 60);
            copied(talk(), number, us, 58);
        }
    }
    // Within a tick of a slow clock, by another path.
    let slow = stamped();
    let copy = slow.segments[1].again(25_000).ttl(59);
    let mut segments = slow.segments;
    segments.push(copy);
    let (analysis, _) = analyze(&segments);
    assert_eq!(analysis.handshakes.capture_duplicates.synack, 1);
    for (name, syns, synacks) in [("copy-syn-after-ack-mirror.pcap", 3, 3), ("copy-synack-4.7ms-timestamps.pcap", 1, 1)]
    {
        let (analysis, _) = real(name);
        nothing_lost(&analysis);
        let copies = analysis.handshakes.capture_duplicates;
        assert_eq!((copies.syn, copies.synack), (syns, synacks), "{name}");
        assert_eq!(analysis.outcomes.deferred, 0, "{name}");
    }
}

/// Retransmissions as early as timers allow are no copies, nor is a SYN/ACK that answers another SYN.
#[test]
fn early_retransmissions_are_no_copies() {
    for gap in [0.021, 0.2] {
        let talk = talk().syn(0.0).syn(gap).synack(gap + 0.01).ack(gap + 0.011);
        let (analysis, _) = analyze(&talk.segments);
        assert_eq!(repeats(&analysis), [1, 0, 0, 0, 0], "{gap}");
    }
    // Another identification.
    let syn = |at| Segment::client(at, SYN).seq(1_000);
    let (analysis, _) = analyze(&[syn(0.0).id(4), syn(0.03).id(5)]);
    assert_eq!(analysis.handshakes.capture_duplicates.syn, 0);
    let equal = |at| syn(at).id(4).stamps(9, 0);
    let (analysis, _) = analyze(&[equal(0.0), equal(0.09)]);
    assert_eq!(analysis.handshakes.capture_duplicates.syn, 1);
}

/// Copies up to 90 ms late, some after the acknowledgement and newer data: nobody waited for them.
#[test]
fn late_copies_of_data() {
    for (bare, ms) in [true, false].into_iter().flat_map(|bare| {
        let times = [0.5, 4.0, 15.0, 30.0, 45.0, 60.0, 90.0];
        times.map(|ms| (bare, ms))
    }) {
        let clean = talk().clean(0.0).segments;
        let original = clean.iter().enumerate().map(|(n, segment)| match bare {
            true => segment.clone(),
            false => segment.clone().id(n as u16 + 1),
        });
        let original: Vec<Segment> = original.collect();
        for number in 3..original.len() {
            let mut segments = original.clone();
            segments.push(original[number].again((ms * 1e3) as u64));
            let (analysis, _) = analyze(&segments);
            nothing_lost(&analysis);
            assert_eq!(analysis.waiting.data_s, 0.0, "{number} {ms}");
        }
    }
    // Sent again by a timer, after newer data had been lost, or when the acknowledgement did not come.
    let request = || talk().syn(0.0).synack(0.02).ack(0.05).client(0.06, |s| s.payload(100));
    for (talk, waited) in [
        (request().client(0.26, |s| s.payload(100)), 0.2),
        (request().client(0.12, |s| s.payload(100)), 0.06),
        (request().client(0.061, |s| s.seq(1_101).payload(100)).client(0.1, |s| s.payload(100)), 0.04),
        // A timer sends all again, the second segment soon after it was sent.
        (
            request()
                .client(0.359, |s| s.seq(1_101).payload(100))
                .client(0.36, |s| s.payload(100))
                .client(0.361, |s| s.seq(1_101).payload(100)),
            0.301,
        ),
        (request().server(0.08, |s| s.ack(1_101)).client(0.261, |s| s.payload(100)), 0.201),
    ] {
        let (analysis, _) = analyze(&talk.segments);
        assert!((analysis.waiting.data_s - waited).abs() < 1e-6, "{:?}", analysis.waiting);
        assert!(analysis.retransmissions.retransmitted > 0);
        assert_eq!(analysis.handshakes.capture_duplicates.other, 0);
    }
}
