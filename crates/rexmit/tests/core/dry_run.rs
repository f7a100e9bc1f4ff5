//! Dry runs: their numbers are those of a run that sends copies over the same path.

use crate::packets::{ACK, SYN, Segment, Wire, config, timestamps};
use crate::path::{Endpoints, PathModel, run_with};
use gentle_rexmit::{Config, Counters, Selection, Timing};
use gentle_units::{Instant, Nanos};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Interval between handshakes: the longest handshake, and the wait for its second answer, fit in.
const INTERVAL: Nanos = Nanos::from_secs(20);

/// Losses of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    Nothing,
    /// The first SYNs are lost.
    Syns(u32),
    /// The first SYN/ACK is lost.
    SynAck,
}

/// Path with a constant round-trip time that loses packets by their number in the handshake.
struct Numbered<'a> {
    round_trip: Nanos,
    losses: &'a [Loss],
    /// Number of the handshake, and of SYNs in it so far.
    at: (usize, u32),
}

impl PathModel for Numbered<'_> {
    fn round_trip(&mut self, _: Instant, _: &mut Xoshiro256PlusPlus) -> Nanos {
        self.round_trip
    }

    fn lost(&mut self, now: Instant, _: &mut Xoshiro256PlusPlus) -> (bool, bool) {
        let number = (now.0 / INTERVAL.0) as usize;
        let syns = if self.at.0 == number { self.at.1 } else { 0 };
        self.at = (number, syns + 1);
        match self.losses[number] {
            Loss::Nothing => (false, false),
            Loss::Syns(lost) => (syns < lost, false),
            Loss::SynAck => (false, syns == 0),
        }
    }
}

