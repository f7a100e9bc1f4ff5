//! Losses that a reader requests, and moments found by running ahead.

use crate::setup;
use gentle_lab::event::{AGAIN, Kind, ROW, causes};
use gentle_lab::{Change, Session, Sight};
use gentle_testkit::draw::Draw;
use gentle_units::Instant;

/// Rows of every event up to a time.
fn rows(session: &mut Session, seconds: f64) -> Vec<[f64; ROW]> {
    session.set_details(true);
    let mut rows = Vec::new();
    let mut until = 0.0;
    while until < seconds {
        until += 0.5;
        session.advance(Instant::from_secs_f64(until), u64::MAX);
        let taken = session.take_events();
        rows.extend(taken.chunks_exact(ROW).map(|row| <[f64; ROW]>::try_from(row).unwrap()));
    }
    rows
}

fn is(row: &[f64; ROW], kind: Kind) -> bool {
    row[0] == f64::from(kind as u8)
}

/// SYN or SYN/ACK of the link under test, also retransmitted.
fn is_handshake(row: &[f64; ROW]) -> bool {
    row[2] == 0.0 && row[5] % f64::from(AGAIN) <= 1.0
}

fn cause(name: &str) -> f64 {
    causes().iter().position(|cause| *cause == name).unwrap() as f64
}

#[test]
fn the_next_handshake_is_dropped_on_request_whatever_the_queue() {
    let mut draw = Draw::of_seed(47);
    let schemes = ["pfifo limit=50", "spa", "codel", "fq_codel", "cake", "pie", "gsp limit=50"];
    for traffic in ["real", "short", "real-reverse", "10m"] {
        let scheme = draw.pick(&schemes);
        let at = draw.below(10_000) as f64 / 1_000.0;
        let mut session = Session::new(&setup(traffic, "30s"), scheme, draw.below(100)).unwrap();
        session.replan(vec![(Instant::from_secs_f64(at), Change::DropHandshake)]);
        let rows = rows(&mut session, 20.0);
        let requested = |row: &&[f64; ROW]| is(row, Kind::Dropped) && row[7] == cause("request");
        let dropped: Vec<_> = rows.iter().filter(requested).collect();
        let next = rows.iter().find(|row| is(row, Kind::Offered) && is_handshake(row) && row[1] > at);
        let next = next.unwrap_or_else(|| panic!("{traffic} {scheme}: no handshake after {at}"));
        assert_eq!(dropped.len(), 1, "{traffic} {scheme} {at}");
        assert_eq!(dropped[0][1..6], next[1..6], "{traffic} {scheme} {at}");
        let life = session.history(dropped[0][4] as u32);
        let lost = life.moments.iter().find(|moment| moment.cause == Some("request")).unwrap();
        assert!(lost.kind.starts_with("syn"));
        assert!(lost.cost_s.unwrap() > 0.9, "{traffic} {scheme}: {lost:?}");
    }
}

#[test]
fn sights_are_found_where_they_happen_first() {
    let mut draw = Draw::of_seed(3);
    for scheme in ["pfifo limit=50", "pie", "red limit=75000"] {
        let after = draw.below(30_000) as f64 / 1_000.0;
        let seed = draw.below(100);
        let mut session = Session::new(&setup("real", "120s"), scheme, seed).unwrap();
        let start = Instant::from_secs_f64(after);
        let drop = session.find(Sight::HandshakeDrop, start).unwrap();
        let open = session.find(Sight::Handshake, start).unwrap();
        assert_eq!(session.now(), Instant::ZERO, "the session itself stays");
        let rows = rows(&mut session, drop.at_s + 1.0);
        let first = |wanted: &dyn Fn(&[f64; ROW]) -> bool| {
            let found = rows.iter().find(|row| row[1] >= after && wanted(row)).unwrap();
            (found[1], Some(found[4] as u32))
        };
        let dropped = first(&|row| is(row, Kind::Dropped) && is_handshake(row));
        assert_eq!((drop.at_s, drop.connection), dropped, "{scheme} {after} {seed}");
        let opened = first(&|row| is(row, Kind::Offered) && row[2] == 0.0 && row[5] == 0.0);
        assert_eq!((open.at_s, open.connection), opened, "{scheme} {after} {seed}");
    }
}

#[test]
fn what_never_happens_is_not_found() {
    let session = Session::new(&setup("real", "30s"), "spa", 1).unwrap();
    for sight in [Sight::HandshakeDrop, Sight::Flood, Sight::LateDatagram, Sight::FinOvertakes] {
        assert_eq!(session.find(sight, Instant::ZERO), None, "{sight:?}");
    }
    let published = Session::new(&setup("real", "30s"), "spa published", 1).unwrap();
    assert!(published.find(Sight::FinOvertakes, Instant::ZERO).is_some());
}
