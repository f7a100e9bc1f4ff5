//! Pages: self-contained, complete without scripts, and safe with any text.

use super::fixture::reproduction;
use crate::html::{assert_loads_nothing, parse, select, texts};
use gentle_papers::{Kind, Reproduction};
use gentle_report::{Origin, reproduce};

fn origin() -> Origin {
    Origin {
        tool: "gentle reproduce".to_owned(),
        command: Some("gentle reproduce spa-2018 --quick".to_owned()),
        date: None,
    }
}

fn html(reproduction: &Reproduction) -> String {
    reproduce::html(reproduction, &origin())
}

#[test]
fn loads_nothing() {
    assert_loads_nothing(&html(&reproduction()));
}

#[test]
fn every_item_is_on_the_page() {
    let reproduction = reproduction();
    let document = parse(&html(&reproduction));
    let text: String = document.root_element().text().collect();
    for item in &reproduction.items {
        assert!(text.contains(&item.title), "{}", item.title);
        assert!(text.contains(&item.command), "{}", item.command);
        if let Some(reason) = &item.reason {
            assert!(text.contains(reason));
        }
        let anchor = format!("#{}", item.id.replace('/', "-"));
        assert_eq!(select(&document, &anchor).len(), 1, "{anchor}");
    }
    let claims = reproduction.items.iter().filter(|item| item.kind == Kind::Claim);
    assert_eq!(select(&document, ".claims tbody tr").len(), claims.count());
    let verdicts = texts(&document, ".claims tbody tr td:last-child");
    assert_eq!(verdicts, ["✓ agrees", "≈ agrees in order", "✗ differs", "– not published"]);
    let published = texts(&document, ".claims tbody tr td:nth-child(2)");
    assert_eq!(published, ["0.5 ±0.1", "25 ±2.5\u{a0}%", "≤ 1 ±0.1", "–"]);
    let ours = texts(&document, ".claims tbody tr td:nth-child(3)");
    assert_eq!(ours, ["0.541 ±0.021", "41.3 ±2.9\u{a0}%", "1.370 ±0.040", "8,326"]);
}

#[test]
fn every_chart_is_drawn_and_has_a_name_of_its_own() {
    let reproduction = reproduction();
    let document = parse(&html(&reproduction));
    let charts: usize = reproduction.items.iter().map(|item| item.charts.len()).sum();
    let images = select(&document, "figure svg[role=img]");
    assert_eq!(images.len(), charts);
    let mut names: Vec<&str> = images.iter().map(|image| image.attr("aria-label").unwrap()).collect();
    assert!(names.iter().all(|name| name.starts_with("fig5, ")));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), charts);
    // Colours follow the theme of the page.
    for shape in select(&document, "figure svg[role=img] *") {
        for attribute in ["fill", "stroke"] {
            let color = shape.attr(attribute).unwrap_or("none");
            assert!(color == "none" || color.starts_with("var(--"), "{color}");
        }
    }
}

#[test]
fn carries_the_results_as_json() {
    let reproduction = reproduction();
    let document = parse(&html(&reproduction));
    let data = &texts(&document, "script#data")[0];
    assert!(data.replace("\\u003c", "<") == serde_json::to_string(&reproduction).unwrap());
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>{{ data }}\"'";
    let mut reproduction = reproduction();
    reproduction.title = hostile.to_owned();
    reproduction.paper = hostile.to_owned();
    for item in &mut reproduction.items {
        item.title = hostile.to_owned();
        item.id = item.id.replace("fig5", hostile);
        for chart in &mut item.charts {
            match chart {
                gentle_papers::Chart::Bars(bars) => {
                    bars.title = hostile.to_owned();
                    bars.categories[0] = hostile.to_owned();
                    bars.series[0].label = hostile.to_owned();
                }
                gentle_papers::Chart::Curves(curves) => {
                    curves.title = hostile.to_owned();
                    curves.x.label = hostile.to_owned();
                    curves.lines[0].label = hostile.to_owned();
                }
            }
        }
    }
    for page in [html(&reproduction), reproduce::index(&[reproduction], &origin())] {
        let document = parse(&page);
        assert_eq!(texts(&document, "script").len(), 4);
        assert_eq!(texts(&document, "img").len(), 0);
    }
}

#[test]
fn a_call_that_was_stopped_early_still_gives_a_page() {
    let mut reproduction = reproduction();
    reproduction.items.clear();
    reproduction.verdicts = Default::default();
    reproduction.not_testable = 0;
    reproduction.interrupted = true;
    let document = parse(&html(&reproduction));
    assert_eq!(texts(&document, ".notes li").len(), 2);
    assert_eq!(texts(&document, ".verdict li").len(), 0);
}

#[test]
fn the_index_leads_to_every_item() {
    let reproduction = reproduction();
    let document = parse(&reproduce::index(std::slice::from_ref(&reproduction), &origin()));
    let links: Vec<&str> = select(&document, "[href]").iter().map(|link| link.attr("href").unwrap()).collect();
    assert_eq!(
        links,
        ["spa-2018.html", "spa-2018.html#fig5", "spa-2018.html#table2", "spa-2018.html#assumption-fifo-limits"]
    );
    // What the links lead to is there.
    let page = parse(&html(&reproduction));
    for link in &links[1..] {
        let (_, anchor) = link.split_once('#').unwrap();
        assert_eq!(select(&page, &format!("#{anchor}")).len(), 1);
    }
    let counts = texts(&document, ".counts .badge");
    assert_eq!(counts, ["✓ 1 agrees", "≈ 1 agrees in order", "✗ 1 differs", "– 1 not published"]);
}

#[test]
fn same_results_same_bytes() {
    assert!(html(&reproduction()) == html(&reproduction()));
}
