//! Losses in the handshake, and the times at which each stack retransmits.

use gentle_tcp::{Flags, Profile};
use gentle_testkit::scripted::{Fate, Sent, Side, Wire, at_ms, dropping, ms, profile};
use gentle_units::{Instant, Nanos};

const DELAY: Nanos = Nanos::from_millis(10);
const HOUR: Instant = Instant::from_secs(3600);

fn connect(name: &str, script: impl FnMut(&Sent, usize) -> Fate + 'static) -> Wire {
    let mut wire = Wire::new(profile(name, &[]), profile(name, &[]), DELAY, script);
    wire.write_and_close(100);
    wire.run(HOUR);
    wire
}

fn seconds(times: Vec<u64>) -> Vec<u64> {
    times.into_iter().map(|ms| ms / 1000).collect()
}

fn syns(wire: &Wire) -> Vec<u64> {
    wire.times(Side::Initiator, Flags::SYN)
}

fn synacks(wire: &Wire) -> Vec<u64> {
    wire.times(Side::Responder, Flags::SYN)
}

#[test]
fn nothing_lost() {
    for name in Profile::NAMES {
        let wire = connect(name, |_, _| Fate::Pass);
        assert_eq!(syns(&wire), [0], "{name}");
        assert_eq!(synacks(&wire), [10], "{name}");
        assert_eq!(wire.initiator().established_at(), Some(at_ms(20)), "{name}");
        assert_eq!(wire.responder().unwrap().established_at(), Some(at_ms(30)), "{name}");
        assert!(wire.initiator().is_closed() && !wire.initiator().is_failed(), "{name}");
        assert_eq!(wire.received(), 100, "{name}");
    }
}

/// Every SYN is lost: `tcp_syn_retries` = 6, in 7.2 after 4 linear timeouts; FreeBSD's connect timer ends the attempt
/// after 75 s.
#[test]
fn all_syns_lost() {
    for (name, expected, failed_at) in [
        ("linux-7.2", vec![0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67], 131),
        ("linux-3.16", vec![0, 1, 3, 7, 15, 31, 63], 127),
        ("freebsd-9.3", vec![0, 3, 6, 9, 12, 15, 21, 33, 57], 75),
        ("ns-2", vec![0, 3, 9, 21, 45, 93, 153, 213, 273, 333, 393, 453, 513], 573),
    ] {
        let wire = connect(name, |_, _| Fate::Drop);
        assert_eq!(seconds(syns(&wire)), expected, "{name}");
        assert!(wire.initiator().is_failed(), "{name}");
        assert_eq!(wire.now(), Instant::from_secs(failed_at), "{name}");
        let stats = wire.initiator().stats();
        assert_eq!(stats.syn_sent as usize, expected.len(), "{name}");
        assert_eq!(stats.syn_retransmitted as usize, expected.len() - 1, "{name}");
        assert_eq!(stats.waits.handshake_sum(), Nanos::from_secs(*expected.last().unwrap()), "{name}");
    }
}

/// The initiator vanishes after its SYN, so only SYN/ACKs are sent.
#[test]
fn all_synacks_lost_and_the_initiator_silent() {
    for (name, expected, failed_at) in [
        ("linux-7.2", vec![0, 1, 3, 7, 15, 31], 63),
        ("linux-3.16", vec![0, 1, 3, 7, 15, 31], 63),
        ("freebsd-9.3", vec![0, 3, 9, 21], 45),
    ] {
        let mut out = Vec::new();
        let initiator =
            gentle_tcp::Endpoint::connect(profile(name, &[]).into(), gentle_tcp::Seq(0), at_ms(0), &mut out);
        let syn = out[0];
        drop(initiator);
        out.clear();
        let mut responder = gentle_tcp::Endpoint::accept(
            profile(name, &[]).into(),
            gentle_tcp::Seq(0),
            at_ms(0),
            &syn,
            false,
            &mut out,
        );
        let mut times = vec![0];
        let mut now = at_ms(0);
        out.clear();
        while let Some(next) = responder.next_timer() {
            now = next;
            responder.on_timer(now, &mut out);
            times.extend(out.drain(..).map(|_| now.as_millis() / 1000));
        }
        assert_eq!(times, expected, "{name}");
        assert_eq!(now, Instant::from_secs(failed_at), "{name}");
        assert!(responder.is_failed());
    }
}

