//! Copies that are sent, and events that end them.

use crate::packets::{ACK, FIN, NONE, RST, SYN, Segment, Wire, config, ethernet, icmp_error};
use gentle_rexmit::{Config, Counters, Selection, Vlan};
use gentle_units::Nanos;
use gentle_wire::TcpFlags;
use proptest::prelude::*;

/// Wait after which no more copies follow, milliseconds.
const LONG: u64 = 60_000;

fn counters(wire: &Wire) -> Counters {
    wire.core.counters()
}

#[test]
fn the_papers_call_sends_three_copies_evenly() {
    let mut wire = Wire::new(config());
    let syn = Segment::syn(40_000).frame();
    wire.out(&syn);
    let sent = wire.wait(Nanos::from_millis(LONG));
    let expected: Vec<_> = [200, 400, 600].map(|at| (at, syn.clone())).to_vec();
    assert_eq!(sent, expected);
    assert_eq!((counters(&wire).copies, counters(&wire).unanswered), (3, 1));
    assert_eq!((wire.core.pending(), wire.core.next_deadline()), (0, None));
}

#[test]
fn an_answer_ends_it() {
    for v6 in [false, true] {
        for side in [SYN, SYN | ACK] {
            let opening = Segment { v6, flags: side, ..Segment::syn(40_000) };
            let answer = opening.answer(if side == SYN { SYN | ACK } else { ACK });
            let mut wire = Wire::new(config());
            wire.out(&opening.frame());
            assert_eq!(wire.wait_ms(250), [200]);
            wire.arrives(&answer.frame());
            assert_eq!(wire.wait_ms(LONG), NONE);
            let c = counters(&wire);
            assert_eq!((c.answered_after_copy, c.unanswered), (1, 0), "{v6} {side:?}");
            // Nothing is known of the path, so nothing shows that the packet was lost.
            assert_eq!((c.rescued, c.saved_ms), (0, 0));
        }
    }
}

#[test]
fn what_does_not_fit_is_no_answer() {
    let syn = Segment::syn(40_000);
    let answer = syn.answer(SYN | ACK);
    let others = [
        Segment { ack: answer.ack + 1, ..answer.clone() },
        Segment { ack: answer.ack - 1, ..answer.clone() },
        Segment { ports: (80, 40_001), ..answer.clone() },
        Segment { hosts: (3, 1), ..answer.clone() },
        // ACK without SYN: the challenge ACK of a server that has an old connection with these ports.
        Segment { flags: ACK, ..answer.clone() },
    ];
    for other in others {
        let mut wire = Wire::new(config());
        wire.out(&syn.frame());
        wire.arrives(&other.frame());
        assert_eq!(wire.wait_ms(LONG), [200, 400, 600], "{other:?}");
    }
    // Outgoing instead of incoming.
    let mut wire = Wire::new(Config { selection: Selection { client: true, ..Selection::default() }, ..config() });
    wire.out(&syn.frame());
    wire.out(&answer.frame());
    assert_eq!(wire.wait_ms(LONG), [200, 400, 600]);
}

#[test]
fn data_of_the_client_answers_a_synack_too() {
    let synack = Segment { flags: SYN | ACK, ..Segment::syn(40_000) };
    let mut wire = Wire::new(config());
    wire.out(&synack.frame());
    let request = Segment { data: b"GET /".to_vec(), ..synack.answer(ACK | TcpFlags::PSH) };
    wire.arrives(&request.frame());
    assert_eq!(wire.wait_ms(LONG), NONE);
    assert_eq!(counters(&wire).answered, 1);
}

#[test]
fn a_reset_that_arrives_ends_it() {
    let syn = Segment::syn(40_000);
    let mut wire = Wire::new(config());
    wire.out(&syn.frame());
    wire.arrives(&syn.answer(RST | ACK).frame());
    assert_eq!(wire.wait_ms(LONG), NONE);
    assert_eq!(counters(&wire).resets, 1);
}

