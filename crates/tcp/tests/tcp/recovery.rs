//! Loss, reordering and delay after the handshake, compared with the RFCs and real stacks.
//!
//! The wire has a delay of 50 ms in each direction, so the initiator completes the handshake and sends the initial
//! window at 100 ms. In the scripts, segment 0 is the SYN, 1 the ACK, and data begins with number 2.

use gentle_tcp::{Flags, Profile};
use gentle_testkit::scripted::{Fate, Sent, Side, Wire, at_ms, dropping, ms, profile};
use gentle_units::{Instant, Nanos};

const MSS: u64 = 1448;

fn start(p: Profile, segments: u64, script: impl FnMut(&Sent, usize) -> Fate + 'static) -> Wire {
    let mut wire = Wire::new(p.clone(), p, ms(50), script);
    wire.write_and_close(segments * MSS);
    wire
}

fn run(p: Profile, segments: u64, script: impl FnMut(&Sent, usize) -> Fate + 'static) -> Wire {
    let mut wire = start(p, segments, script);
    wire.run(Instant::from_secs(600));
    assert!(wire.initiator().is_closed() && !wire.initiator().is_failed());
    assert_eq!(wire.received(), segments * MSS);
    wire
}

/// Script that delays the segments with these numbers by `extra`.
fn late(numbers: &'static [usize], extra: Nanos) -> impl FnMut(&Sent, usize) -> Fate {
    move |sent, number| {
        if sent.from == Side::Initiator && numbers.contains(&number) { Fate::Late(extra) } else { Fate::Pass }
    }
}

/// Retransmissions of data: time in milliseconds and number of the segment, from 0.
fn again(wire: &Wire) -> Vec<(u64, u64)> {
    wire.sent(Side::Initiator)
        .filter(|sent| sent.segment.retransmitted && !sent.segment.flags.contains(Flags::SYN))
        .map(|sent| (sent.at.as_millis(), u64::from(sent.segment.seq.0 - 1001) / MSS))
        .collect()
}

#[test]
fn third_duplicate_ack_or_rack_repairs_one_loss_in_a_round_trip() {
    for name in ["linux-7.2", "linux-3.16"] {
        let wire = run(profile(name, &[]), 10, dropping(Side::Initiator, &[4]));
        assert_eq!(again(&wire), [(200, 2)], "{name}");
        assert_eq!(wire.initiator().stats().fast_recoveries, 1, "{name}");
        assert_eq!(wire.initiator().stats().rto_timeouts, 0, "{name}");
    }
    for name in ["freebsd-9.3", "ns-2"] {
        let wire = run(profile(name, &[("iw", "10")]), 10, dropping(Side::Initiator, &[4]));
        assert_eq!(again(&wire), [(200, 2)], "{name}");
    }
}

/// RFC 8985, section 6.2: fewer than three segments were SACKed, so the reordering window is a quarter of the minimum
/// RTT.
#[test]
fn rack_tolerates_small_reordering() {
    let wire = run(profile("linux-7.2", &[]), 5, late(&[4], ms(20)));
    assert_eq!(again(&wire), []);
    let wire = run(profile("linux-7.2", &[]), 5, late(&[4], ms(60)));
    // Reordering window of 25 ms and timer slack of 2 ms after the ACK that showed the gap.
    assert_eq!(again(&wire), [(227, 2)]);
}

/// Once reordering was observed, the third duplicate ACK no longer suffices.
#[test]
fn rack_learns_from_reordering() {
    let wire = run(profile("linux-7.2", &[("iw", "10")]), 30, late(&[4, 14, 16], ms(20)));
    assert_eq!(again(&wire), [(200, 2)], "only the first was taken for lost");
}

#[test]
fn a_retransmission_that_timestamps_prove_spurious_is_undone() {
    let mut wire = start(profile("linux-7.2", &[]), 200, late(&[4], ms(20)));
    wire.run(at_ms(205));
    assert!(wire.initiator().ssthresh() < 10, "reduced at first");
    wire.run(at_ms(225));
    assert_eq!(wire.initiator().stats().undos, 1);
    assert!(wire.initiator().cwnd() >= 10);
    assert!(wire.initiator().ssthresh() >= 10);
}

