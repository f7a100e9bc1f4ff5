//! A session shows what a plain tap sees, whatever way it is stepped, and the same again after going back.

use crate::setup;
use gentle_aqm::Packet as _;
use gentle_experiment::{DEFAULT_BINS, Direction, RunSpec};
use gentle_lab::event::{Kind, ROW};
use gentle_lab::{Change, Reached, SHORT_SEGMENTS, Session, Setup, Trial, grade, record};
use gentle_sim::{DropCause, Ended, Packet, Simulation, Tap};
use gentle_units::{Instant, Nanos, Rate};

const ALL: u64 = u64::MAX;

/// Kind, time, direction, connection, length of every event.
type Plain = (u8, f64, usize, Option<u32>, u32);

/// Sees what the simulator reports, without the lab.
#[derive(Default)]
struct Native(Vec<Plain>);

impl Native {
    fn see(&mut self, kind: Kind, now: Instant, packet: &Packet) {
        let side = packet.direction().index();
        let connection = packet.connection();
        self.0.push((kind as u8, now.as_secs_f64(), side, connection, packet.bytes()));
    }
}

impl Tap for Native {
    fn offered(&mut self, now: Instant, _: Direction, packet: &Packet) {
        self.see(Kind::Offered, now, packet);
    }
    fn dequeued(&mut self, now: Instant, _: Direction, packet: &Packet) {
        self.see(Kind::Dequeued, now, packet);
    }
    fn marked(&mut self, now: Instant, _: Direction, packet: &Packet) {
        self.see(Kind::Marked, now, packet);
    }
    fn sent(&mut self, now: Instant, _: Direction, packet: &Packet) {
        self.see(Kind::Sent, now, packet);
    }
    fn dropped(&mut self, now: Instant, _: Direction, packet: &Packet, _: DropCause) {
        self.see(Kind::Dropped, now, packet);
    }
    fn delivered(&mut self, now: Instant, _: Direction, packet: &Packet) {
        self.see(Kind::Delivered, now, packet);
    }
    fn timer(&mut self, now: Instant, connection: u32, _: bool) {
        let at = now.as_secs_f64();
        self.0.push((Kind::Timer as u8, at, 0, Some(connection), 0));
    }
    fn ended(&mut self, now: Instant, ended: &Ended) {
        let at = now.as_secs_f64();
        self.0.push((Kind::Ended as u8, at, 0, Some(ended.connection), 0));
    }
}

fn native(setup: &Setup, scheme: &str, seed: u64) -> Vec<Plain> {
    let scheme = scheme.parse().unwrap();
    let scenario = setup.scenario().unwrap();
    let run = RunSpec {
        scenario: &scenario.under(&scheme),
        scheme: &scheme,
        seed,
        bins: &DEFAULT_BINS,
        keep_connections: false,
    };
    let mut simulation = Simulation::new(&run, Native::default());
    while simulation.step() {}
    simulation.tap().0.clone()
}

fn plain(rows: &[f64]) -> Vec<Plain> {
    let rows = rows.chunks_exact(ROW);
    rows.map(|row| {
        let connection = (row[4] >= 0.0).then_some(row[4] as u32);
        (row[0] as u8, row[1], row[2] as usize, connection, row[6] as u32)
    })
    .collect()
}

#[test]
fn events_are_those_of_a_native_tap() {
    for (traffic, scheme, seed) in [
        ("real", "pfifo limit=50", 1),
        ("real-reverse", "codel", 2),
        ("short", "spa", 3),
        ("calls", "fq_codel", 1),
        ("10m", "cake", 1),
    ] {
        let setup = setup(traffic, "6s");
        let expected = native(&setup, scheme, seed);
        let mut session = Session::new(&setup, scheme, seed).unwrap();
        session.set_details(true);
        let mut rows = Vec::new();
        let mut until = Instant::ZERO;
        loop {
            until += Nanos::from_millis(40);
            let reached = session.advance(until, ALL);
            rows.extend(session.take_events());
            if reached == Reached::End {
                break;
            }
        }
        let seen = plain(&rows);
        assert!(seen.len() > 500, "{traffic}: {}", seen.len());
        assert_eq!(seen.len(), expected.len(), "{traffic}");
        assert_eq!(seen, expected, "{traffic}");
        assert!(session.snapshot(false).ended);
    }
}

/// Sums of a session at `seconds`, advanced with so many steps at a time.
fn sums(session: &mut Session, seconds: f64, steps: u64) -> String {
    while session.advance(Instant::from_secs_f64(seconds), steps) == Reached::Steps {}
    serde_json::to_string(&session.snapshot(true)).unwrap()
}

