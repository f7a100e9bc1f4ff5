//! Snapshots of the view on screens of several sizes, keys, and random summaries on random screens.

use super::canvas::{Look, cut, width, wrap};
use super::{Action, List, View};
use gentle_trace::live::{Attempt, Span, Window};
use gentle_trace::results::{AttemptGroup, Cause, CauseKind, Lookups, NamedParty, Quantiles, Top, TopEntry};
use gentle_trace::row::Outcome;
use gentle_watch::{Counts, Summary};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use ratatui_core::backend::TestBackend;
use ratatui_core::style::Color;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::net::SocketAddr;

/// Evening of 12 August 2026, UTC.
const BEGIN: f64 = 1_786_563_600.0;

fn empty(color: bool) -> View {
    View::with(Look { color, ascii: false, zone: TimeZone::UTC })
}

fn cause(kind: CauseKind, attempts: u64, share: f64, waited_s: f64, parties: u64, most: &[(&str, u64)]) -> Cause {
    let most = most.iter().map(|&(name, attempts)| NamedParty { name: name.to_owned(), attempts }).collect();
    let group = AttemptGroup { attempts, waited_s, parties, most };
    let [sentence, remedy, check] = [const { String::new() }; 3];
    Cause { kind, group, share, direction: None, evidence: [].into(), sentence, remedy, check }
}

fn entry(name: &str, attempts: u64, failures: u64, with_loss: u64, time_lost_s: f64, failed_s: f64) -> TopEntry {
    let name = name.to_owned();
    TopEntry { name, attempts, answered: attempts - failures, failures, with_loss, time_lost_s, failed_s }
}

fn window(seconds: f64, scale: u64) -> Window {
    let many = scale as f64;
    let connect_s = Quantiles { p50: Some(0.0234), p99: Some(1.04), ..Quantiles::default() };
    let mut causes = vec![
        cause(
            CauseKind::Congestion,
            8 * scale,
            0.0023,
            8.0 * many,
            2,
            &[("203.0.113.7:443", 5), ("203.0.113.9:443", 3)],
        ),
        cause(CauseKind::ListenQueue, 3 * scale, 0.00088, 3.2 * many, 1, &[("198.51.100.20:5432", 3)]),
        cause(CauseKind::DeadHost, scale, 0.0003, 1.0 * many, 1, &[("[2001:db8:17::5]:8443", 1)]),
        cause(CauseKind::Refused, scale, 0.0003, 0.0, 4, &[("192.0.2.80:80", 1), ("192.0.2.81:80", 1)]),
    ];
    causes[0].evidence = [("data_segments", 52_310.0), ("data_lost", 412.0)].into();
    Window {
        seconds,
        attempts: 3410 * scale,
        completed: 3408 * scale,
        slow: 11 * scale,
        failed: 2 * scale,
        with_loss: 11 * scale,
        waited_s: 11.2 * many,
        failed_s: 1.0 * many,
        connect_s,
        causes,
        top: Top {
            servers: vec![
                entry("203.0.113.7:443", 812 * scale, 0, 5 * scale, 5.1 * many, 0.0),
                entry("198.51.100.20:5432", 96 * scale, 0, 3 * scale, 3.2 * many, 0.0),
                entry("203.0.113.9:443", 402 * scale, 0, 3 * scale, 2.9 * many, 0.0),
                entry("[2001:db8:17::5]:8443", scale, scale, 0, 0.0, 1.0 * many),
            ],
            clients: Vec::new(),
            prefixes: vec![entry("203.0.113.0/24", 1214 * scale, 0, 8 * scale, 8.0 * many, 0.0)],
        },
        ports: vec![entry("443", 3100 * scale, scale, 8 * scale, 8.0 * many, 1.0 * many)],
        names: [("203.0.113.7".to_owned(), "shop.example".to_owned())].into_iter().collect(),
        ..Window::default()
    }
}

/// Summary after `second` seconds, of a link that is congested from time to time.
fn summary(second: u32) -> Summary {
    let now = f64::from(second);
    let mut seconds = window(10.0, 1);
    seconds.attempts = u64::from(560 + second * 7 % 90);
    seconds.slow = u64::from((second % 60).saturating_sub(40));
    seconds.failed = u64::from(second % 60 == 59);
    Summary {
        time: BEGIN + now,
        device: "eth0".to_owned(),
        up_s: 8040.0 + now,
        seconds,
        minute: window(64.0, 1),
        hour: window(3720.0, 58),
        counts: Counts {
            packets: 1_000_000 + 12_345 * u64::from(second),
            sample: 1.0,
            handshake_sample: 1.0,
            connections: 812,
            ..Counts::default()
        },
        ..Summary::default()
    }
}