#[test]
fn a_retransmission_that_a_dsack_proves_spurious_is_undone() {
    let p = profile("linux-7.2", &[("timestamps", "false")]);
    let mut wire = start(p, 200, late(&[4], ms(20)));
    wire.run(at_ms(225));
    assert_eq!(wire.initiator().stats().undos, 0, "not before the duplicate has arrived");
    wire.run(at_ms(305));
    assert_eq!(wire.initiator().stats().undos, 1);
    assert_eq!(wire.initiator().stats().dsacks_received, 1);
    assert!(wire.initiator().cwnd() >= 10);
    assert!(wire.initiator().ssthresh() >= 10);
}

/// RFC 8985, section 7.2: the last segment is probed two round trips after the last acknowledgement; without the probe,
/// recovery takes a timeout of one round trip plus 200 ms, and a window of one.
#[test]
fn the_tail_is_probed() {
    let lost_tail = dropping(Side::Initiator, &[6]);
    let wire = run(profile("linux-7.2", &[("fin_on_data", "true")]), 5, lost_tail);
    // Acknowledgements until 200 ms; one segment outstanding: 2 · 100 + 200 ms would be later than the timeout.
    assert_eq!(again(&wire), [(500, 4)]);
    assert_eq!(wire.initiator().stats().tlp_probes, 1);
    assert_eq!(wire.initiator().stats().rto_timeouts, 0);

    let wire = run(profile("linux-7.2", &[]), 5, dropping(Side::Initiator, &[5, 6]));
    // Two outstanding: 2 · 100 + 2 ms. The SACK of the probe then shows the other segment missing.
    assert_eq!(again(&wire), [(402, 4), (502, 3)]);
    assert_eq!(wire.initiator().stats().rto_timeouts, 0);

    let wire = run(profile("linux-7.2", &[("tlp", "false")]), 5, dropping(Side::Initiator, &[5, 6]));
    assert_eq!(again(&wire), [(500, 3), (600, 4)]);
    assert_eq!(wire.initiator().stats().rto_timeouts, 1);

    // FreeBSD: RTO = SRTT + 4·RTTVAR + 200 ms.
    let wire = run(profile("freebsd-9.3", &[]), 4, dropping(Side::Initiator, &[5]));
    assert_eq!(wire.initiator().stats().rto_timeouts, 1);
}

/// A probe that repairs a loss reduces the window (RFC 8985, section 7.4.2).
#[test]
fn a_repairing_probe_reduces_the_window() {
    let mut wire =
        Wire::new(profile("linux-7.2", &[]), profile("linux-7.2", &[]), ms(50), dropping(Side::Initiator, &[6]));
    wire.write(5 * MSS);
    // The probe is sent at 500 ms and acknowledged at 600; no DSACK follows, as the next acknowledgement shows.
    wire.run(at_ms(650));
    assert_eq!(wire.initiator().ssthresh(), u32::MAX);
    wire.write(MSS);
    wire.run(at_ms(751));
    assert_eq!(wire.initiator().ssthresh(), 7, "0.7 times the initial window, which five segments did not fill");
}

/// Stalls the path from 200 ms on: segments sent in the next second arrive together, in order, at 1200 ms.
fn stall(sent: &Sent) -> Fate {
    let stalled = sent.from == Side::Initiator && sent.at >= at_ms(200) && sent.at < at_ms(1200);
    if stalled { Fate::Late(at_ms(1200) - sent.at) } else { Fate::Pass }
}

#[test]
fn a_spurious_timeout_is_undone_by_timestamps() {
    let mut wire = start(profile("linux-7.2", &[("tlp", "false")]), 100, |sent, _| stall(sent));
    wire.run(at_ms(1290));
    let before = wire.initiator().stats().rto_timeouts;
    assert!(before >= 1);
    assert_eq!(wire.initiator().cwnd(), 1);
    wire.run(at_ms(1310));
    assert_eq!(wire.initiator().stats().undos, 1);
    assert!(wire.initiator().cwnd() >= 20, "{}", wire.initiator().cwnd());
}

