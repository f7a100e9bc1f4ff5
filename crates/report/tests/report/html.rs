//! HTML pages as a browser parses them, with assertions that hold for every page.

use scraper::{ElementRef, Html, Selector};

/// Parses a page and checks that it has no errors.
pub(crate) fn parse(page: &str) -> Html {
    let document = Html::parse_document(page);
    assert!(document.errors.is_empty(), "{:?}", document.errors);
    document
}

/// Elements that match a CSS selector.
pub(crate) fn select<'a>(document: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    let selector = Selector::parse(selector).unwrap();
    document.select(&selector).collect()
}

/// Texts of the elements that match a CSS selector.
pub(crate) fn texts(document: &Html, selector: &str) -> Vec<String> {
    let elements = select(document, selector);
    elements.iter().map(|e| e.text().collect()).collect()
}

/// Checks that the page loads nothing, and that its links lead to anchors on it.
pub(crate) fn assert_loads_nothing(page: &str) {
    let document = parse(page);
    let loading = "[src], [srcset], [data], link, iframe, object, embed, base, img, [style*='url(']";
    assert_eq!(texts(&document, loading), Vec::<String>::new());
    for link in select(&document, "[href]") {
        let anchor = link.attr("href").unwrap();
        assert!(anchor.starts_with('#'));
        assert_eq!(select(&document, anchor).len(), 1, "{anchor}");
    }
    for css in texts(&document, "style") {
        assert!(!css.contains("url(") && !css.contains("@import"));
    }
    // Only the page's own script: the vendored ones contain URLs of XML namespaces and licences.
    let own = texts(&document, "script").pop().unwrap();
    for word in ["http:", "https:", "fetch(", "import(", "XMLHttpRequest", "eval(", "innerHTML"] {
        assert!(!own.contains(word), "{word}");
    }
    let policy = select(&document, "meta[http-equiv='Content-Security-Policy']")[0];
    let policy = policy.attr("content").unwrap();
    assert!(policy.starts_with("default-src 'none';"));
}
