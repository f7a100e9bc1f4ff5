//! Losses of users are distinguished from scans, worms, floods, dead hosts and firewalls in the same capture.

use crate::frames::SERVER;
use crate::talk::{Talk, analyze, fails, finds, is_near, lacks, repeats, users};
use gentle_trace::results::{Analysis, FailureReason, Finding};
use proptest::prelude::*;

/// Scans, worms and floods together with users.
#[test]
fn users_beside_scans_and_floods() {
    let finds_users = |analysis: &Analysis| {
        finds!(
            analysis,
            Finding::Loss {
                answered: 20,
                all_answered: false,
                with_loss: 2,
                completed_with_loss: 2,
                mean_wait_s: Some(mean),
                ..
            } if is_near(*mean, 1.0)
        );
    };
    let server = ("198.51.100.2", 443);
    let users = users(20, 2, server);
    let after = |talks: Vec<Talk>| {
        let mut segments = users.clone();
        segments.extend(talks.into_iter().flat_map(|talk| talk.segments));
        analyze(&segments).0
    };
    let at_s = |i: u32| f64::from(i) * 0.002;

    // A scan of closed ports, on the users' server.
    let scan = (0..5_000_u32).map(|i| {
        let port = 1_000 + i as u16;
        Talk::new(("203.0.113.9", 50_000), (server.0, port)).syn(at_s(i)).rst(at_s(i) + 0.02)
    });
    let analysis = after(scan.collect());
    finds_users(&analysis);
    fails(&analysis, FailureReason::Scans, 5_000, &["203.0.113.9"]);
    assert_eq!(analysis.outcomes.refused.attempts, 0);

    // A worm that tries dead hosts, three SYNs each.
    let worm = (0..3_000_u32).map(|i| {
        let host = format!("10.1.{}.{}", i / 250, i % 250);
        let talk = Talk::new(("203.0.113.9", 50_000), (&host, 445));
        talk.syn(at_s(i)).syn(at_s(i) + 1.0).syn(at_s(i) + 3.0)
    });
    let analysis = after(worm.collect());
    finds_users(&analysis);
    assert_eq!(analysis.outcomes.scans.attempts, 3_000);
    assert_eq!(analysis.outcomes.dead.attempts, 0);
    assert_eq!(repeats(&analysis), [2, 0, 0, 0, 6_000]);

    // Floods of the users' server from spoofed addresses; the server answers, or no longer can.
    for answers in [true, false] {
        let flood = (0..10_000_u32).map(|i| {
            let client = format!("100.{}.{}.7", i / 250, i % 250);
            let talk = Talk::new((&client, 1_024), server).syn(at_s(i));
            match answers {
                true => talk.synack(at_s(i) + 0.02).synack(at_s(i) + 1.02),
                false => talk,
            }
        });
        let analysis = after(flood.collect());
        finds_users(&analysis);
        fails(&analysis, FailureReason::Floods, 10_000, &["198.51.100.2:443"]);
        assert_eq!(analysis.outcomes.half_open, 0, "{answers}");
        // The paper's filter keeps all of them, because the server has too many users.
        assert_eq!(analysis.filters[2].removed_connections, 0);
    }

    // A client that retries a closed port all day long is neither a scan nor a flood.
    let retries = (0..2_000_u32).map(|i| {
        let client = ("203.0.113.9", 10_000 + i as u16);
        let talk = Talk::new(client, ("198.51.100.3", 25));
        talk.syn(f64::from(i) * 30.0).rst(f64::from(i) * 30.0 + 0.02)
    });
    let analysis = after(retries.collect());
    finds_users(&analysis);
    fails(&analysis, FailureReason::Refused, 2_000, &["198.51.100.3:25"]);
}