/// RFC 5682: the first ACK after the timeout releases new data, the second proves that the originals arrive.
#[test]
fn a_spurious_timeout_is_undone_by_f_rto() {
    let knobs = [("tlp", "false"), ("timestamps", "false"), ("dsack", "false")];
    let count = |frto: &str| {
        let mut p = profile("linux-7.2", &knobs);
        p.set("frto", frto).unwrap();
        let wire = run(p, 100, |sent, _| stall(sent));
        (wire.initiator().stats().undos, wire.initiator().stats().segments_retransmitted)
    };
    let (undos, retransmitted) = count("true");
    let (undos_without, retransmitted_without) = count("false");
    assert_eq!((undos, undos_without), (1, 0));
    assert!(retransmitted * 4 < retransmitted_without, "{retransmitted} and {retransmitted_without}");
}

/// FreeBSD's `t_badrxtwin`: the answer arrives within half a round trip of the timeout.
#[test]
fn freebsd_undoes_a_timeout_that_is_answered_at_once() {
    let knobs = [("min_rto", "30ms"), ("rto_slop", "0")];
    let delayed = |extra: u64| {
        move |sent: &Sent, _: usize| {
            let flight = sent.at >= at_ms(200) && sent.at < at_ms(201) && sent.from == Side::Initiator;
            if flight { Fate::Late(ms(extra)) } else { Fate::Pass }
        }
    };
    let mut wire = start(profile("freebsd-9.3", &knobs), 100, delayed(0));
    wire.run(at_ms(299));
    let rto = wire.initiator().rto().as_millis();
    for (extra, undos) in [(rto + 20 - 100, 1), (rto + 80 - 100, 0)] {
        let mut wire = start(profile("freebsd-9.3", &knobs), 100, delayed(extra));
        wire.run(at_ms(200 + rto + 90));
        assert_eq!(wire.initiator().stats().rto_timeouts, 1, "{extra}");
        assert_eq!(wire.initiator().stats().undos, undos, "{extra}");
    }
}

/// A priority queue lets a FIN overtake its own data. A Linux receiver SACKs it as one sequence number, and the sender
/// considers data still queued lost; a FreeBSD receiver does not report it, so the sender does nothing
/// (docs/research/papers/spa-2018.md).
#[test]
fn a_fin_that_overtakes_its_data() {
    let overtaking = |sent: &Sent, _: usize| {
        if sent.segment.len > 0 && !sent.segment.retransmitted { Fate::Late(ms(60)) } else { Fate::Pass }
    };
    let fin_alone = [("fin_on_data", "false"), ("iw", "4")];
    let wire = run(profile("linux-7.2", &fin_alone), 3, overtaking);
    let reported = wire.sent(Side::Responder).find(|sent| sent.segment.sack_count > 0).unwrap();
    let block = reported.segment.sack[0];
    assert_eq!(block.1.0 - block.0.0, 1, "the FIN alone");
    assert_eq!(reported.at, at_ms(150));
    // The FIN arrives at 150 ms, its SACK at 200; the reordering window is 25 ms, and the timer has 2 ms of slack. All
    // three segments are marked lost; the first acknowledgement of an original ends recovery before the window permits
    // a second retransmission.
    assert_eq!(again(&wire), [(227, 0)]);
    assert_eq!(wire.initiator().stats().fast_recoveries, 1);
    assert_eq!(wire.initiator().stats().undos, 1, "the data arrives after all, and says so");

    let wire = run(profile("freebsd-9.3", &fin_alone), 3, overtaking);
    assert!(wire.sent(Side::Responder).all(|sent| sent.segment.sack_count == 0));
    assert_eq!(again(&wire), []);

    let wire = run(profile("linux-7.2", &[("fin_on_data", "false"), ("iw", "4"), ("sack", "false")]), 3, overtaking);
    assert_eq!(again(&wire), [], "as on a real Linux with SACK switched off");
}

/// Only a FIN is outstanding: a probe after 2·RTT + 200 ms or the timeout, whichever is sooner, then timeouts that
/// double. Linux 6.18 over a veth pair showed the same: a probe, and then gaps that double from the timeout on.
#[test]
fn a_fin_that_nobody_answers() {
    let mut wire = start(profile("linux-7.2", &[("fin_on_data", "false")]), 1, |sent, _| {
        if sent.from == Side::Initiator && sent.segment.flags.contains(Flags::FIN) { Fate::Drop } else { Fate::Pass }
    });
    wire.run(Instant::from_secs(12));
    assert_eq!(wire.times(Side::Initiator, Flags::FIN), [100, 500, 800, 1400, 2600, 5000, 9800]);
}