#[test]
fn the_way_to_a_moment_makes_no_difference() {
    let setup = setup("real", "60s");
    let mut at_once = Session::new(&setup, "red limit=75000", 5).unwrap();
    let mut in_steps = Session::new(&setup, "red limit=75000", 5).unwrap();
    for moment in [0.5, 7.25, 30.0] {
        assert_eq!(sums(&mut at_once, moment, ALL), sums(&mut in_steps, moment, 7));
    }
    let mut packet_by_packet = Session::new(&setup, "red limit=75000", 5).unwrap();
    while packet_by_packet.now() < Instant::from_secs(29) && packet_by_packet.step() {}
    assert_eq!(sums(&mut packet_by_packet, 30.0, ALL), sums(&mut at_once, 30.0, ALL));
}

#[test]
fn going_back_repeats_what_was_with_its_changes() {
    let setup = setup("real", "60s");
    let mut session = Session::new(&setup, "pfifo limit=50", 1).unwrap();
    sums(&mut session, 10.0, ALL);
    let unchanged = sums(&mut session, 30.0, ALL);
    let rate = Rate::from_bits_per_second(1_000_000).unwrap();
    let at = Instant::from_secs;
    let mut changes = vec![
        (at(20), Change::Load(1.5)),
        (at(10), Change::Buffer(20)),
        (at(10), Change::Rate(Direction::Down, rate)),
        (at(15), Change::DropHandshake),
    ];
    session.replan(changes.clone());
    assert!(sums(&mut session, 9.5, ALL).contains("pfifo limit=50"));
    let at_20 = sums(&mut session, 20.0, ALL);
    assert!(at_20.contains("pfifo limit=20"));
    let at_30 = sums(&mut session, 30.0, ALL);

    session.back();
    assert_eq!(sums(&mut session, 20.0, 1_000), at_20.clone());
    assert_eq!(sums(&mut session, 30.0, ALL), at_30);
    changes.remove(0);
    session.replan(changes);
    assert_eq!(sums(&mut session, 20.0, ALL), at_20);
    assert_ne!(sums(&mut session, 30.0, ALL), at_30, "the load stays as it was");
    session.replan(vec![(at(40), Change::Load(1.2))]);
    assert_eq!(session.now(), Instant::ZERO, "changes that were made are missing");
    sums(&mut session, 30.0, ALL);
    session.replan(vec![(at(35), Change::Load(1.2)), (at(45), Change::Buffer(20))]);
    assert_eq!(session.now(), at(30), "other changes lie ahead");
    session.replan(Vec::new());
    assert_eq!(sums(&mut session, 30.0, ALL), unchanged);
}

#[test]
fn changes_have_their_effect() {
    let setup = setup("real", "200s");
    let sums = |change: Option<Change>| {
        let mut session = Session::new(&setup, "pfifo limit=50", 1).unwrap();
        session.replan(change.map(|change| (Instant::from_secs(20), change)).into_iter().collect());
        session.advance(Instant::from_secs(20), ALL);
        let before = session.snapshot(false).sums.completed;
        session.advance(Instant::from_secs(200), ALL);
        let sums = session.snapshot(false).sums;
        let loss = sums.dropped[0] as f64 / sums.offered[0] as f64;
        ((sums.completed - before) as f64, loss)
    };
    let (own, own_loss) = sums(None);
    let (few, _) = sums(Some(Change::Load(0.3)));
    assert!((few / own - 0.3 / 0.87).abs() < 0.1, "{few} of {own}");
    let (many, loss) = sums(Some(Change::Load(1.6)));
    assert!(many > own && loss > own_loss, "{many} of {own}, {loss} {own_loss}");
    assert!(sums(Some(Change::Buffer(5))).1 > own_loss * 1.5);
}

#[test]
fn a_connection_that_lost_its_syn_shows_the_timeout() {
    let setup = setup("real", "120s");
    let mut session = Session::new(&setup, "pfifo limit=50", 1).unwrap();
    session.set_details(true);
    let mut lost = None;
    while lost.is_none() {
        let until = session.now() + Nanos::from_millis(500);
        assert_eq!(session.advance(until, ALL), Reached::Time);
        let rows = session.take_events();
        let is_lost_syn = |row: &&[f64]| row[0] == f64::from(Kind::Dropped as u8) && row[5] == 0.0;
        lost = rows.chunks_exact(ROW).find(is_lost_syn).map(|row| row[4] as u32);
    }
    let history = session.history(lost.unwrap());
    let syn = &history.moments[0];
    assert_eq!((syn.kind, syn.seq, syn.cause), ("syn", 0, Some("tail")));
    let cost = syn.cost_s.unwrap();
    assert!((0.99..1.2).contains(&cost), "the initial RTO of Linux: {cost}");
    assert!(history.timers.iter().any(|(at, _)| (at - syn.at_s - 1.0).abs() < 0.1));
    assert!(history.response_s.unwrap() > 1.0);
    assert_eq!(history.outcome, Some("completed"));
    let again = &history.moments[1];
    assert!(again.again && again.kind == "syn");
    let data = history.moments.iter().filter(|moment| moment.kind == "data");
    assert!(data.count() > 0);
}