fn attempt(second: f64, server: &str, waited_s: f64, outcome: Outcome, cause: Option<CauseKind>) -> Attempt {
    Attempt {
        time: BEGIN + second,
        client: SocketAddr::from(([198, 51, 100, 7], 50_000 + second as u16)),
        server: server.parse().unwrap(),
        client_name: None,
        name: server.starts_with("203.0.113.7:").then(|| "shop.example".to_owned()),
        outcome,
        slow: outcome.is_complete(),
        syns: 2,
        synacks: 1,
        connect_s: None,
        waited_s,
        cause,
    }
}

fn evening() -> View {
    let mut view = empty(true);
    for second in 0..200 {
        view.summary(summary(second));
    }
    view.note("The listen queue of 198.51.100.20:5432 overflowed 12 times.".to_owned());
    for second in [150.0, 157.0, 161.0, 163.0] {
        view.attempt(attempt(second, "203.0.113.7:443", 1.02, Outcome::Succeeded, Some(CauseKind::Congestion)));
    }
    view.attempt(attempt(171.0, "192.0.2.80:80", 0.0, Outcome::Refused, Some(CauseKind::Refused)));
    view.attempt(attempt(181.0, "[2001:db8:17::5]:8443", 63.0, Outcome::Unanswered, None));
    view.attempt(attempt(188.0, "198.51.100.20:5432", 3.05, Outcome::Succeeded, Some(CauseKind::ListenQueue)));
    view
}

/// Text of a screen.
fn screen(view: &View, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| view.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n";
    (0..rows).map(row).collect()
}

