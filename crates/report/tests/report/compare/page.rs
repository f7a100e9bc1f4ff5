//! Page of a comparison: self-contained, and safe with any text in a scenario.

use super::calls::harmed;
use super::fixture::comparison;
use crate::html::{assert_loads_nothing, parse, texts};
use gentle_experiment::results::Comparison;
use gentle_report::{Origin, compare};

/// Page with a known command and without a date.
fn html(comparison: &Comparison) -> String {
    let origin = Origin {
        tool: "gentle compare".to_owned(),
        command: Some("gentle compare --scheme 'codel target=20ms'".to_owned()),
        date: None,
    };
    compare::html(comparison, &origin)
}

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
    let labels: Vec<&str> = comparison.results.iter().map(|r| r.label.as_str()).collect();
    assert_eq!(texts(&document, "tbody th"), labels);
    let columns = texts(&document, "thead th").len();
    assert_eq!(texts(&document, "tbody tr:first-child > *").len(), columns);
    assert_eq!(texts(&document, "tbody tr:first-child td")[0], "2.191 ±0.088");
    assert_eq!(texts(&document, "noscript").len(), 1);
}

#[test]
fn hostile_text_stays_text() {
    let mut comparison = comparison();
    let hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>{{ data }}";
    comparison.scenario.title = hostile.to_owned();
    comparison.scenario.source = hostile.to_owned();
    comparison.scenario.assumptions = vec![hostile.to_owned()];
    comparison.results[0].label = hostile.to_owned();
    comparison.results[0].scheme = hostile.to_owned();
    let page = html(&comparison);
    let document = parse(&page);
    assert_eq!(texts(&document, "script").len(), 6);
    assert_eq!(texts(&document, "img").len(), 0);
    assert_eq!(texts(&document, "h1"), [hostile]);
    assert_eq!(texts(&document, "tbody th")[0], hostile);
    let embedded: serde_json::Value = serde_json::from_str(&texts(&document, "script#data")[0]).unwrap();
    assert_eq!(embedded["scenario"]["title"], hostile);
}

#[test]
fn an_interrupted_run_without_results_still_gives_a_page() {
    let mut comparison = comparison();
    comparison.results.clear();
    comparison.interrupted = true;
    let document = parse(&html(&comparison));
    assert_eq!(texts(&document, ".verdict li"), ["No run has finished, so there are no results."]);
    assert!(texts(&document, ".notes li")[0].starts_with("The run was stopped early"));
    assert_eq!(texts(&document, "table").len(), 0);
}

#[test]
fn the_csv_of_the_results_is_in_the_page() {
    let comparison = comparison();
    let document = parse(&html(&comparison));
    let embedded: String = serde_json::from_str(&texts(&document, "script#csv")[0]).unwrap();
    let mut written = Vec::new();
    compare::csv(&comparison, &mut written).unwrap();
    assert_eq!(embedded.as_bytes(), written);
}

#[test]
fn the_page_says_where_it_comes_from() {
    let comparison = comparison();
    let origin = Origin {
        tool: "gentle sim".to_owned(),
        command: Some("gentle sim '<b>.toml'".to_owned()),
        date: Some("2026-01-02T03:04:00Z".parse().unwrap()),
    };
    let document = parse(&compare::html(&comparison, &origin));
    assert_eq!(texts(&document, ".kicker span"), ["gentle sim"]);
    assert_eq!(texts(&document, ".origin code"), ["gentle sim '<b>.toml'"]);
    let made = &texts(&document, ".origin p")[1];
    assert!(made.contains("Made by gentle 0.1.0 on 2026-01-02 03:04 UTC."), "{made}");
}

#[test]
fn every_column_is_explained_in_words_that_show() {
    let document = parse(&html(&comparison()));
    assert_eq!(texts(&document, "[title]"), Vec::<String>::new());
    let columns = texts(&document, "#numbers ~ .table thead th").len();
    let explanations = texts(&document, "#numbers ~ .of-column span");
    assert_eq!(explanations.len(), columns - 1);
    assert_eq!(texts(&document, "#numbers ~ .table thead .about").len(), columns - 1);
    assert!(explanations.iter().all(|words| words.len() > 10));
}

#[test]
fn one_scheme_has_no_charts_of_many() {
    let mut comparison = comparison();
    comparison.results.truncate(1);
    let document = parse(&html(&comparison));
    assert_eq!(texts(&document, "#headline, #response").len(), 0);
    assert_eq!(texts(&document, "#response-ccdf").len(), 1);
}

#[test]
fn same_results_same_bytes() {
    assert_eq!(html(&comparison()), html(&comparison()));
}

#[test]
fn applications_have_tables_and_no_charts_of_connections() {
    let comparison = harmed();
    let page = html(&comparison);
    assert_loads_nothing(&page);
    let document = parse(&page);
    assert_eq!(
        texts(&document, "h2"),
        [
            "Delays and interruptions that people notice",
            "Conclusions",
            "Voice calls",
            "Web pages (browsing)",
            "DNS lookups",
            "Harm by the rest of the traffic",
            "Distributions",
            "All numbers",
            "Set-up"
        ]
    );
    let tables = texts(&document, "table.sortable");
    assert_eq!(tables.len(), 5);
    let labels: Vec<&str> = comparison.results.iter().map(|r| r.label.as_str()).collect();
    let rows = texts(&document, "[aria-labelledby=application-1] tbody th");
    assert_eq!(rows, labels);
    assert_eq!(texts(&document, "#headline, #response-ccdf, #by-size").len(), 0);
    assert_eq!(texts(&document, "#queue-ccdf").len(), 1);
}
