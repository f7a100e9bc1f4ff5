//! What is learned, and what it does.

use crate::packets::{ACK, NONE, SYN, Segment, Wire, config};
use gentle_rexmit::{Config, Timing};
use gentle_units::Nanos;

fn learning() -> Config {
    Config {
        timing: Timing {
            jitter_percent: 0,
            ..Timing::LEARNED
        },
        ..config()
    }
}

/// A handshake that takes so long, on a new port; when copies were sent.
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
    // The first copy, and 10 ms for its answer; each later one waits twice as long.
    assert_eq!(copies, [20, 60, 140]);
}

#[test]
fn a_satellite_path_has_no_unneeded_copy() {
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
    // Nothing is known, so the delay is doubled; then the handshake time is.
    assert_eq!(handshake(&mut wire, 2, 900), NONE);
    assert_eq!(wire.core.paths(wire.now).len(), 1);
    assert_eq!(handshake(&mut wire, 3, 900), NONE);
}

#[test]
fn a_path_that_has_become_longer_is_noticed() {
    let mut wire = Wire::new(learning());
    for port in 1..=20 {
        handshake(&mut wire, port, 40);
    }
    // 40 ms and 10 ms of granularity: the answer comes 10 ms behind the copy, too soon to be one to it.
    assert_eq!(handshake(&mut wire, 21, 60), [50]);
    assert_eq!(wire.core.counters().unneeded, 1);
    assert_eq!(handshake(&mut wire, 22, 60), NONE);
}

#[test]
fn an_answer_behind_a_copy_teaches_nothing() {
    let mut wire = Wire::new(learning());
    for port in 1..=20 {
        handshake(&mut wire, port, 40);
    }
    let before = wire.core.paths(wire.now);
    assert_eq!(handshake(&mut wire, 21, 90), [50]);
    let after = wire.core.paths(wire.now);
    assert_eq!(before, after);
    let c = wire.core.counters();
    assert_eq!((c.answered_after_copy, c.unneeded, c.saved_ms), (1, 0, 950));
}

#[test]
fn a_server_learns_of_its_clients() {
    let mut wire = Wire::new(learning());
    for port in 1..=20 {
        let synack = Segment {
            flags: SYN | ACK,
            ..Segment::syn(port)
        };
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
    let mut wire = Wire::new(Config {
        dry_run: true,
        ..learning()
    });
    for port in 1..=20 {
        handshake(&mut wire, port, 10);
    }
    // The stack saves this one itself, after a second; a copy would have gone after 20 ms.
    let syn = Segment::syn(99);
    wire.out(&syn.frame());
    wire.wait_ms(1_000);
    wire.out(&syn.frame());
    wire.wait_ms(10);
    wire.arrives(&syn.answer(SYN | ACK).frame());
    assert_eq!(wire.core.counters().saved_ms, 980);
    // And this one was never lost.
    handshake(&mut wire, 100, 25);
    assert_eq!(wire.core.counters().unneeded, 1);
}

#[test]
fn what_was_learned_can_be_taken_along() {
    let mut first = Wire::new(learning());
    handshake(&mut first, 1, 10);
    let mut second = Wire::new(learning());
    second.now = first.now + Nanos::from_secs(60);
    second.core.restore(second.now, first.core.paths(first.now));
    second.out(&Segment::syn(2).frame());
    // 10 ms and four times 5.
    assert_eq!(second.wait_ms(50), [30]);
}
