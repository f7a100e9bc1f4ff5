//! The book says what every field means, and names none that does not exist.

use super::fixture::rich;
use gentle_report::connections::COLUMNS;
use gentle_trace::results::OtherHandshakes;
use serde_json::Value;
use std::collections::BTreeSet;

const BOOK: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/analyze-json.md"
));

/// Maps whose keys are data, not fields.
const MAPS: [&str; 6] = [
    "skipped",
    "other",
    "tunnels",
    "evidence",
    "retransmissions",
    "versions",
];

/// Every key of every object.
fn keys(json: &Value, into: &mut BTreeSet<String>) {
    match json {
        Value::Array(items) => items.iter().for_each(|item| keys(item, into)),
        Value::Object(fields) => {
            for (key, value) in fields {
                into.insert(key.clone());
                let counts =
                    |value: &Value| value.as_object().is_some_and(|o| !o.contains_key("probes"));
                if !(MAPS.contains(&key.as_str()) && counts(value)) {
                    keys(value, into);
                }
            }
        }
        _ => {}
    }
}

fn emitted() -> BTreeSet<String> {
    let mut analysis = rich();
    analysis.other_protocols.dccp = Some(OtherHandshakes::default());
    let mut emitted = BTreeSet::new();
    keys(&serde_json::to_value(analysis).unwrap(), &mut emitted);
    emitted
}

/// What stands in backquotes in the first cells of the tables.
fn documented() -> BTreeSet<String> {
    let rows = BOOK.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split(" | ").next().unwrap_or_default());
    cells
        .flat_map(|cell| cell.split(['`', ',', ' ', '{', '}', '[', ']', '|']))
        .filter(|word| !word.is_empty() && !word.ends_with(':') && *word != "count")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_field_is_in_the_book() {
    let emitted = emitted();
    assert!(emitted.len() > 100, "{emitted:?}");
    let missing: Vec<&String> = emitted
        .iter()
        .filter(|key| !BOOK.contains(&format!("`{key}`")))
        .collect();
    assert!(missing.is_empty(), "docs/analyze-json.md lacks {missing:?}");
}

#[test]
fn every_field_of_the_book_exists() {
    let mut known = emitted();
    known.extend(COLUMNS.iter().map(|column| column.name.to_owned()));
    let unknown: Vec<String> = documented()
        .into_iter()
        .filter(|name| !known.contains(name))
        .collect();
    assert!(unknown.is_empty(), "docs/analyze-json.md has {unknown:?}");
}

/// The table of the columns comes from the program: `UPDATE_DOCS=1` writes it.
#[test]
fn the_columns_of_connections_are_in_the_book() {
    let mut table = String::from("| column | meaning |\n| --- | --- |\n");
    for column in COLUMNS {
        table += &format!("| `{}` | {} |\n", column.name, column.about);
    }
    let (text, written) = BOOK
        .split_once("| column | meaning |")
        .unwrap_or((BOOK, ""));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/analyze-json.md");
        std::fs::write(path, format!("{text}{table}")).unwrap();
        return;
    }
    assert_eq!(format!("| column | meaning |{written}"), table);
}