fn press(view: &mut View, code: KeyCode) -> Action {
    view.key(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn an_evening_with_congestion() {
    let view = evening();
    insta::assert_snapshot!("evening_80x24", screen(&view, 80, 24));
    insta::assert_snapshot!("evening_120x40", screen(&view, 120, 40));
    insta::assert_snapshot!("evening_39x10", screen(&view, 39, 10));
    insta::assert_snapshot!("evening_200x60", screen(&view, 200, 60));
}

#[test]
fn the_start_and_a_quiet_minute() {
    let mut view = empty(true);
    insta::assert_snapshot!("start_80x24", screen(&view, 80, 24));
    let none = Window { seconds: 1.0, ..Window::default() };
    let [seconds, minute, hour] = [none.clone(), none.clone(), none];
    let device = "eth0".to_owned();
    view.summary(Summary {
        time: BEGIN,
        device,
        up_s: 1.0,
        counts: Counts { sample: 1.0, handshake_sample: 1.0, ..Counts::default() },
        seconds,
        minute,
        hour,
        ..Summary::default()
    });
    insta::assert_snapshot!("quiet_80x24", screen(&view, 80, 24));
}

#[test]
fn missed_packets_and_a_sample_on_a_linux_console() {
    let mut view = evening();
    view.look.ascii = true;
    let mut last = summary(200);
    last.counts = Counts { missed: 4120, forgotten: 1, sample: 0.25, ..last.counts };
    view.summary(last);
    insta::assert_snapshot!("warnings_80x24", screen(&view, 80, 24));
    press(&mut view, KeyCode::Char('?'));
    assert!(screen(&view, 80, 24).is_ascii());
}

#[test]
fn a_paused_view_stays_and_later_resumes() {
    let mut view = evening();
    press(&mut view, KeyCode::Char(' '));
    let paused = screen(&view, 80, 24);
    insta::assert_snapshot!("paused_80x24", paused);
    view.summary(Summary { device: "eth1".to_owned(), ..summary(200) });
    view.attempt(attempt(200.0, "192.0.2.1:1", 1.0, Outcome::Succeeded, None));
    view.note("The device went away.".to_owned());
    assert_eq!(screen(&view, 80, 24), paused);
    press(&mut view, KeyCode::Char('p'));
    let resumed = screen(&view, 80, 40);
    for news in ["eth1", "192.0.2.1:1", "The device went away."] {
        assert!(resumed.contains(news), "{news}\n{resumed}");
    }
}

#[test]
fn pages_on_top() {
    let mut view = evening();
    press(&mut view, KeyCode::Char('?'));
    insta::assert_snapshot!("help_80x24", screen(&view, 80, 24));
    assert_eq!(press(&mut view, KeyCode::Esc), Action::None);
    press(&mut view, KeyCode::Down);
    press(&mut view, KeyCode::Enter);
    insta::assert_snapshot!("remedy_39x16", screen(&view, 39, 16));
    assert_eq!(press(&mut view, KeyCode::Char('q')), Action::Quit);
}

#[test]
fn keys_choose_the_window_and_the_list_and_quit() {
    let mut view = evening();
    for (key, span) in [('1', Span::Seconds), ('3', Span::Hour), ('2', Span::Minute)] {
        press(&mut view, KeyCode::Char(key));
        assert_eq!(view.span, span);
    }
    for list in [List::Prefixes, List::Ports, List::Servers] {
        press(&mut view, KeyCode::Tab);
        assert_eq!(view.list, list);
    }
    press(&mut view, KeyCode::BackTab);
    assert_eq!(view.list, List::Ports);
    assert_eq!(press(&mut view, KeyCode::Char('c')), Action::None);
    assert_eq!(view.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Action::Quit);
    assert_eq!(press(&mut view, KeyCode::Esc), Action::Quit);
}

#[test]
fn the_selection_follows_its_cause() {
    let mut view = evening();
    press(&mut view, KeyCode::Up);
    assert_eq!(view.cause, Some(CauseKind::Congestion));
    press(&mut view, KeyCode::Char('j'));
    assert_eq!(view.cause, Some(CauseKind::ListenQueue));
    let mut later = summary(200);
    later.minute.causes.reverse();
    view.summary(later);
    assert!(screen(&view, 80, 24).contains("> Full listen queue"));
    for _ in 0..9 {
        press(&mut view, KeyCode::Down);
    }
    assert_eq!(view.cause, Some(CauseKind::Congestion));
    assert!(screen(&view, 39, 10).contains("> Congestion"));
    // Without the cause in the window, the first one is explained.
    view.summary(Summary {
        minute: Window { causes: vec![cause(CauseKind::Scan, 1, 0.1, 1.0, 0, &[])], ..window(64.0, 1) },
        ..summary(201)
    });
    assert!(screen(&view, 80, 24).contains("> Scan"));
}

#[test]
fn slow_lookups_follow_the_verdict() {
    let mut view = evening();
    let mut later = summary(200);
    let causes = vec![cause(CauseKind::DnsLoss, 3, 0.01, 15.0, 1, &[("192.0.2.53:53", 3)])];
    later.minute.lookups = Some(Lookups { lookups: 300, causes, ..Lookups::default() });
    view.summary(later);
    let shown = screen(&view, 80, 24);
    assert!(shown.contains("Slow lookups: DNS query or answer lost: 3 lookups, 15.0 s at 192.0.2.53:53"), "{shown}");
}

#[test]
fn a_scrolled_log_keeps_its_place() {
    let mut view = empty(true);
    for second in 0..40 {
        view.attempt(attempt(f64::from(second), "192.0.2.1:1", 1.0, Outcome::Succeeded, None));
    }
    press(&mut view, KeyCode::PageDown);
    let before = screen(&view, 80, 24).lines().skip(4).collect::<String>();
    view.attempt(attempt(41.0, "192.0.2.1:1", 1.0, Outcome::Succeeded, None));
    assert_eq!(screen(&view, 80, 24).lines().skip(4).collect::<String>(), before);
    press(&mut view, KeyCode::Home);
    assert_ne!(screen(&view, 80, 24).lines().skip(4).collect::<String>(), before);
}

#[test]
fn findings_stay_while_many_attempts_fail() {
    let mut view = empty(true);
    view.note("The conntrack table is full.".to_owned());
    assert!(screen(&view, 80, 24).contains("The conntrack table is full."));
    for _ in 0..1000 {
        view.attempt(attempt(1.0, "192.0.2.1:1", 1.0, Outcome::Unanswered, None));
    }
    view.summary(summary(7));
    assert!(screen(&view, 80, 24).contains("19:40:07 The conntrack table is full."));
    view.summary(summary(400));
    assert!(!screen(&view, 80, 24).contains("The conntrack table is full."));
}

#[test]
fn without_colours_no_cell_has_one() {
    for color in [false, true] {
        let mut view = evening();
        view.look.color = color;
        let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        let is_colored = |cell: &ratatui_core::buffer::Cell| cell.fg != Color::Reset || cell.bg != Color::Reset;
        assert_eq!(terminal.backend().buffer().content().iter().any(is_colored), color);
    }
}

#[test]
fn lines_have_the_names_of_both_ends() {
    let mut attempt = attempt(3.0, "203.0.113.7:443", 1.0, Outcome::Succeeded, Some(CauseKind::Congestion));
    attempt.client_name = Some("lap\u{1b}top".to_owned());
    let line = super::super::text::attempt(&attempt);
    assert!(line.contains(" lap top (198.51.100.7:50003) > shop.example (203.0.113.7:443) slow after 1"), "{line}");
}

#[test]
fn names_cannot_control_the_terminal() {
    let mut view = empty(true);
    let mut bad = summary(1);
    bad.device = "e\u{1b}[2J\u{9b}1m".to_owned();
    bad.minute.causes[0].group.most[0].name = "\u{1b}]0;x\u{7}".to_owned();
    bad.minute.top.servers[0].name = "\u{202e}\r\n".to_owned();
    bad.minute.names = [("198.51.100.20".to_owned(), "\u{9b}31m".to_owned())].into_iter().collect();
    view.summary(bad);
    view.note("\u{1b}[31m\nred".to_owned());
    for (columns, rows) in [(80, 24), (200, 60)] {
        let text = screen(&view, columns, rows);
        assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
    }
}

#[test]
fn text_is_cut_and_wrapped_by_its_width() {
    assert_eq!(cut("203.0.113.7:443", 8), "203.0...");
    assert_eq!(cut("日本語", 5), "日..");
    assert_eq!(cut("abc", 1), ".");
    assert_eq!(cut("abc", 0), "");
    assert_eq!(wrap("one two\u{a0}three four", 10), ["one", "two three", "four"]);
    assert_eq!(wrap("", 10), [""]);
    assert_eq!(wrap("日本語", 1), ["日", "本", "語"]);
}

fn any_count() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..100_u64, Just(u64::MAX), any::<u64>()]
}