/// R3: packets of the host itself show that the connection is open or over although no answer has been seen.
#[test]
fn what_the_opening_end_sends_next_ends_it() {
    let syn = Segment::syn(40_000);
    let next =
        |flags, data: &[u8]| Segment { seq: syn.seq + 1, ack: 77_001, flags, data: data.to_vec(), ..syn.clone() };
    for (sent, answered) in [
        (next(ACK, b""), 1),
        (next(ACK | FIN, b""), 1),
        (next(ACK | FIN, b"GET /"), 1),
        (next(RST | ACK, b""), 0),
        (next(RST, b""), 0),
    ] {
        let mut wire = Wire::new(config());
        wire.out(&syn.frame());
        wire.wait_ms(30);
        wire.out(&sent.frame());
        assert_eq!(wire.wait_ms(LONG), NONE, "{sent:?}");
        let c = counters(&wire);
        assert_eq!((c.answered_unseen, c.abandoned), (answered, 1 - answered));
        assert_eq!((c.answered, c.resets, c.unanswered), (0, 0, 0));
        // The ACK follows the answer immediately.
        let learned = wire.core.paths(wire.now).first().map(|path| path.srtt_us);
        assert_eq!(learned, (answered == 1).then_some(30_000), "{sent:?}");
    }
    // A late segment of an older connection with the same ports does not count.
    let mut wire = Wire::new(config());
    wire.out(&syn.frame());
    wire.out(&Segment { seq: syn.seq, ..next(ACK, b"") }.frame());
    assert_eq!(wire.wait_ms(LONG), [200, 400, 600]);
}

#[test]
fn what_a_server_sends_next_ends_its_synack() {
    let synack = Segment { flags: SYN | ACK, ..Segment::syn(40_000) };
    let mut wire = Wire::new(config());
    wire.out(&synack.frame());
    wire.wait_ms(90);
    let next = Segment { seq: synack.seq + 1, flags: ACK, ..synack };
    wire.out(&next.frame());
    assert_eq!(wire.wait_ms(LONG), NONE);
    assert_eq!(counters(&wire).answered_unseen, 1);
    // The packet may have waited for a request: nothing is learned.
    assert_eq!(wire.core.paths(wire.now), []);
}

#[test]
fn an_icmp_error_that_quotes_the_packet_ends_it() {
    for v6 in [false, true] {
        let syn = Segment { v6, ..Segment::syn(40_000) };
        let other = Segment { seq: syn.seq + 1, ..syn.clone() };
        // RFC 792: the IP header and eight bytes suffice.
        let (header, unreachable) = if v6 { (40, 1) } else { (20, 3) };
        let mut wire = Wire::new(config());
        wire.out(&syn.frame());
        wire.arrives(&icmp_error(&other, unreachable, 200));
        wire.arrives(&icmp_error(&syn, unreachable, header + 7));
        wire.arrives(&icmp_error(&syn, 129, 200));
        assert_eq!(wire.core.pending(), 1);
        wire.arrives(&icmp_error(&syn, unreachable, header + 8));
        assert_eq!(wire.wait_ms(LONG), NONE);
        assert_eq!(counters(&wire).undeliverable, 1);
    }
}

#[test]
fn the_stacks_own_retransmission_ends_the_copies() {
    let syn = Segment::syn(40_000).frame();
    let mut wire = Wire::new(config());
    wire.out(&syn);
    assert_eq!(wire.wait_ms(300), [200]);
    wire.out(&syn);
    // Later retransmissions, at doubling intervals, do not count as new handshakes.
    for wait in [2_000, 4_000, 8_000, 16_000, 32_000] {
        assert_eq!(wire.wait_ms(wait), NONE);
        wire.out(&syn);
    }
    let c = counters(&wire);
    assert_eq!((c.syns, c.copies, c.stack_retransmissions), (1, 1, 1));
}

#[test]
fn another_sequence_number_is_another_handshake() {
    let syn = Segment::syn(40_000);
    let mut wire = Wire::new(config());
    wire.out(&syn.frame());
    wire.wait_ms(100);
    let second = Segment { seq: 5, ..syn }.frame();
    wire.out(&second);
    let sent = wire.wait(Nanos::from_millis(LONG));
    assert!(sent.iter().all(|(_, bytes)| *bytes == second));
    assert_eq!(sent.len(), 3);
}

#[test]
fn only_what_is_selected_is_watched() {
    let only = |selection: Selection| Config { selection, ..config() };
    let (syn, synack) = (Segment::syn(40_000), Segment { flags: SYN | ACK, ports: (80, 40_000), ..Segment::syn(0) });
    let client = Selection { client: true, ports: vec!["80".parse().expect("a port")], ..Selection::default() };
    let server = Selection { client: false, server: true, ..client.clone() };
    let prefix = |text: &str| vec![text.parse().expect("a prefix")];
    for (selection, expected) in [
        (client.clone(), (1, 0)),
        (server, (0, 1)),
        (Selection { ports: vec!["81".parse().expect("a port")], ..client.clone() }, (0, 0)),
        (Selection { only: prefix("198.51.100.0/24"), ..client.clone() }, (0, 0)),
        (Selection { except: prefix("192.0.2.2/32"), ..client.clone() }, (0, 0)),
        (Selection { only: prefix("192.0.2.2/32"), ..client }, (1, 0)),
    ] {
        let mut wire = Wire::new(only(selection.clone()));
        wire.out(&syn.frame());
        wire.out(&synack.frame());
        // Incoming packets are never copied.
        wire.arrives(&Segment::syn(50_000).frame());
        let c = counters(&wire);
        assert_eq!((c.syns, c.synacks), expected, "{selection:?}");
    }
}