/// A SYN is repeated after 500 ms. Linux answers at once and restarts the timer without backoff or reset
/// (`tcp_check_req`); Linux 6.18 in the same test over a veth pair sent at 0, 0.54, 1.55, 3.56, 7.72 and 15.92 s.
/// FreeBSD restarts from the initial RTO (`syncache_add`).
#[test]
fn a_duplicate_syn_restarts_the_synack_timer() {
    for (name, expected) in [
        ("linux-7.2", vec![0, 500, 1500, 3500, 7500, 15_500, 31_500]),
        ("freebsd-9.3", vec![0, 3000, 3500, 6500, 12_500, 24_500]),
    ] {
        let again = if name == "linux-7.2" { at_ms(500) } else { at_ms(3500) };
        let mut out = Vec::new();
        gentle_tcp::Endpoint::connect(profile(name, &[]).into(), gentle_tcp::Seq(0), at_ms(0), &mut out);
        let syn = out[0];
        out.clear();
        let mut responder = gentle_tcp::Endpoint::accept(
            profile(name, &[]).into(),
            gentle_tcp::Seq(0),
            at_ms(0),
            &syn,
            false,
            &mut out,
        );
        out.clear();
        let mut times = vec![0];
        let mut repeated = false;
        while let Some(next) = responder.next_timer() {
            let now = if !repeated && next > again {
                repeated = true;
                responder.on_segment(again, &syn, false, &mut out);
                again
            } else {
                responder.on_timer(next, &mut out);
                next
            };
            times.extend(out.drain(..).map(|_| now.as_millis()));
        }
        assert_eq!(times, expected, "{name}");
    }
}

/// handshake-2009, "without syn_optimizer": 3.00, 3.00, 6.5 and 21.02 s until the request is sent, for an initial RTO
/// of 3 s that doubles. In the case with one SYN and one SYN/ACK lost, the responder's own timer, started by the second
/// SYN, retransmits the SYN/ACK before the third SYN at 9 s.
#[test]
fn the_published_times_of_three_second_stacks() {
    let with = |out: &'static [usize], back: &'static [usize]| {
        let wire = connect("ns-2", move |sent, number| {
            let lost = if sent.from == Side::Initiator { out } else { back };
            if sent.segment.flags.contains(Flags::SYN) && lost.contains(&number) { Fate::Drop } else { Fate::Pass }
        });
        wire.initiator().established_at().unwrap()
    };
    assert_eq!(with(&[0], &[]), at_ms(3020));
    // The responder's timer, set one delay after the SYN's, would fire after the SYN's; the duplicate SYN is answered.
    assert_eq!(with(&[], &[0]), at_ms(3020));
    assert_eq!(with(&[0], &[0]), at_ms(6020));
    assert_eq!(with(&[0, 1, 2], &[]), at_ms(21_020));
}

#[test]
fn one_syn_lost() {
    for (name, established) in [("linux-7.2", 1020), ("linux-3.16", 1020), ("freebsd-9.3", 3020), ("ns-2", 3020)] {
        let wire = connect(name, dropping(Side::Initiator, &[0]));
        assert_eq!(wire.initiator().established_at(), Some(at_ms(established)), "{name}");
        assert_eq!(wire.received(), 100, "{name}");
        let stats = wire.initiator().stats();
        assert_eq!((stats.syn_sent, stats.syn_retransmitted), (2, 1), "{name}");
        assert_eq!(stats.waits.sum(), ms(established - 20), "{name}");
    }
}