/// Only the FIN is lost: it is retransmitted until acknowledged.
#[test]
fn a_lost_fin_is_repeated() {
    for name in Profile::NAMES {
        let mut lost = 0;
        let wire = run(profile(name, &[("fin_on_data", "false")]), 1, move |sent, _| {
            let fin = sent.from == Side::Initiator && sent.segment.flags.contains(Flags::FIN) && lost < 3;
            lost += usize::from(fin);
            if fin { Fate::Drop } else { Fate::Pass }
        });
        let stats = wire.initiator().stats();
        assert_eq!((stats.fin_sent, stats.fin_retransmitted), (4, 3), "{name}");
        assert!(wire.responder().unwrap().peer_closed(), "{name}");
    }
}

/// The last ACK of the initiator is lost: retransmissions of the responder's FIN are still answered.
#[test]
fn a_closed_end_point_still_answers() {
    for name in Profile::NAMES {
        let p = profile(name, &[]);
        let mut ends = 0;
        let mut wire = Wire::new(p.clone(), p, ms(50), move |sent, _| {
            // Last ACK of the initiator, twice.
            let last = sent.from == Side::Initiator && sent.at > at_ms(150) && sent.segment.len == 0 && ends < 2;
            ends += usize::from(last);
            if last { Fate::Drop } else { Fate::Pass }
        });
        wire.write_and_close(MSS);
        wire.run(Instant::from_secs(600));
        let responder = wire.responder().unwrap();
        assert!(responder.is_closed() && !responder.is_failed(), "{name}");
        assert_eq!(responder.stats().fin_retransmitted, 2, "{name}");
    }
}

/// RFC 6937, section 3.1: with 20 segments in flight and one lost, Reno's window goes from 20 to 10 by sending one
/// segment for every two acknowledgements; RFC 6675's pipe rule sends nothing for half a round trip and then one for
/// one.
#[test]
fn proportional_rate_reduction() {
    let sent_per_ack = |prr: &str| {
        let p = profile(
            "linux-7.2",
            &[
                ("iw", "20"),
                ("congestion_control", "reno"),
                ("prr", prr),
                ("delack_segments", "1"),
                // The RFC's example sends segments one by one.
                ("tso_unpaced", "off"),
            ],
        );
        // One segment per millisecond, so that acknowledgements do not coincide.
        let mut wire = start(p, 200, move |sent, number| match (sent.from, number) {
            (Side::Initiator, 2) => Fate::Drop,
            (Side::Initiator, n) if n < 22 => Fate::Late(ms(n as u64)),
            _ => Fate::Pass,
        });
        wire.run(at_ms(290));
        let mut per_ack = vec![0; 19];
        for sent in wire.sent(Side::Initiator).filter(|sent| sent.at >= at_ms(203) && sent.at < at_ms(222)) {
            per_ack[sent.at.as_millis() as usize - 203] += 1;
        }
        (per_ack, wire.initiator().ssthresh())
    };
    let (prr, ssthresh) = sent_per_ack("true");
    assert_eq!(ssthresh, 10);
    // Limited transmit twice, the retransmission, then one for two until the window is 10.
    assert_eq!(prr, [1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0]);
    let (pipe, _) = sent_per_ack("false");
    assert!(pipe[5..10].iter().all(|n| *n == 0), "{pipe:?}");
    assert!(pipe[13..].iter().all(|n| *n == 1), "{pipe:?}");
}

/// RFC 6675, IsLost: a hole is lost with three SACKed segments above it, not with two.
#[test]
fn holes_are_lost_one_by_one() {
    let p = profile("linux-7.2", &[("rack", "false"), ("tlp", "false"), ("iw", "10"), ("delack_segments", "1")]);
    // Numbers 2 to 11 are the window; 2 and 7 are lost. They arrive a millisecond apart.
    let wire = run(p, 10, |sent, number| match (sent.from, number) {
        (Side::Initiator, 2 | 7) => Fate::Drop,
        (Side::Initiator, n) if n <= 11 => Fate::Late(ms(n as u64)),
        _ => Fate::Pass,
    });
    // Segment 0 with the third SACK, of number 5; segment 5 with that of number 10, the third above it.
    assert_eq!(again(&wire), [(205, 0), (210, 5)]);
}

