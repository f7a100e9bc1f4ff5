//! Table and list for the terminal.

use super::fixture::reproduction;
use gentle_papers::PAPERS;
use gentle_report::reproduce::{list, table};

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn table_fits_the_usual_widths() {
    for width in [120, 80] {
        let text = table(&reproduction(), Some(width), false);
        assert!(widest(&text) <= width, "wider than {width}:\n{text}");
        insta::assert_snapshot!(format!("table_{width}"), text);
    }
}

#[test]
fn table_without_a_width_wraps_nothing() {
    let text = table(&reproduction(), None, false);
    for item in reproduction().items {
        assert!(text.contains(&item.title), "{}:\n{text}", item.title);
    }
}

#[test]
fn colours_are_the_caller_s_choice_and_only_colours() {
    let plain = table(&reproduction(), Some(80), false);
    assert!(!plain.contains('\u{1b}'));
    let colored = table(&reproduction(), Some(80), true);
    assert!(colored.contains("\u{1b}["));
    let mut stripped = String::new();
    let mut rest = colored.as_str();
    while let Some((before, code)) = rest.split_once('\u{1b}') {
        stripped += before;
        rest = code.split_once('m').unwrap().1;
    }
    stripped += rest;
    // Colour makes spaces at the end of a line visible to the library.
    let lines: Vec<&str> = stripped.lines().map(str::trim_end).collect();
    assert_eq!(lines, plain.lines().collect::<Vec<_>>());
}

#[test]
fn text_of_a_paper_cannot_control_the_terminal() {
    let mut hostile = reproduction();
    for item in &mut hostile.items {
        item.title = "a\u{1b}[31mb".to_owned();
        item.reason = Some("c\u{1b}]0;d\u{7}".to_owned());
    }
    assert!(!table(&hostile, Some(80), false).contains('\u{1b}'));
}

#[test]
fn the_list_has_every_item_of_every_paper() {
    for width in [Some(80), None] {
        let text = list(PAPERS, width, false);
        for paper in PAPERS {
            assert!(text.contains(paper.name));
            for part in paper.parts {
                assert!(text.contains(part.id), "{}", part.id);
            }
            for variants in paper.assumptions {
                assert!(text.contains(&format!("assumption/{}", variants.id)));
            }
        }
        assert!(widest(&text) <= width.unwrap_or(usize::MAX), "{text}");
        assert!(!text.contains('\u{1b}'));
    }
    assert!(list(PAPERS, Some(80), true).contains("\u{1b}[1mspa-2018\u{1b}[0m"));
}
