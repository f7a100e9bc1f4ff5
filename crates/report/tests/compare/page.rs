//! The page: complete in itself, and safe with whatever text a user puts into a scenario.

use super::fixture::comparison;
use gentle_report::compare::html;
use scraper::{Html, Selector};

fn parse(page: &str) -> Html {
    let document = Html::parse_document(page);
    assert!(document.errors.is_empty(), "{:?}", document.errors);
    document
}

fn texts(document: &Html, selector: &str) -> Vec<String> {
    let selector = Selector::parse(selector).unwrap();
    document
        .select(&selector)
        .map(|e| e.text().collect())
        .collect()
}

#[test]
fn loads_nothing() {
    let page = html(&comparison());
    let document = parse(&page);
    let loading =
        "[src], [srcset], [data], link, iframe, object, embed, base, img, [style*='url(']";
    assert_eq!(texts(&document, loading), Vec::<String>::new());
    let links = Selector::parse("[href]").unwrap();
    for link in document.select(&links) {
        assert!(link.attr("href").unwrap().starts_with('#'));
    }
    for css in texts(&document, "style") {
        assert!(!css.contains("url(") && !css.contains("@import"));
    }
    // The page's own script; the vendored ones name the addresses of XML namespaces and licences.
    let own = texts(&document, "script").pop().unwrap();
    for word in [
        "http:",
        "https:",
        "fetch(",
        "import(",
        "XMLHttpRequest",
        "eval(",
    ] {
        assert!(!own.contains(word), "{word}");
    }
    let policy = Selector::parse("meta[http-equiv='Content-Security-Policy']").unwrap();
    let policy = document
        .select(&policy)
        .next()
        .unwrap()
        .attr("content")
        .unwrap();
    assert!(policy.starts_with("default-src 'none';"));
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