/// The duplicate SYN is answered with a SYN/ACK at once, and restarts the responder's own timer.
#[test]
fn one_synack_lost() {
    for (name, again) in [("linux-7.2", 1000), ("linux-3.16", 1000), ("freebsd-9.3", 3000), ("ns-2", 3000)] {
        let wire = connect(name, dropping(Side::Responder, &[0]));
        assert_eq!(syns(&wire), [0, again], "{name}");
        assert_eq!(synacks(&wire), [10, again + 10], "{name}");
        assert_eq!(wire.initiator().established_at(), Some(at_ms(again + 20)), "{name}");
        let stats = wire.responder().unwrap().stats();
        assert_eq!((stats.syn_sent, stats.syn_retransmitted), (2, 1), "{name}");
    }
}

/// The ACK is lost and no data follows: the SYN/ACK is retransmitted and acknowledged again.
#[test]
fn the_final_ack_lost() {
    for (name, again) in [("linux-7.2", 1010), ("linux-3.16", 1010), ("freebsd-9.3", 3010), ("ns-2", 3010)] {
        let mut wire = Wire::new(profile(name, &[]), profile(name, &[]), DELAY, dropping(Side::Initiator, &[1]));
        wire.run(Instant::from_secs(60));
        assert_eq!(synacks(&wire), [10, again], "{name}");
        assert!(wire.responder().unwrap().is_established(), "{name}");
        assert_eq!(wire.responder().unwrap().established_at(), Some(at_ms(again + 20)), "{name}");
    }
}

/// With data after it, the lost ACK costs no time.
#[test]
fn data_completes_the_handshake() {
    for name in Profile::NAMES {
        let wire = connect(name, dropping(Side::Initiator, &[1]));
        assert_eq!(synacks(&wire), [10], "{name}");
        assert_eq!(wire.responder().unwrap().established_at(), Some(at_ms(30)), "{name}");
    }
}

/// tcp_init_transfer: one loss in the handshake has no effect, two reduce the initial window; FreeBSD reduces it after
/// one.
#[test]
fn the_initial_window_after_losses() {
    for (name, lost, expected) in [
        ("linux-7.2", &[][..], 10),
        ("linux-7.2", &[0][..], 10),
        ("linux-7.2", &[0, 1][..], 1),
        ("freebsd-9.3", &[][..], 4),
        ("freebsd-9.3", &[0][..], 1),
    ] {
        let mut wire = Wire::new(profile(name, &[]), profile(name, &[]), DELAY, dropping(Side::Initiator, lost));
        wire.run(Instant::from_secs(10));
        assert_eq!(wire.initiator().cwnd(), expected, "{name} {lost:?}");
    }
}

/// With a round trip of 2.4 s, two SYNs are retransmitted spuriously, as the echoed timestamp shows.
#[test]
fn a_long_path_is_no_loss() {
    for (name, expected) in [("linux-7.2", 10), ("linux-3.16", 1)] {
        let p = profile(name, &[("syn_linear_timeouts", "4")]);
        let mut wire = Wire::new(p.clone(), p, ms(1200), |_, _| Fate::Pass);
        wire.run(at_ms(2400));
        assert_eq!(wire.initiator().stats().syn_retransmitted, 2, "{name}");
        assert_eq!(wire.initiator().cwnd(), expected, "{name}");
    }
}

/// RFC 6298, rule 5.7: a handshake with retransmissions gives no RTT sample, unless timestamps are on.
#[test]
fn the_timeout_after_a_lost_syn() {
    let after = |knobs: &[(&str, &str)]| {
        let p = profile("linux-7.2", knobs);
        let mut wire = Wire::new(p.clone(), p, DELAY, dropping(Side::Initiator, &[0]));
        wire.run(Instant::from_secs(10));
        wire.initiator().rto()
    };
    assert_eq!(after(&[("timestamps", "false")]), Nanos::from_secs(3));
    assert_eq!(after(&[]), ms(220));
}
