//! Learned delays and their effects.

use crate::packets::{ACK, FIN, NONE, SYN, Segment, Wire, config, timestamps};
use gentle_rexmit::{Config, Direction, Timing};
use gentle_units::Nanos;

fn learning() -> Config {
    Config { timing: Timing { jitter_percent: 0, ..Timing::LEARNED }, ..config() }
}

/// Performs a handshake with this round-trip time on a new port; returns the times of copies.
fn handshake(wire: &mut Wire, port: u16, rtt_ms: u64) -> Vec<u64> {
    let syn = Segment::syn(port);
    wire.out(&syn.frame());
    let copies = wire.wait_ms(rtt_ms);
    wire.arrives(&syn.answer(SYN | ACK).frame());
    copies
}

#[test]
fn a_path_of_10_ms_recovers_in_less_than_60() {
    let mut wire = Wire::new(learning());
    for port in 1..=20 {
        assert_eq!(handshake(&mut wire, port, 10), NONE);
        wire.wait_ms(100);
    }
    wire.out(&Segment::syn(99).frame());
    let copies = wire.wait_ms(60_000);
    // First copy, plus 10 ms for its answer; the delay of each later one doubles.
    assert_eq!(copies, [20, 60, 140]);
}

#[test]
fn a_satellite_path_has_no_spurious_copy() {
    let mut wire = Wire::new(learning());
    for port in 1..=50 {
        let rtt = 600 + u64::from(port % 7) * 10;
        assert_eq!(handshake(&mut wire, port, rtt), NONE, "{port}");
        wire.wait_ms(1_000);
    }
    assert_eq!(wire.core.counters().copies, 0);
    assert_eq!(wire.core.counters().answered, 50);
}

#[test]
fn a_path_longer_than_the_first_delay_is_learned_all_the_same() {
    let mut wire = Wire::new(learning());
    assert_eq!(handshake(&mut wire, 1, 900), [800]);
    // Nothing is known, so the delay is doubled; the next handshake time is certain.
    assert_eq!(handshake(&mut wire, 2, 900), NONE);
    assert_eq!(wire.core.paths(wire.now).len(), 1);
    assert_eq!(handshake(&mut wire, 3, 900), NONE);
}

/// Core of a client that has learned a path of 40 ms.
fn of_40_ms() -> Wire {
    let mut wire = Wire::new(learning());
    for port in 1..=20 {
        handshake(&mut wire, port, 40);
    }
    wire
}

#[test]
fn a_path_that_has_become_longer_is_noticed() {
    let mut wire = of_40_ms();
    // 40 ms plus 10 ms of granularity: the answer comes 10 ms after the copy, too soon to be an answer to it.
    assert_eq!(handshake(&mut wire, 21, 60), [50]);
    assert_eq!(wire.core.counters().spurious, 1);
    assert_eq!(handshake(&mut wire, 22, 60), NONE);
}

#[test]
fn a_second_answer_shows_that_the_copy_was_spurious() {
    let mut wire = of_40_ms();
    assert_eq!(handshake(&mut wire, 21, 95), [50]);
    assert_eq!(wire.core.counters().spurious, 0);
    wire.wait_ms(50);
    wire.arrives(&Segment::syn(21).answer(SYN | ACK).frame());
    assert_eq!(wire.core.counters().spurious, 1);
    // The time is learned: mean 47 ms, deviation 14 ms.
    assert_eq!(wire.core.paths(wire.now)[0].samples, 21);
    assert_eq!(handshake(&mut wire, 22, 95), NONE);
    assert_eq!((wire.core.counters().rescued, wire.core.counters().saved_ms), (0, 0));
}