/// Counters after handshakes with these losses, between others without losses.
fn counters(losses: &[Loss], round_trip: Nanos, timing: Timing, timestamps: bool, dry_run: bool) -> Counters {
    let settled = [Loss::Nothing; 5];
    let losses = [&settled, losses, &settled].concat();
    let mut path = Numbered { round_trip, losses: &losses, at: (0, 0) };
    let starts: Vec<Instant> = (0..losses.len() as u64).map(|n| Instant::ZERO + Nanos(n * INTERVAL.0)).collect();
    let endpoints = Endpoints { repeats_answers: true, asymmetric: false, timestamps };
    let selection = Selection { client: true, ..Selection::default() };
    let config = Config { timing, dry_run, ..Config::new(selection) };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    run_with(config, &mut path, endpoints, &starts, &mut rng).core.counters()
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![4 => Just(Loss::Nothing), 2 => (1_u32..4).prop_map(Loss::Syns), 1 => Just(Loss::SynAck)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The dry run has the copies, rescues and time saved of the run that sends copies.
    #[test]
    fn a_dry_run_has_the_numbers_of_a_real_run(
        losses in prop::collection::vec(loss(), 1..40),
        round_trip_ms in 1_u64..150,
        learned: bool,
        timestamps: bool,
    ) {
        let timing = match learned {
            true => Timing { jitter_percent: 0, ..Timing::LEARNED },
            false => Timing::fixed(Nanos::from_millis(200)),
        };
        // A handshake without loss after each decides on it, in either run.
        let losses: Vec<Loss> = losses.into_iter().flat_map(|loss| [loss, Loss::Nothing]).collect();
        let of = |dry_run| counters(&losses, Nanos::from_millis(round_trip_ms), timing, timestamps, dry_run);
        let (real, dry) = (of(false), of(true));
        let numbers = |c: &Counters| {
            (c.syns, c.copies, c.answered, c.answered_after_copy, c.spurious)
        };
        prop_assert_eq!(numbers(&dry), numbers(&real));
        // The stack's retransmissions show more than copies do: a dry run has fewer undecided handshakes.
        prop_assert!(dry.rescued >= real.rescued, "{dry:?} {real:?}");
        let most = |c: &Counters| c.saved_ms + c.saved_undecided_ms;
        // Each time saved is rounded down.
        prop_assert!(most(&dry).abs_diff(most(&real)) <= dry.answered_after_copy, "{dry:?} {real:?}");
    }
}

/// Random losses, per mille of the SYNs and of the first SYN/ACKs. `cargo test --workspace --test core over_random --
/// --nocapture` prints the table of docs/research/rexmit.md.
#[test]
fn over_random_losses() {
    let seconds = |ms: u64| ms as f64 / 1e3;
    for (loss, syns, synacks) in [("3 % of the SYNs", 30, 0), ("3 % of the SYN/ACKs", 0, 30), ("1 % of each", 10, 10)] {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let losses: Vec<Loss> = (0..990)
            .map(|_| match (0..).take_while(|_| rng.random_range(0..1_000) < syns).count() as u32 {
                0 if rng.random_range(0..1_000) < synacks => Loss::SynAck,
                0 => Loss::Nothing,
                lost => Loss::Syns(lost),
            })
            .collect();
        let of = |dry_run| counters(&losses, Nanos::from_millis(30), Timing::LEARNED, true, dry_run);
        let (real, dry) = (of(false), of(true));
        let most = |c: &Counters| c.saved_ms + c.saved_undecided_ms;
        let saved = |c: &Counters| format!("{:.1} to {:.1} s", seconds(c.saved_ms), seconds(most(c)));
        println!("| {loss} | {} | {} | {} | {} |", real.copies, dry.copies, saved(&real), saved(&dry));
        assert!(dry.copies.abs_diff(real.copies) <= 1, "{dry:?} {real:?}");
        assert!(most(&dry).abs_diff(most(&real)) <= most(&real) / 20, "{dry:?} {real:?}");
        assert_eq!((dry.spurious, real.spurious), (0, 0));
    }
}

/// SYN/ACK to host 2 with this timestamp.
fn synack(port: u16, stamp: u32) -> Segment {
    Segment { flags: SYN | ACK, options: timestamps(stamp, 1), ..Segment::syn(port) }
}

#[test]
fn a_lost_synack_of_a_server_is_rescued() {
    let mut wire = Wire::new(Config { dry_run: true, ..config() });
    wire.out(&synack(1, 100).frame());
    assert_eq!(wire.wait_ms(1_000), [200]);
    // The timer, and an answer to the repeated SYN.
    wire.out(&synack(1, 1_100).frame());
    wire.wait_ms(5);
    let answer = Segment { options: timestamps(1, 1_100), ..synack(1, 1_100).answer(ACK) };
    wire.arrives(&answer.frame());
    let c = wire.core.counters();
    assert_eq!((c.copies, c.answered_after_copy, c.rescued, c.saved_ms), (1, 1, 1, 800));
}

/// The server's timer and the SYN that the client retransmits cause a SYN/ACK each. The first is answered.
#[test]
fn two_synacks_at_nearly_the_same_time_take_the_place_of_one_copy() {
    for (round_trip, apart) in [(40, 0), (40, 3), (40, 30), (100, 45), (2, 0), (2, 1)] {
        for stamped in [false, true] {
            let mut wire = Wire::new(Config { dry_run: true, ..config() });
            let packet = |port: u16, stamp: u32| match stamped {
                true => synack(port, stamp),
                false => Segment { flags: SYN | ACK, ..Segment::syn(port) },
            };
            let answer = |port: u16, stamp: u32| match stamped {
                true => Segment { options: timestamps(1, stamp), ..synack(port, stamp).answer(ACK) },
                false => packet(port, stamp).answer(ACK),
            };
            for port in [1, 3] {
                wire.out(&packet(port, 100).frame());
                wire.wait_ms(round_trip);
                wire.arrives(&answer(port, 100).frame());
            }
            wire.out(&packet(2, 100).frame());
            assert_eq!(wire.wait_ms(1_000), [200]);
            wire.out(&packet(2, 1_100).frame());
            wire.wait_ms(apart);
            wire.out(&packet(2, 1_100 + apart as u32).frame());
            wire.wait_ms(round_trip - apart);
            wire.arrives(&answer(2, 1_100).frame());
            // No second answer follows, and the next handshake finds the path as fast as before.
            wire.wait_ms(3_000);
            wire.out(&packet(4, 100).frame());
            wire.wait_ms(round_trip);
            wire.arrives(&answer(4, 100).frame());
            let c = wire.core.counters();
            let numbers = (c.copies, c.rescued, c.spurious, c.saved_ms);
            assert_eq!(numbers, (1, 1, 0, 800), "{round_trip} {apart} {stamped}: {c:?}");
        }
    }
}

#[test]
fn a_slow_path_is_not_a_loss() {
    // Longer than the initial RTO: the SYN and its retransmission are both answered.
    let mut wire = Wire::new(Config { dry_run: true, ..config() });
    for port in 1..=3 {
        let syn = Segment { options: timestamps(1, 0), ..Segment::syn(port) };
        let again = Segment { options: timestamps(1_001, 0), ..syn.clone() };
        let answer = Segment { options: timestamps(9, 1), ..syn.answer(SYN | ACK) };
        wire.out(&syn.frame());
        wire.wait_ms(1_000);
        wire.out(&again.frame());
        wire.wait_ms(50);
        wire.arrives(&answer.frame());
        wire.wait_ms(1_000);
        wire.arrives(&answer.frame());
    }
    let c = wire.core.counters();
    assert_eq!((c.answered_after_copy, c.spurious, c.rescued, c.saved_ms), (3, 3, 0, 0));
    assert_eq!(wire.core.paths(wire.now)[0].srtt_us, 1_050_000);
}

#[test]
fn a_server_may_retransmit_before_the_client() {
    let mut wire = Wire::new(Config { dry_run: true, ..config() });
    for (port, took) in [(1, 1), (2, 1), (3, 1_001), (4, 1)] {
        let syn = Segment { options: timestamps(1, 0), ..Segment::syn(port) };
        wire.out(&syn.frame());
        wire.wait_ms(took);
        wire.arrives(&Segment { options: timestamps(9, 1), ..syn.answer(SYN | ACK) }.frame());
        wire.wait_ms(3_000);
    }
    let c = wire.core.counters();
    assert_eq!((c.copies, c.rescued, c.spurious, c.saved_ms), (1, 1, 0, 800));
}

#[test]
fn a_host_that_is_down_gets_all_copies() {
    let mut wire = Wire::new(Config { dry_run: true, ..config() });
    let syn = Segment::syn(1);
    wire.out(&syn.frame());
    for _ in 0..3 {
        wire.wait_ms(1_000);
        wire.out(&syn.frame());
    }
    wire.wait_ms(60_000);
    let c = wire.core.counters();
    assert_eq!((c.copies, c.unanswered, c.stack_retransmissions), (3, 1, 1));
}
