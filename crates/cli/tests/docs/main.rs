//! Documentation in sync with the program: the tables of options and knobs, and the numbers in pages ([`printed`]).
//!
//! `UPDATE_DOCS=1 cargo test -p gentle --test docs` rewrites them; the surrounding prose is kept.

#[cfg(unix)]
mod printed;

use gentle_aqm::{Scheme, registry::SCHEMES};
use gentle_tcp::Profile;
use std::fmt::Write as _;
use std::path::Path;

/// Escapes the separator of cells.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn options(scheme: &Scheme) -> String {
    let mut table = String::from("| option | default | accepts | |\n| --- | --- | --- | --- |\n");
    for option in scheme.options {
        let default = option
            .default
            .map_or_else(|| "unset".to_owned(), |text| format!("`{text}`"));
        let accepts = cell(&option.kind.to_string());
        let _ = writeln!(
            table,
            "| `{}` | {default} | {accepts} | {} |",
            option.name,
            cell(option.help)
        );
    }
    if let Some(child) = scheme.child {
        let _ = writeln!(
            table,
            "| `child` | `{child}` | any scheme that stores packets | the scheme beneath; its options are accepted too |"
        );
    }
    let _ = write!(table, "\nSource: {}.", scheme.source);
    table
}

fn knobs() -> String {
    let mut table = String::from("| knob |");
    for name in Profile::NAMES {
        let _ = write!(table, " `{name}` |");
    }
    let _ = writeln!(
        table,
        " |\n| ---{} |",
        " | ---".repeat(Profile::NAMES.len() + 1)
    );
    for knob in Profile::knobs() {
        let _ = write!(table, "| `{}` |", knob.name);
        for name in Profile::NAMES {
            let value = Profile::by_name(name).unwrap().get(knob.name).unwrap();
            let _ = write!(table, " {} |", cell(&value));
        }
        let _ = writeln!(table, " {} ({}) |", cell(knob.help), cell(knob.takes));
    }
    table.trim_end().to_owned()
}

fn profiles() -> String {
    let mut table = String::from("| profile | stands for |\n| --- | --- |");
    for (i, name) in Profile::NAMES.iter().enumerate() {
        let summary = cell(Profile::summary(name).unwrap());
        let default = if i == 0 { "; the default" } else { "" };
        let _ = write!(table, "\n| `{name}` | {summary}{default} |");
    }
    table
}

/// Compares the part of `file` between the markers for `name` with `expected`, or updates it.
fn check(file: &str, name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- table: {name} -->\n"), "\n<!-- end -->");
    let from = text
        .find(&begin)
        .unwrap_or_else(|| panic!("{file} has nothing on {name}: expected {begin}"));
    let from = from + begin.len();
    let to = from
        + text[from..]
            .find(end)
            .unwrap_or_else(|| panic!("{file}: {name} has no {end}"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, [&text[..from], expected, &text[to..]].concat()).unwrap();
        return;
    }
    assert!(
        text[from..to] == *expected,
        "docs/{file}: {name} is out of date; UPDATE_DOCS=1 cargo test -p gentle --test docs writes it anew"
    );
}

#[test]
fn every_scheme_is_in_the_book_with_its_options() {
    for scheme in SCHEMES {
        check("schemes.md", scheme.name, &options(scheme));
    }
}

#[test]
fn every_profile_is_in_the_book_with_its_knobs() {
    check("tcp-profiles.md", "profiles", &profiles());
    check("tcp-profiles.md", "knobs", &knobs());
}

#[test]
fn the_contents_name_every_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let index = std::fs::read_to_string(docs.join("index.md")).unwrap();
    for entry in std::fs::read_dir(docs).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") && name != "index.md" {
            assert!(index.contains(&format!("({name})")), "{name}");
        }
    }
}