/// FreeBSD and ns-2 repair every hole below the highest SACK once in recovery.
#[test]
fn every_hole_at_once() {
    let p = profile("ns-2", &[("iw", "10")]);
    let wire = run(p, 10, |sent, number| match (sent.from, number) {
        (Side::Initiator, 2 | 6) => Fate::Drop,
        (Side::Initiator, n) if n <= 11 => Fate::Late(ms(n as u64)),
        _ => Fate::Pass,
    });
    assert_eq!(again(&wire)[0], (205, 0));
    assert_eq!(again(&wire)[1].1, 4);
    assert_eq!(wire.initiator().stats().fast_recoveries, 1);
    assert_eq!(wire.initiator().stats().rto_timeouts, 0);
}

/// RFC 6582: without SACK, one loss per round trip is repaired.
#[test]
fn newreno_repairs_one_loss_a_round_trip() {
    for name in Profile::NAMES {
        let p = profile(name, &[("sack", "false"), ("iw", "10")]);
        let wire = run(p, 10, dropping(Side::Initiator, &[2, 4]));
        assert_eq!(again(&wire), [(200, 0), (300, 2)], "{name}");
        assert_eq!(wire.initiator().stats().fast_recoveries, 1, "{name}");
        assert_eq!(wire.initiator().stats().rto_timeouts, 0, "{name}");
    }
}

/// RFC 5681, section 3.1: after a timeout the window is one segment, and ssthresh is reduced.
#[test]
fn a_timeout_starts_over() {
    for (name, ssthresh) in [("linux-7.2", 7), ("freebsd-9.3", 5), ("ns-2", 5)] {
        let p = profile(name, &[("iw", "10"), ("tlp", "false")]);
        let mut lost = 0;
        let mut wire = start(p, 20, move |sent, _| {
            let data = sent.segment.len > 0 && lost < 10;
            lost += usize::from(data);
            if data { Fate::Drop } else { Fate::Pass }
        });
        wire.run(at_ms(999));
        assert_eq!(wire.initiator().stats().rto_timeouts, 1, "{name}");
        assert_eq!(wire.initiator().ssthresh(), ssthresh, "{name}");
        wire.run(Instant::from_secs(60));
        assert_eq!(wire.received(), 20 * MSS, "{name}");
        assert_eq!(wire.initiator().stats().rto_timeouts, 1, "{name}");
    }
}

/// Linux 3.16: with three segments in flight the first duplicate ACK suffices, after a quarter RTT (RFC 5827).
#[test]
fn early_retransmit() {
    let wire = run(profile("linux-3.16", &[]), 3, dropping(Side::Initiator, &[3]));
    assert_eq!(again(&wire), [(225, 1)]);
    let wire = run(profile("linux-3.16", &[]), 3, late(&[3], ms(20)));
    assert_eq!(again(&wire), [], "reordering is waited out");
}

/// RFC 3168, section 6.1: for any number of marked packets in a window, the window is reduced once.
#[test]
fn congestion_experienced_reduces_once_a_round_trip() {
    let p = profile("linux-7.2", &[("ecn", "on")]);
    let mut wire =
        start(
            p,
            60,
            |sent, number| {
                if sent.from == Side::Initiator && (5..10).contains(&number) { Fate::Mark } else { Fate::Pass }
            },
        );
    wire.run(Instant::from_secs(5));
    assert_eq!(wire.initiator().stats().ecn_reductions, 1);
    assert_eq!(wire.initiator().stats().segments_retransmitted, 0);
    let reduced: Vec<_> = wire
        .sent(Side::Initiator)
        .filter(|sent| sent.segment.len > 0 && sent.segment.flags.contains(Flags::CWR))
        .collect();
    assert_eq!(reduced.len(), 1, "one segment says so");
    let last_echo = wire.sent(Side::Responder).rfind(|sent| sent.segment.flags.contains(Flags::ECE)).unwrap().at;
    assert!(last_echo <= reduced[0].at + ms(50), "the echo stops when the sender has reacted");
    assert!(wire.sent(Side::Initiator).filter(|sent| sent.segment.len > 0).all(|sent| sent.segment.ect.is_capable()));
    assert!(
        wire.sent(Side::Responder).all(|sent| !sent.segment.ect.is_capable()),
        "acknowledgements are not ECN-capable"
    );
}