#[test]
fn a_second_answer_to_a_synack_does_too() {
    let mut wire = Wire::new(learning());
    let synack = |port| Segment { flags: SYN | ACK, ..Segment::syn(port) };
    for port in 1..=20 {
        wire.out(&synack(port).frame());
        wire.wait_ms(40);
        wire.arrives(&synack(port).answer(ACK).frame());
    }
    wire.out(&synack(21).frame());
    assert_eq!(wire.wait_ms(95), [50]);
    let answer = synack(21).answer(ACK);
    wire.arrives(&answer.frame());
    // Data is no second answer, nor is an acknowledgement of later data from the server, nor the end of the connection.
    let data = Segment { data: b"GET /".to_vec(), ..answer.clone() };
    wire.arrives(&data.frame());
    let later = Segment { ack: answer.ack + 100, ..answer.clone() };
    wire.arrives(&later.frame());
    let end = Segment { flags: FIN | ACK, ..answer.clone() };
    wire.arrives(&end.frame());
    assert_eq!(wire.core.counters().spurious, 0);
    wire.wait_ms(50);
    wire.arrives(&answer.frame());
    assert_eq!(wire.core.counters().spurious, 1);
}

#[test]
fn a_rescue_counts_when_the_next_handshake_finds_the_path_as_fast_as_before() {
    let mut wire = of_40_ms();
    let before = wire.core.paths(wire.now);
    // 40 ms after the copy: the handshake time of the path.
    assert_eq!(handshake(&mut wire, 21, 90), [50]);
    wire.wait_ms(10_000);
    assert_eq!(wire.core.paths(wire.now), before);
    let c = wire.core.counters();
    assert_eq!((c.answered_after_copy, c.rescued, c.spurious, c.saved_ms), (1, 0, 0, 0));
    assert_eq!(c.saved_undecided_ms, 950);
    assert_eq!(handshake(&mut wire, 22, 40), NONE);
    let c = wire.core.counters();
    assert_eq!((c.rescued, c.spurious, c.saved_ms), (1, 0, 950));
    assert_eq!(c.saved_undecided_ms, 0);
}

#[test]
fn it_does_not_count_when_the_next_handshake_takes_as_long() {
    let mut wire = of_40_ms();
    assert_eq!(handshake(&mut wire, 21, 90), [50]);
    wire.wait_ms(10_000);
    // The delay remains doubled until a time is certain (RFC 6298, 5.5 to 5.7).
    assert_eq!(handshake(&mut wire, 22, 90), NONE);
    let c = wire.core.counters();
    assert_eq!((c.rescued, c.spurious, c.saved_ms), (0, 1, 0));
    assert_eq!(handshake(&mut wire, 23, 90), NONE);
}

#[test]
fn what_comes_later_than_an_answer_to_the_copy_is_never_saved() {
    let mut wire = of_40_ms();
    // 150 ms after the copy.
    assert_eq!(handshake(&mut wire, 21, 149), [50]);
    wire.wait_ms(10_000);
    handshake(&mut wire, 22, 40);
    let c = wire.core.counters();
    assert_eq!((c.answered_after_copy, c.rescued, c.saved_ms), (1, 0, 0));
}

#[test]
fn a_delay_grows_while_it_waits_if_others_are_answered_late() {
    let mut wire = of_40_ms();
    // Handshake 21 is 40 ms older and is answered before the copy of 22 is due.
    wire.out(&Segment::syn(21).frame());
    wire.wait_ms(40);
    wire.out(&Segment::syn(22).frame());
    assert_eq!(wire.wait_ms(15), [10]);
    wire.arrives(&Segment::syn(21).answer(SYN | ACK).frame());
    assert_eq!(wire.core.counters().spurious, 1);
    assert_eq!(wire.wait_ms(38), NONE);
    wire.arrives(&Segment::syn(22).answer(SYN | ACK).frame());
    assert_eq!(wire.core.counters().copies, 1);
}