/// A dead server and one that loses nothing.
#[test]
fn dead_servers() {
    let mut segments = users(7, 0, ("198.51.100.2", 443));
    for i in 0..9 {
        let dead = Talk::new(("192.0.2.1", 30_000 + i), ("198.51.100.9", 443));
        let at_s = f64::from(i);
        segments.extend(dead.syn(at_s).syn(at_s + 1.0).syn(at_s + 3.0).segments);
    }
    let (analysis, _) = analyze(&segments);
    finds!(analysis, Finding::NoLoss { answered: 7, all_answered: false, .. });
    fails(&analysis, FailureReason::Dead, 9, &["198.51.100.9:443"]);
    finds!(analysis, Finding::FailedWait { waited_s } if is_near(*waited_s, 27.0));
    lacks!(analysis, Finding::WorstServer { .. });
    assert_eq!(repeats(&analysis), [0, 0, 0, 0, 18]);
}

/// No packet of the server at all: its existence is unknown.
#[test]
fn one_direction_of_nothing() {
    let talk = Talk::new(("192.0.2.1", 30_000), SERVER).syn(0.0).syn(1.0);
    let (analysis, _) = analyze(&talk.segments);
    finds!(analysis, Finding::NoneAnswered { attempts: 1, no_server: true });
}

/// All packets of some attempts to or from a live server are discarded.
#[test]
fn blackholed() {
    let server = ("198.51.100.2", 443);
    let mut segments = users(5, 0, server);
    for (i, other_port) in [(0, false), (1, false), (2, true)] {
        let server = if other_port { (server.0, 8_443) } else { server };
        let talk = Talk::new(("192.0.2.7", 30_000 + i), server);
        segments.extend(talk.syn(0.0).syn(1.0).syn(3.0).segments);
    }
    // The answers are captured, but do not arrive.
    let talk = Talk::new(("192.0.2.8", 30_000), server);
    let talk = talk.syn(0.0).synack(0.02).syn(1.0).synack(1.02);
    segments.extend(talk.segments);
    let (analysis, _) = analyze(&segments);
    assert_eq!(analysis.outcomes.blackholed.attempts, 4);
    assert_eq!(repeats(&analysis), [0, 0, 0, 0, 7]);
    finds!(analysis, Finding::NoLoss { answered: 5, all_answered: false, .. });
    fails(&analysis, FailureReason::Blackholed, 4, &["198.51.100.2:443", "198.51.100.2:8443"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Scans, floods and dead hosts do not change the losses counted for users.
    #[test]
    fn what_users_lose_is_told_apart(
        users_ in 1_u16..60,
        lossy in 0_u16..60,
        scan in prop_oneof![Just(0_u32), 100..600_u32],
        flood in prop_oneof![Just(0_u32), 1_000..3_000_u32],
        dead in 0_u16..40,
        answers in any::<bool>(),
    ) {
        let lossy = lossy.min(users_);
        let mut segments = users(users_, lossy, SERVER);
        for i in 0..scan {
            let host = format!("10.1.{}.{}", i / 250, i % 250);
            let at_s = f64::from(i) * 0.01;
            let talk = Talk::new(("203.0.113.9", 50_000), (&host, 445)).syn(at_s);
            segments.extend(if i % 2 == 0 { talk.rst(at_s + 0.01) } else { talk.syn(at_s + 1.0) }.segments);
        }
        for i in 0..flood {
            let client = format!("100.{}.{}.7", i / 250, i % 250);
            let at_s = f64::from(i) * 0.003;
            let talk = Talk::new((&client, 1_024), SERVER).syn(at_s);
            segments.extend(if answers { talk.synack(at_s + 0.02) } else { talk }.segments);
        }
        for i in 0..dead {
            let at_s = f64::from(i);
            let talk = Talk::new(("192.0.2.1", 50_000 + i), ("198.51.100.9", 443));
            segments.extend(talk.syn(at_s).syn(at_s + 1.0).segments);
        }
        let outcomes = analyze(&segments).0.outcomes;
        prop_assert_eq!(outcomes.answered, u64::from(users_));
        prop_assert_eq!(outcomes.with_loss, u64::from(lossy));
        prop_assert_eq!(outcomes.scans.attempts, u64::from(scan));
        prop_assert_eq!(outcomes.floods.attempts, u64::from(flood));
        prop_assert_eq!(outcomes.dead.attempts, u64::from(dead));
    }
}
