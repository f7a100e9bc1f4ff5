//! The report on a terminal, as a reader sees it.

use super::fixture::{HOSTILE, healthy, hostile, rich, without_tcp};
use gentle_report::analyze::text;

fn widest(text: &str) -> usize {
    let widths = text.lines().map(|line| line.chars().count());
    widths.max().unwrap_or(0)
}

#[test]
fn a_lossy_capture_at_usual_widths() {
    for width in [120, 80] {
        let text = text(&[rich()], Some(width), false);
        assert!(widest(&text) <= width, "wider than {width}:\n{text}");
        insta::assert_snapshot!(format!("rich_{width}"), text);
    }
}

#[test]
fn a_narrow_terminal_loses_bars_and_then_gets_tables_in_pieces() {
    let at = |width: usize| {
        let text = text(&[rich()], Some(width), false);
        assert!(widest(&text) <= width, "wider than {width}:\n{text}");
        let with = |name: &str| text.lines().filter(|line| line.contains(name)).count();
        let bar = |line: &str| line.contains("192.0.2.18:443") && line.contains('█');
        (with("192.0.2.18:443"), text.lines().any(bar))
    };
    assert_eq!(at(120), (1, true));
    assert_eq!(at(80), (1, false));
    assert_eq!(at(60), (2, false));
}

#[test]
fn a_healthy_capture_is_short() {
    for width in [120, 80] {
        let text = text(&[healthy()], Some(width), false);
        assert!(widest(&text) <= width, "wider than {width}:\n{text}");
        insta::assert_snapshot!(format!("healthy_{width}"), text);
    }
}

#[test]
fn a_capture_without_tcp_gives_sentences() {
    insta::assert_snapshot!(text(&[without_tcp()], Some(80), false));
}

#[test]
fn several_captures_come_one_after_the_other() {
    let both = text(&[healthy(), without_tcp()], Some(80), false);
    let place = |what: &str| {
        both.find(what)
            .unwrap_or_else(|| panic!("no {what} in\n{both}"))
    };
    assert!(
        both.starts_with("lan.pcap\nNone of 84 connections"),
        "{both}"
    );
    assert!(place("How connections ended") < place("\n\ndns.pcap\nThis capture has no TCP"));
}

#[test]
fn the_verdict_comes_first_and_colour_is_the_caller_s_choice() {
    let plain = text(&[rich()], None, false);
    assert!(plain.starts_with("2.1 % of 48,210 connections"));
    assert!(!plain.contains('\u{1b}'));
    let coloured = text(&[rich()], None, true);
    assert!(coloured.contains("\u{1b}[1mTCP handshakes\u{1b}[0m\n"));
    assert_eq!(
        coloured.replace("\u{1b}[1m", "").replace("\u{1b}[0m", ""),
        plain
    );
}

#[test]
fn names_cannot_control_the_terminal() {
    let text = text(&[hostile(), hostile()], Some(100), false);
    assert!(text.contains("alert(1)") && HOSTILE.contains('\u{1b}'));
    for c in text.chars() {
        assert!(c == '\n' || !(c.is_control() || c == '\u{202e}'), "{c:?}");
    }
}