#[test]
fn a_trial_finds_what_the_paper_found() {
    let setup = setup("real", "300s");
    let mut trial = Trial::new(&setup, ["pfifo limit=50", "spa"], 1).unwrap();
    assert!(trial.standing().is_none());
    let standing = loop {
        trial.run_seed();
        let standing = trial.standing().unwrap();
        if standing.done {
            break standing;
        }
    };
    assert_eq!(standing.better.as_deref(), Some("spa"));
    assert!(standing.ci95_s.unwrap() < standing.difference_s.unwrap().abs());
    assert!(
        standing.words[0].contains("spa is ") && standing.words[0].contains(" times as fast"),
        "{:?}",
        standing.words
    );
    assert_eq!(standing.handshake_loss[1], Some(0.0));
    let same = Trial::new(&setup, ["spa", "spa"], 1).err().unwrap();
    assert!(same.to_string().contains("both sides are spa"), "{same}");
}

/// A grade compares short connections with themselves, so two schemes differ by what their mean response times differ.
#[test]
fn what_is_added_to_short_connections_is_what_their_means_differ_by() {
    let mut trial = Trial::new(&setup("real", "60s"), ["fq_codel", "spa"], 1).unwrap();
    for _ in 0..3 {
        trial.run_seed();
    }
    let standing = trial.standing().unwrap();
    let comparison = trial.comparison();
    let mean = |scheme: usize| {
        let result = &comparison.results[scheme];
        let short: Vec<_> = (result.response_time_by_size.iter())
            .take_while(|bin| bin.max_segments.is_some_and(|most| most <= SHORT_SEGMENTS))
            .collect();
        let connections: u64 = short.iter().map(|bin| bin.n).sum();
        let sum = |bin: &&gentle_experiment::results::SizeBin| bin.mean_s.unwrap() * bin.n as f64;
        assert!(connections > 500, "{connections}");
        short.iter().map(sum).sum::<f64>() / connections as f64
    };
    let added = |scheme: usize| standing.added_s[scheme].unwrap();
    let difference = (added(0) - added(1)) - (mean(0) - mean(1));
    assert!(difference.abs() < 2e-3, "{difference} s, {standing:?}");
    for scheme in 0..2 {
        assert_eq!(standing.grades[scheme], Some(grade(added(scheme))));
    }
}

#[test]
fn nothing_is_added_where_nobody_else_is() {
    let mut empty = setup("short", "100s");
    empty.load = Some("0.5%".to_owned());
    let mut trial = Trial::new(&empty, ["pfifo", "fq_codel"], 1).unwrap();
    trial.run_seed();
    assert_eq!(trial.standing().unwrap().grades, [Some("A+"), Some("A+")]);
}

/// Pages over kept connections have no separate size, and a download is not short.
#[test]
fn without_short_connections_there_is_no_grade() {
    let mut trial = Trial::new(&setup("rrul", "5s"), ["pfifo", "fq_codel"], 1).unwrap();
    trial.run_seed();
    assert_eq!(trial.standing().unwrap().grades, [None, None]);
}

#[test]
fn a_trial_says_first_what_people_notice() {
    let mut trial = Trial::new(&setup("home-evening", "60s"), ["pfifo limit=1000", "cake"], 1).unwrap();
    trial.run_seed();
    let words = trial.standing().unwrap().words;
    assert!(words[0].starts_with("With a plain queue (pfifo limit=1000), 95 % of web pages load within "), "{words:?}");
    assert!(words[0].contains(" With cake: "), "{words:?}");
}

#[test]
fn grades_change_at_their_limits() {
    let all = [0.0, 0.0049, 0.005, 0.03, 0.06, 0.2, 0.4, 100.0].map(grade);
    assert_eq!(all, ["A+", "A+", "A", "B", "C", "D", "F", "F"]);
}

#[test]
fn a_record_is_that_of_the_simulator() {
    let setup = setup("short", "10s");
    let text = record(&setup, "codel", 4).unwrap();
    assert!(text.starts_with("{\"version\":3,"), "{}", &text[..40]);
    assert!(text.contains("\"scheme\":\"codel\",\"seed\":4"));
}