fn any_seconds() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..100.0, any::<f64>()]
}

prop_compose! {
    fn any_cause()(
        kind in proptest::sample::select(&CauseKind::ALL[..]),
        (attempts, parties, share, waited_s) in (any_count(), any_count(), any_seconds(), any_seconds()),
        names in proptest::collection::vec(".{0,60}", 0..4),
    ) -> Cause {
        let most: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        cause(kind, attempts, share, waited_s, parties, &most)
    }
}

prop_compose! {
    fn any_entry()(
        name in ".{0,60}",
        numbers in [any_count(), any_count(), any_count()],
        (time_lost_s, failed_s) in (any_seconds(), any_seconds()),
    ) -> TopEntry {
        let [attempts, failures, with_loss] = numbers;
        TopEntry { name, attempts, answered: 0, failures, with_loss, time_lost_s, failed_s }
    }
}

prop_compose! {
    fn any_window()(
        seconds in any_seconds(),
        [attempts, slow, failed] in [any_count(), any_count(), any_count()],
        [waited_s, failed_s] in [any_seconds(), any_seconds()],
        (p50, p99) in (proptest::option::of(any_seconds()), proptest::option::of(any_seconds())),
        causes in proptest::collection::vec(any_cause(), 0..22),
        servers in proptest::collection::vec(any_entry(), 0..12),
    ) -> Window {
        let connect_s = Quantiles { p50, p99, ..Quantiles::default() };
        let top = Top { prefixes: servers.clone(), servers, ..Top::default() };
        let ports = top.servers.clone();
        Window { seconds, attempts, slow, failed, waited_s, failed_s, connect_s, causes, top, ports, ..Window::default() }
    }
}

prop_compose! {
    fn any_summary()(
        (time, up_s, sample) in (any_seconds(), any_seconds(), any_seconds()),
        device in ".{0,30}",
        (seconds, minute, hour) in (any_window(), any_window(), any_window()),
        [packets, missed, forgotten] in [any_count(), any_count(), any_count()],
    ) -> Summary {
        Summary { time, device, up_s, seconds, minute, hour, counts: Counts { packets, missed, sample, forgotten, ..Counts::default() }, ..Summary::default() }
    }
}

fn any_key() -> impl Strategy<Value = KeyCode> {
    use KeyCode::{BackTab, Char, Down, Enter, Esc, Home, PageDown, PageUp, Tab, Up};
    let chars = ['1', '2', '3', 'p', '?', 'j', 'k', ' '].map(Char);
    let others = [BackTab, Down, Enter, Esc, Home, PageDown, PageUp, Tab, Up];
    proptest::sample::select([&chars[..], &others].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_summary_panics_on_any_screen(
        (columns, rows) in (1..=250_u16, 1..=80_u16),
        summaries in proptest::collection::vec(any_summary(), 0..4),
        waits in proptest::collection::vec(any_seconds(), 0..12),
        note in ".{0,300}",
        keys in proptest::collection::vec(any_key(), 0..8),
        (color, ascii) in any::<(bool, bool)>(),
    ) {
        let mut view = empty(color);
        view.look.ascii = ascii;
        for summary in summaries {
            view.summary(summary);
        }
        let server = "[2001:db8:ffff:eeee:dddd:cccc:bbbb:aaaa]:65535";
        for waited_s in waits {
            let attempt = attempt(1.0, server, waited_s, Outcome::HalfOpen, None);
            view.attempt(Attempt { time: waited_s, ..attempt });
            view.note(note.clone());
        }
        for key in keys {
            press(&mut view, key);
            let text = screen(&view, columns, rows);
            prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        }
        prop_assert_eq!(screen(&view, columns, rows).lines().count(), usize::from(rows));
        prop_assert!(width(&cut(&note, columns.into())) <= columns.into());
    }
}