/// The default accepts ECN but does not request it.
#[test]
fn ecn_is_negotiated() {
    let capable = |a: &str, b: &str| {
        let (a, b) = (profile("linux-7.2", &[("ecn", a)]), profile("linux-7.2", &[("ecn", b)]));
        let mut wire = Wire::new(a, b, ms(50), |_, _| Fate::Pass);
        wire.write_and_close(MSS);
        wire.run(Instant::from_secs(5));
        wire.sent(Side::Initiator).any(|sent| sent.segment.ect.is_capable())
    };
    assert!(capable("request", "accept"));
    assert!(!capable("accept", "accept"));
    assert!(!capable("request", "off"));
}

/// The second of two full segments is acknowledged at once, a single one after the profile's delay.
#[test]
fn delayed_acknowledgements() {
    let acks = |name: &str, knobs: &[(&str, &str)], bytes: u64| {
        let p = profile(name, knobs);
        let mut wire = Wire::new(p.clone(), p, ms(50), |_, _| Fate::Pass).stays_open();
        wire.write(bytes);
        wire.run(Instant::from_secs(5));
        wire.times(Side::Responder, Flags::ACK)[1..].to_vec()
    };
    assert_eq!(acks("freebsd-9.3", &[], MSS), [250]);
    assert_eq!(acks("freebsd-9.3", &[], 2 * MSS), [150]);
    assert_eq!(acks("freebsd-9.3", &[], 3 * MSS), [150, 250]);
    assert_eq!(acks("linux-7.2", &[], 3 * MSS), [150, 150, 150], "quick at the start");
    assert_eq!(acks("linux-7.2", &[("quickack_segments", "0")], 3 * MSS), [150, 150, 150], "each opens the window");
    let slow = [("quickack_segments", "0"), ("window_tuning", "false")];
    // The first of a pair is not acknowledged; the last segment has PSH, so it is acknowledged when it is read, at
    // once.
    assert_eq!(acks("linux-7.2", &slow, 3 * MSS), [150, 150]);
    assert_eq!(
        acks("linux-7.2", &[("quickack_segments", "0"), ("window_tuning", "false"), ("mss", "500")], 2 * 500),
        [150]
    );
}

/// RFC 2861: after 3 s of idle time the window has been halved once per timeout, down to the initial window.
#[test]
fn an_idle_window_decays() {
    let p = profile("linux-7.2", &[("hystart", "false")]);
    let mut wire = Wire::new(p.clone(), p, ms(50), |_, _| Fate::Pass);
    wire.write(100 * MSS);
    wire.run(Instant::from_secs(2));
    let grown = wire.initiator().cwnd();
    assert!(grown > 60, "{grown}");
    wire.advance_to(Instant::from_secs(5));
    wire.write(MSS);
    assert_eq!(wire.initiator().cwnd(), 10);
    assert!(wire.initiator().ssthresh() >= grown / 4 * 3);
}

/// After [`write_forever`](gentle_tcp::Endpoint::write_forever), closing sends no new data, only the FIN.
#[test]
fn closing_an_endless_flow() {
    for name in Profile::NAMES {
        let p = profile(name, &[]);
        let mut wire = Wire::new(p.clone(), p, ms(50), |_, _| Fate::Pass);
        wire.write_forever();
        wire.run(Instant::from_secs(1));
        let sent = wire.data().len();
        wire.close();
        wire.run(Instant::from_secs(60));
        assert!(wire.initiator().is_closed(), "{name}");
        assert_eq!(wire.data().len(), sent, "{name}");
        assert_eq!(wire.received(), wire.initiator().bytes_acked(), "{name}");
    }
}