/// Path of two seconds: the stack retransmits every SYN, and only timestamps show which one was answered.
#[test]
fn a_timestamp_tells_which_packet_was_answered() {
    let with = |port, value| Segment { options: timestamps(value, 0), ..Segment::syn(port) };
    let answer = |port, echo| Segment { options: timestamps(9, echo), ..Segment::syn(port).answer(SYN | ACK) };
    let mut wire = Wire::new(Config { copies: 0, ..learning() });
    let open = |wire: &mut Wire, port, echo| {
        wire.out(&with(port, 100).frame());
        wire.wait_ms(1_000);
        wire.out(&with(port, 1_100).frame());
        wire.wait_ms(1_000);
        wire.arrives(&answer(port, echo).frame());
        wire.core.paths(wire.now).first().map(|path| (path.srtt_us, path.samples))
    };
    assert_eq!(open(&mut wire, 1, 7), None);
    assert_eq!(open(&mut wire, 2, 100), Some((2_000_000, 1)));
    assert_eq!(open(&mut wire, 3, 1_100), Some((1_875_000, 2)));
}

/// R2: SYN and answer are read together by a process that was suspended, without kernel timestamps.
#[test]
fn nothing_is_learned_from_times_that_are_not_the_kernel_s() {
    let mut wire = of_40_ms();
    let before = wire.core.paths(wire.now);
    for port in 21..=60 {
        let syn = Segment::syn(port);
        wire.untimed(Direction::Out, &syn.frame());
        wire.untimed(Direction::In, &syn.answer(SYN | ACK).frame());
    }
    assert_eq!(wire.core.paths(wire.now), before);
    assert_eq!(handshake(&mut wire, 61, 40), NONE);
}

#[test]
fn what_was_missed_may_have_been_the_answer() {
    let mut wire = of_40_ms();
    wire.out(&Segment::syn(21).frame());
    wire.wait_ms(10);
    wire.core.missed(wire.now);
    assert_eq!(wire.wait_ms(60_000), NONE);
    assert_eq!(wire.core.counters().held_by_missed, 3);
    assert_eq!(handshake(&mut wire, 22, 60), [50]);
}

#[test]
fn a_server_learns_of_its_clients() {
    let mut wire = Wire::new(learning());
    for port in 1..=20 {
        let synack = Segment { flags: SYN | ACK, ..Segment::syn(port) };
        wire.out(&synack.frame());
        wire.wait_ms(30);
        wire.arrives(&synack.answer(ACK).frame());
    }
    let paths = wire.core.paths(wire.now);
    assert_eq!(paths.len(), 1);
    assert_eq!((paths[0].srtt_us, paths[0].samples), (30_000, 20));
}

#[test]
fn a_dry_run_sends_nothing_and_tells_what_it_would_have_saved() {
    let mut wire = Wire::new(Config { dry_run: true, ..learning() });
    for port in 1..=20 {
        handshake(&mut wire, port, 10);
    }
    // The stack rescues this one itself, after a second; a copy would have been sent after 20 ms.
    let syn = Segment::syn(99);
    wire.out(&syn.frame());
    wire.wait_ms(1_000);
    wire.out(&syn.frame());
    wire.wait_ms(10);
    wire.arrives(&syn.answer(SYN | ACK).frame());
    assert_eq!(wire.core.counters().saved_ms, 0);
    // No second answer followed, and the next handshake finds the path as fast as before.
    wire.wait_ms(2_000);
    handshake(&mut wire, 98, 10);
    assert_eq!(wire.core.counters().saved_ms, 980);
    // This one was not lost.
    handshake(&mut wire, 100, 25);
    assert_eq!(wire.core.counters().spurious, 1);
}

#[test]
fn what_was_learned_can_be_taken_along() {
    let mut first = Wire::new(learning());
    handshake(&mut first, 1, 10);
    let mut second = Wire::new(learning());
    second.now = first.now + Nanos::from_secs(60);
    second.core.restore(second.now, first.core.paths(first.now));
    second.out(&Segment::syn(2).frame());
    // 10 ms plus four times 5.
    assert_eq!(second.wait_ms(50), [30]);
}