#[test]
fn a_packet_with_data_is_left_alone_unless_asked_for() {
    let syn = Segment { data: b"hello".to_vec(), ..Segment::syn(40_000) };
    let mut wire = Wire::new(config());
    wire.out(&syn.frame());
    assert_eq!((wire.wait_ms(LONG), counters(&wire).with_data), (vec![], 1));
    let with_data = || Wire::new(Config { with_data: true, ..config() });
    // A server may accept the data, or only the SYN (RFC 7413).
    for ack in [syn.seq + 6, syn.seq + 1] {
        let mut wire = with_data();
        wire.out(&syn.frame());
        assert_eq!(wire.wait_ms(250), [200]);
        wire.arrives(&Segment { ack, ..syn.answer(SYN | ACK) }.frame());
        assert_eq!(wire.wait_ms(LONG), NONE);
    }
}

#[test]
fn a_syn_that_asks_for_ecn_or_for_a_cookie_goes_on_asking() {
    // ECE and CWR (RFC 3168, section 6.1.1); an empty Fast Open option (RFC 7413, section 4.1.1).
    let cookie = vec![34, 2, 1, 1];
    for (flags, options) in [(SYN | TcpFlags::ECE | TcpFlags::CWR, Vec::new()), (SYN, cookie)] {
        let syn = Segment { flags, options, ..Segment::syn(40_000) };
        let mut wire = Wire::new(config());
        wire.out(&syn.frame());
        let sent = wire.wait(Nanos::from_millis(LONG));
        assert_eq!(sent, [200, 400, 600].map(|ms| (ms, syn.frame())));
    }
}

#[test]
fn a_damaged_or_absurd_packet_is_not_copied() {
    let syn = Segment::syn(40_000);
    let mut wrong = syn.frame();
    wrong[14 + 20 + 14] ^= 1;
    let absurd = Segment { flags: SYN | FIN, ..syn.clone() };
    let mut wire = Wire::new(config());
    wire.out(&wrong);
    wire.out(&absurd.frame());
    wire.out(&syn.frame()[..40]);
    assert_eq!(wire.wait_ms(LONG), NONE);
    let c = counters(&wire);
    assert_eq!((c.not_copied, c.malformed, c.syns), (1, 2, 0));
}

#[test]
fn a_duplicate_comes_on_top() {
    let mut wire = Wire::new(Config { duplicate: Some(Nanos::from_millis(5)), ..config() });
    wire.out(&Segment::syn(40_000).frame());
    assert_eq!(wire.wait_ms(LONG), [5, 200, 400, 600]);
    wire.out(&Segment::syn(40_001).frame());
    wire.arrives(&Segment::syn(40_001).answer(SYN | ACK).frame());
    assert_eq!(wire.wait_ms(LONG), NONE);
    assert_eq!((counters(&wire).duplicates, counters(&wire).copies), (1, 3));
}

#[test]
fn a_tag_that_was_taken_off_is_put_back() {
    let syn = Segment::syn(40_000).frame();
    let vlan = Vlan { tpid: 0x8100, tci: 0x2007 };
    let mut wire = Wire::new(config());
    wire.out_tagged(&syn, vlan);
    let sent = wire.wait(Nanos::from_millis(200));
    let expected = [&syn[..12], &[0x81, 0, 0x20, 7], &syn[12..]].concat();
    assert_eq!(sent, [(200, expected)]);
}

fn segments() -> impl Strategy<Value = Segment> {
    let options = prop::collection::vec(any::<[u8; 4]>(), 0..=10);
    (any::<(bool, u8, u8, u16, u32)>(), options, prop::collection::vec(any::<u8>(), 0..60)).prop_map(
        |((v6, a, b, port, seq), options, data)| Segment {
            v6,
            hosts: (a, b),
            ports: (port, 80),
            seq,
            ack: 0,
            flags: SYN,
            options: options.concat(),
            data,
        },
    )
}

proptest! {
    #[test]
    fn a_copy_is_the_packet_with_a_right_checksum(segment in segments(), partial: bool) {
        let ip = if partial { segment.ip_partial() } else { segment.ip() };
        let frame = ethernet(segment.v6, &ip);
        let mut wire = Wire::new(Config { with_data: true, ..config() });
        wire.out(&frame);
        let sent = wire.wait(Nanos::from_millis(200));
        prop_assert_eq!(sent.len(), 1);
        prop_assert_eq!(&sent[0].1, &segment.frame());
    }
}