/// RFC 5681, equation 3, and RFC 3465: delayed ACKs halve the growth only if ACKs are counted.
#[test]
fn counting_acks_halves_the_growth_under_delayed_acks() {
    let window = |knobs: &[(&str, &str)]| {
        let fixed = [("iw", "20"), ("initial_ssthresh", "20")];
        let mut wire = start(profile("ns-2", &[&fixed[..], knobs].concat()), 100_000, |_, _| Fate::Pass);
        // Ten round trips after the handshake.
        wire.run(at_ms(1150));
        wire.initiator().cwnd()
    };
    assert_eq!(window(&[]), 30);
    // The last segment of an odd window waits for the delayed-ACK timer.
    let acks = window(&[("delack_segments", "2")]);
    assert!((24..=25).contains(&acks), "{acks}");
    let acked = window(&[("delack_segments", "2"), ("growth", "acked")]);
    assert!((29..=30).contains(&acked), "{acked}");
}

/// TIME-WAIT echoes the first FIN's timestamp, as in Linux 7.2: the sender of a repeated FIN measures the time since
/// the first as a round trip.
#[test]
fn time_wait_echoes_the_first_fin() {
    for name in ["linux-7.2", "linux-3.16", "freebsd-9.3"] {
        let fin = |sent: &&Sent| sent.segment.flags.contains(Flags::FIN);
        // Drops the acknowledgement of the responder's FIN.
        let wire = run(profile(name, &[]), 1, dropping(Side::Initiator, &[3]));
        let fins: Vec<_> = wire.sent(Side::Responder).filter(fin).collect();
        let [first, second] = fins[..] else {
            panic!("{name}: {fins:?}");
        };
        assert!(second.segment.ts_val > first.segment.ts_val, "{name}");
        let last = wire.sent(Side::Initiator).last().unwrap();
        assert_eq!(last.at, second.at + ms(50), "{name}");
        assert_eq!(last.segment.ts_ecr, first.segment.ts_val, "{name}");
        // RTT of the handshake, and the sample from the echo.
        let responder = wire.responder().unwrap();
        let echoed = last.at + ms(50) - first.at;
        assert_eq!(responder.stats().rtt_samples, 2, "{name}");
        assert_eq!(responder.stats().rtt_sum.as_millis(), 100 + echoed.as_millis(), "{name}");
    }
}

/// Acknowledgements of data behind a hole count among the sixteen that are sent at once: then one is for several segments.
#[test]
fn acknowledgements_behind_a_hole_are_compressed_while_it_is_open() {
    let p = profile("linux-7.2", &[("iw", "60")]);
    // All segments arrive within a fraction of a millisecond.
    let mut wire = start(p, 60, |sent, number| match (sent.from, number) {
        (Side::Initiator, 6) => Fate::Drop,
        _ => Fate::Pass,
    });
    wire.run(at_ms(160));
    let sacks = wire.sent(Side::Responder);
    let sacks = sacks.filter(|sent| sent.segment.sack_count > 0).count();
    assert!((16..32).contains(&sacks), "{sacks} for 54 segments");
}

/// Data behind a hole fills the receive buffer, so the window stops opening. Once the hole is filled it opens with each
/// segment, and Linux acknowledges every segment that opens it (`tcp_grow_window`): a hundred in a row after the second
/// hole of 400 segments behind `pfifo limit=50`, in a capture of Linux 7.2.12.
#[test]
fn after_a_hole_every_segment_opens_the_window() {
    let wire = run(profile("linux-7.2", &[]), 400, dropping(Side::Initiator, &[160]));
    let acks: Vec<_> =
        wire.sent(Side::Responder).map(|sent| (u64::from(sent.segment.ack.0), sent.segment.window)).collect();
    let steps: Vec<_> = acks.windows(2).map(|two| two[1].0 - two[0].0).collect();
    let filled = steps.iter().position(|step| *step > 20 * MSS).unwrap();
    let single = steps[filled + 1..].iter().take_while(|step| **step == MSS);
    assert!(single.count() >= 20, "{steps:?}");
    // Memory that the data behind the hole occupied is offered afterwards.
    assert!(acks[filled + 20].1 > acks[filled].1, "{acks:?}");
}
