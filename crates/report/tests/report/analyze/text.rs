//! Report on a terminal, as its reader sees it.

use super::fixture::{HOSTILE, healthy, hostile, rich, without_tcp};
use gentle_report::analyze::{self, Detail};
use gentle_trace::results::Analysis;

fn text(analyses: &[Analysis], width: Option<usize>, color: bool) -> String {
    analyze::text(analyses, Detail::Full, width, color)
}

fn brief(analyses: &[Analysis], width: Option<usize>) -> String {
    analyze::text(analyses, Detail::Brief, width, false)
}

/// Analysis `rich` with the original addresses of its capture.
fn rich_as_captured() -> Analysis {
    Analysis { anonymized: false, ..rich() }
}

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
fn the_brief_report_is_what_an_operator_acts_on() {
    // Contains every possible part: losses, slow lookups, a list of flows, damage.
    for (width, lines) in [(120, 74), (80, 110)] {
        let text = brief(&[rich_as_captured()], Some(width));
        assert!(widest(&text) <= width, "wider than {width}:\n{text}");
        assert!(text.lines().count() <= lines, "{text}");
        insta::assert_snapshot!(format!("brief_{width}"), text);
        let filter = "ip.addr == 192.0.2.7 && tcp.port == 443 && tcp.flags.syn == 1";
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(filter), "{text}");
        let [first, second, rest @ ..] = &rich().verdict[..] else { panic!("few sentences") };
        assert!(text.starts_with(&format!("{first} {second} Next: ")), "{text}");
        assert!(text.ends_with(&rest.join(" ")), "{text}");
    }
    let healthy = brief(&[healthy()], Some(80));
    assert!(healthy.lines().count() <= 12, "{healthy}");
    assert!(healthy.starts_with("None of 84 connections lost a SYN or SYN/ACK.\n"), "{healthy}");
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
    let place = |what: &str| both.find(what).unwrap_or_else(|| panic!("no {what} in\n{both}"));
    assert!(both.starts_with("lan.pcap\n"), "{both}");
    assert!(place("\nNone of 84 connections lost") < place("How connections ended"));
    assert!(place("How connections ended") < place("\n\ndns.pcap\n"));
    assert!(place("\n\ndns.pcap\n") < place("\nThis capture has no TCP"));
}

#[test]
fn the_headline_comes_first_and_colour_is_the_caller_s_choice() {
    let plain = text(&[rich()], None, false);
    assert!(plain.starts_with(&rich().verdict[..2].join(" ")));
    assert!(plain.ends_with(&format!("\n\n{}\n", rich().verdict[2..].join(" "))));
    assert!(!plain.contains('\u{1b}'));
    let coloured = text(&[rich()], None, true);
    assert!(coloured.contains("\u{1b}[1mTCP handshakes\u{1b}[0m\n"));
    assert_eq!(coloured.replace("\u{1b}[1m", "").replace("\u{1b}[0m", ""), plain);
}

#[test]
fn names_cannot_control_the_terminal() {
    let text = text(&[hostile(), hostile()], Some(100), false);
    assert!(text.contains("alert(1)") && HOSTILE.contains('\u{1b}'));
    for c in text.chars() {
        assert!(c == '\n' || !(c.is_control() || c == '\u{202e}'), "{c:?}");
    }
}

#[test]
fn names_that_are_explained_are_those_of_tables() {
    let text = text(&[rich(), healthy()], None, false);
    // A head may be on two lines of its table.
    let is_named = |name: &str| {
        let mut words = name.split(' ');
        text.lines().any(|line| line.trim_start().starts_with(name))
            || words.all(|word| text.split_whitespace().any(|shown| shown == word))
    };
    for (title, columns) in gentle_report::analyze::columns() {
        for column in columns {
            assert!(is_named(&column.head), "{title}: {}", column.head);
            let explained = format!("{}: {}", column.head, column.meaning);
            assert!(text.contains(&explained), "{title}: {explained}");
        }
    }
}
