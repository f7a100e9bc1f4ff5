//! The page: complete in itself, and safe with whatever text a user puts into a scenario.

use super::fixture::comparison;
use crate::html::{assert_loads_nothing, parse, texts};
use gentle_report::compare::html;

#[test]
fn loads_nothing() {
    assert_loads_nothing(&html(&comparison()));
}

#[test]
fn carries_the_results_as_json() {
    let comparison = comparison();
    let document = parse(&html(&comparison));
    let data = &texts(&document, "script#data")[0];
    assert!(data.replace("\\u003c", "<") == serde_json::to_string(&comparison).unwrap());
}

#[test]
fn the_table_has_a_row_a_scheme_without_any_script() {
    let comparison = comparison();
    let document = parse(&html(&comparison));
    let labels: Vec<&str> = comparison
        .results
        .iter()
        .map(|r| r.label.as_str())
        .collect();
    assert_eq!(texts(&document, "tbody th"), labels);
    let columns = texts(&document, "thead th").len();
    assert_eq!(texts(&document, "tbody tr:first-child > *").len(), columns);
    assert_eq!(
        texts(&document, "tbody tr:first-child td")[0],
        "4.120 ±0.124"
    );
    assert_eq!(texts(&document, "noscript").len(), 1);
}

#[test]
fn hostile_text_stays_text() {
    let mut comparison = comparison();
    let hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>{{ data }}";
    comparison.scenario.title = hostile.to_owned();
    comparison.scenario.source = hostile.to_owned();
    comparison.scenario.choices = vec![hostile.to_owned()];
    comparison.results[0].label = hostile.to_owned();
    comparison.results[0].scheme = hostile.to_owned();
    let page = html(&comparison);
    let document = parse(&page);
    assert_eq!(texts(&document, "script").len(), 4);
    assert_eq!(texts(&document, "img").len(), 0);
    assert_eq!(texts(&document, "h1"), [hostile]);
    assert_eq!(texts(&document, "tbody th")[0], hostile);
    let embedded: serde_json::Value =
        serde_json::from_str(&texts(&document, "script#data")[0]).unwrap();
    assert_eq!(embedded["scenario"]["title"], hostile);
}

#[test]
fn an_interrupted_run_without_results_still_gives_a_page() {
    let mut comparison = comparison();
    comparison.results.clear();
    comparison.interrupted = true;
    let document = parse(&html(&comparison));
    assert_eq!(
        texts(&document, ".verdict li"),
        ["No run had finished, so there is nothing to show."]
    );
    assert!(texts(&document, ".notes li")[0].starts_with("The run was stopped early"));
    assert_eq!(texts(&document, "table").len(), 0);
}

#[test]
fn same_results_same_bytes() {
    assert_eq!(html(&comparison()), html(&comparison()));
}
