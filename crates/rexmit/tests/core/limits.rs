//! Invariants for any input.

use crate::packets::{ACK, FIN, RST, SYN, Segment, Wire, config};
use gentle_rexmit::{Config, Event, Limits, SHARE_BURST};
use gentle_units::{Instant, Nanos};
use gentle_wire::TcpFlags;
use proptest::prelude::*;
use std::collections::HashMap;

#[test]
fn the_table_is_full_at_its_size_and_forgets_the_oldest() {
    let mut wire = Wire::new(Config { table: 8, ..config() });
    for port in 1..=20 {
        wire.out(&Segment::syn(port).frame());
        assert!(wire.core.pending() <= 8);
    }
    assert_eq!(wire.core.counters().evicted, 12);
    let sent = wire.wait(Nanos::from_millis(200));
    let ports: Vec<u16> = sent.iter().map(|(_, bytes)| u16::from_be_bytes([bytes[34], bytes[35]])).collect();
    assert_eq!(ports, (13..=20).collect::<Vec<u16>>());
}

#[test]
fn an_outage_is_not_answered_with_a_storm() {
    let limits = Limits { per_second: 50, share_percent: 10 };
    let mut wire = Wire::new(Config { limits, give_up: 0, ..config() });
    // 20 seconds of 100 unanswered SYNs each.
    let mut by_second = Vec::new();
    for second in 0..20_u16 {
        let mut copies = 0;
        for n in 0..100 {
            wire.out(&Segment::syn(second * 100 + n).frame());
            copies += wire.wait_ms(10).len();
        }
        by_second.push(copies);
    }
    // Initially the bucket holds 50.
    assert!(by_second.iter().all(|copies| *copies <= 100), "{by_second:?}");
    let c = wire.core.counters();
    assert!(c.copies <= SHARE_BURST + 2_000 / 10, "{c:?}");
    assert!(c.copies >= 2_000 / 10, "{c:?}");
    assert!(c.held_by_share > 0 && c.held_by_rate > 0, "{c:?}");
}

#[test]
fn a_host_that_does_not_answer_is_left_alone_until_it_does() {
    let mut wire = Wire::new(Config { give_up: 2, ..config() });
    let attempt = |wire: &mut Wire, port| {
        wire.out(&Segment::syn(port).frame());
        wire.wait_ms(60_000).len()
    };
    assert_eq!(attempt(&mut wire, 1), 3);
    assert_eq!(attempt(&mut wire, 2), 3);
    assert_eq!(attempt(&mut wire, 3), 0);
    assert_eq!(wire.core.counters().held_by_silence, 3);
    // The host answers the stack's own packet.
    wire.out(&Segment::syn(4).frame());
    wire.arrives(&Segment::syn(4).answer(SYN | ACK).frame());
    assert_eq!(attempt(&mut wire, 5), 3);
}

/// R3: answers take another route, and this host resets each connection.
#[test]
fn resets_of_this_host_s_own_are_no_answers() {
    let mut wire = Wire::new(Config { give_up: 3, ..config() });
    let mut copied = Vec::new();
    for port in 1..=10 {
        let syn = Segment::syn(port);
        wire.out(&syn.frame());
        copied.push(wire.wait_ms(250).len());
        wire.out(&Segment { flags: RST, ..syn }.frame());
        assert_eq!(wire.wait_ms(60_000).len(), 0);
    }
    assert_eq!(copied, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(wire.core.counters().abandoned, 10);
}

/// Random event.
#[derive(Debug, Clone)]
struct Step {
    wait_ms: u64,
    out: bool,
    port: u16,
    seq: u32,
    flags: TcpFlags,
    answers: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let flags = prop::sample::select(vec![SYN, SYN | ACK, ACK, RST, RST | ACK, FIN | ACK]);
    let step = (0..400_u64, any::<bool>(), 0..6_u16, 0..3_u32, flags, any::<bool>())
        .prop_map(|(wait_ms, out, port, seq, flags, answers)| Step { wait_ms, out, port, seq, flags, answers });
    prop::collection::vec(step, 1..120)
}

proptest! {
    #[test]
    fn no_more_copies_than_allowed_and_none_of_what_was_not_seen(
        steps in steps(),
        copies in 0..4_u32,
        table in 1..6_usize,
        per_second in 1..40_u32,
        duplicate: bool,
    ) {
        let share_percent = 50;
        let mut wire = Wire::new(Config {
            copies,
            table,
            duplicate: duplicate.then_some(Nanos::from_millis(5)),
            limits: Limits { per_second, share_percent },
            ..config()
        });
        let start = wire.now;
        let mut openings: HashMap<Vec<u8>, u64> = HashMap::new();
        let mut copied: HashMap<Vec<u8>, u64> = HashMap::new();
        for step in steps {
            for (_, bytes) in wire.wait(Nanos::from_millis(step.wait_ms)) {
                *copied.entry(bytes).or_default() += 1;
            }
            let opening = Segment { seq: step.seq, flags: step.flags, ..Segment::syn(step.port) };
            let segment = if step.answers { opening.answer(step.flags) } else { opening };
            let frame = segment.frame();
            if step.out {
                if step.flags.any(SYN) {
                    *openings.entry(frame.clone()).or_default() += 1;
                }
                wire.out(&frame);
            } else {
                wire.arrives(&frame);
            }
            prop_assert!(wire.core.pending() <= table);
        }
        for (_, bytes) in wire.wait(Nanos::from_secs(3_600)) {
            *copied.entry(bytes).or_default() += 1;
        }
        for (frame, count) in &copied {
            let most = u64::from(copies) + u64::from(duplicate);
            prop_assert!(*count <= openings.get(frame).unwrap_or(&0) * most);
        }
        let c = wire.core.counters();
        let passed = (wire.now - start).as_secs_f64() + 1.0;
        prop_assert!(((c.copies + c.duplicates) as f64) <= f64::from(per_second) * passed);
        prop_assert!(c.copies <= SHARE_BURST + (c.syns + c.synacks) * u64::from(share_percent) / 100);
        prop_assert_eq!(copied.values().sum::<u64>(), c.copies + c.duplicates);
        // Every handshake ends exactly once.
        prop_assert_eq!(wire.core.pending(), 0);
        prop_assert!(c.answered + c.answered_after_copy + c.answered_unseen + c.resets + c.abandoned + c.unanswered + c.evicted <= c.syns + c.synacks);
    }

    #[test]
    fn any_bytes_are_looked_at_and_nothing_more(bytes in prop::collection::vec(any::<u8>(), 0..200), out: bool) {
        let mut wire = Wire::new(config());
        if out { wire.out(&bytes) } else { wire.arrives(&bytes) }
        while let Some(due) = wire.core.poll(Instant::NEVER) {
            if let Event::Copy(copy) = due {
                prop_assert_eq!(copy.bytes.len(), bytes.len());
            }
        }
    }
}
