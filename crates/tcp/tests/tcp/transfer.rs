//! Properties that hold for any behaviour of the network: a transfer completes, no data is invented, no endless loop.

use gentle_tcp::{Profile, Seq};
use gentle_testkit::scripted::{Fate, Sent, Side, Wire, at_ms, ms, profile};
use gentle_units::{Instant, Nanos};
use proptest::prelude::*;

/// Random number generator for the wire; seeded by the test case.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

fn knobs() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let flag = |name: &'static str| prop_oneof![Just((name, "true")), Just((name, "false"))];
    proptest::sample::subsequence(vec![0usize, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17], 0..4)
        .prop_flat_map(move |which| {
            which
                .into_iter()
                .map(|i| match i {
                    0 => flag("sack").boxed(),
                    1 => flag("timestamps").boxed(),
                    2 => flag("rack").boxed(),
                    3 => flag("tlp").boxed(),
                    4 => flag("prr").boxed(),
                    5 => flag("frto").boxed(),
                    6 => flag("undo").boxed(),
                    7 => flag("ecn").boxed(),
                    8 => flag("early_retransmit").boxed(),
                    9 => flag("limited_transmit").boxed(),
                    10 => flag("fin_on_data").boxed(),
                    11 => flag("rto_forgets_sack").boxed(),
                    12 => flag("dsack").boxed(),
                    17 => flag("timer_wheel").boxed(),
                    13 => prop_oneof![Just(("loss_marking", "holes")), Just(("loss_marking", "fack"))].boxed(),
                    14 => prop_oneof![Just(("receive_window", "1000")), Just(("receive_window", "5000"))].boxed(),
                    15 => {
                        prop_oneof![Just(("congestion_control", "reno")), Just(("congestion_control", "cubic"))].boxed()
                    }
                    _ => prop_oneof![Just(("max_burst", "1")), Just(("recovery_burst", "1"))].boxed(),
                })
                .collect::<Vec<_>>()
        })
}

/// Two megabytes with loss and reordering of 2 % each: every profile completes, with few spurious retransmissions.
#[test]
fn long_transfers_over_a_lossy_wire() {
    const BYTES: u64 = 2_000_000;
    for name in Profile::NAMES {
        for seed in 0..10 {
            let mut dice = Dice(seed);
            let script = move |_: &Sent, _: usize| match dice.roll(1000) {
                0..20 => Fate::Drop,
                20..40 => Fate::Late(Nanos(dice.roll(5_000_000))),
                _ => Fate::Pass,
            };
            let mut wire = Wire::new(profile(name, &[]), profile(name, &[]), ms(20), script);
            wire.write_and_close(BYTES);
            wire.run(Instant::from_secs(3600));
            assert!(wire.initiator().is_closed() && !wire.initiator().is_failed(), "{name} {seed}");
            assert_eq!(wire.received(), BYTES, "{name} {seed}");
            let lost =
                wire.sent(Side::Initiator).filter(|sent| sent.segment.len > 0 && sent.fate == Fate::Drop).count();
            let again = wire.initiator().stats().data_retransmitted as usize;
            assert!(again >= lost.saturating_sub(1), "{name} {seed}");
            assert!(again <= lost * 3 + 20, "{name} {seed}: {again} for {lost} lost");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn every_transfer_completes(
        initiator in 0usize..4,
        responder in 0usize..4,
        knobs in knobs(),
        bytes in prop_oneof![0u64..5000, 0u64..300_000],
        answer in prop_oneof![Just(0u64), 0u64..300_000],
        seed: u64,
        // Probabilities in 1/1000: loss up to 15 %, others in any combination.
        loss in 0u64..150,
        late in 0u64..300,
        twice in 0u64..100,
        mark in 0u64..100,
        isn in prop_oneof![any::<u32>(), (u32::MAX - 100_000)..=u32::MAX],
        responder_isn: u32,
    ) {
        let mut dice = Dice(seed);
        let script = move |_: &Sent, _: usize| {
            let roll = dice.roll(1000);
            if roll < loss {
                Fate::Drop
            } else if roll < loss + late {
                Fate::Late(Nanos(dice.roll(80_000_000)))
            } else if roll < loss + late + twice {
                Fate::Twice(Nanos(dice.roll(80_000_000)))
            } else if roll < loss + late + twice + mark {
                Fate::Mark
            } else {
                Fate::Pass
            }
        };
        let a = profile(Profile::NAMES[initiator], &knobs);
        let b = profile(Profile::NAMES[responder], &knobs);
        let mut wire = Wire::with_isns(a, b, ms(20), (Seq(isn), Seq(responder_isn)), script)
            .responder_writes(answer);
        wire.write_and_close(bytes);
        let mut steps = 0u64;
        while wire.step(Instant::from_secs(7200)) {
            steps += 1;
            prop_assert!(steps < 200_000, "no end in sight at {}", wire.now());
            // A closed initiator whose responder has given up would retransmit for minutes more.
            if wire.initiator().is_failed() || wire.responder().is_some_and(|r| r.is_failed()) {
                break;
            }
        }
        let responder = wire.responder();
        let failed = wire.initiator().is_failed() || responder.is_some_and(|r| r.is_failed());
        for sent in wire.log() {
            // No data beyond what was written, with one sequence number each for SYN and FIN.
            let (isn, bytes) = match sent.from {
                Side::Initiator => (isn, bytes),
                Side::Responder => (responder_isn, answer),
            };
            let offset = sent.segment.seq.0.wrapping_sub(isn);
            prop_assert!(u64::from(offset) + u64::from(sent.segment.seq_len()) <= bytes + 2);
            prop_assert!(sent.segment.header_bytes() <= 60);
        }
        if !failed {
            let responder = responder.expect("a responder");
            prop_assert_eq!(responder.received(), bytes);
            prop_assert_eq!(wire.initiator().received(), answer);
            prop_assert!(wire.initiator().all_acked() && responder.all_acked(), "{:?}", wire.now());
            prop_assert!(wire.initiator().is_closed() && responder.is_closed());
            prop_assert_eq!(wire.initiator().bytes_acked(), bytes);
            prop_assert_eq!(wire.initiator().in_flight(), 0);
            prop_assert_eq!(wire.initiator().next_timer(), None);
        } else {
            // Giving up takes a run of losses that only a lossy wire has.
            prop_assert!(loss >= 20, "failed with {loss}/1000 lost, at {}", wire.now());
        }
        let stats = wire.initiator().stats();
        prop_assert!(stats.segments_retransmitted <= stats.segments_sent);
        prop_assert!(stats.waits.handshake_sum() <= stats.waits.sum());
        prop_assert_eq!(
            stats.segments_sent as usize,
            wire.sent(Side::Initiator).filter(|sent| sent.segment.seq_len() > 0).count()
        );
        prop_assert_eq!(
            stats.segments_retransmitted as usize,
            wire.sent(Side::Initiator).filter(|sent| sent.segment.retransmitted).count()
        );
    }

    /// Arbitrary segments, well-formed or not, cause no panic and no endless loop.
    #[test]
    fn arbitrary_segments_are_survived(
        name in 0usize..4,
        segments in proptest::collection::vec(
            (any::<u32>(), any::<u32>(), 0u32..5000, any::<u16>(), any::<[(u32, u32); 3]>(), 0u8..=5, any::<u32>(), any::<bool>()),
            1..60,
        ),
    ) {
        let mut wire = Wire::new(profile(Profile::NAMES[name], &[]), Profile::default(), ms(1), |_, _| Fate::Pass);
        wire.write(100_000);
        wire.run(at_ms(4));
        let mut out = Vec::new();
        let mut now = wire.now();
        let initiator = wire.initiator_mut();
        for (seq, ack, len, flags, sack, sack_count, echo, near) in segments {
            // Half of the segments are near the expected numbers, so that they pass the first checks.
            let (seq, ack) = if near { (50_001 + seq % 3000, 1001 + ack % 60_000) } else { (seq, ack) };
            let mut segment = gentle_tcp::Segment::new(Seq(seq), gentle_tcp::Flags::from_bits(flags));
            segment.ack = Seq(ack);
            segment.len = len;
            segment.window = ack % 100_000;
            segment.ts_ecr = echo;
            segment.sack_count = sack_count;
            for (to, from) in segment.sack.iter_mut().zip(sack) {
                *to = (Seq(1001 + from.0 % 60_000), Seq(1001 + from.1 % 60_000));
            }
            now += ms(1);
            initiator.on_segment(now, &segment, near, &mut out);
            initiator.on_timer(now, &mut out);
        }
        let end = now + Nanos::from_secs(4000);
        while let Some(next) = initiator.next_timer().filter(|next| *next < end) {
            initiator.on_timer(next, &mut out);
            prop_assert!(initiator.next_timer().is_none_or(|after| after > next));
        }
    }
}
