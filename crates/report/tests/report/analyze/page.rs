//! Page of an analysis: self-contained, and safe with any name in a capture.

use super::fixture::{HOSTILE, healthy, hostile, rich, without_tcp};
use crate::html::{assert_loads_nothing, parse, select, texts};
use gentle_report::{Origin, analyze};
use gentle_trace::results::Analysis;
use scraper::Selector;

fn html(analyses: &[Analysis]) -> String {
    analyze::html(analyses, &Origin::default())
}

#[test]
fn loads_nothing() {
    assert_loads_nothing(&html(&[rich(), healthy()]));
}

#[test]
fn the_verdict_stands_on_top() {
    let document = parse(&html(&[rich()]));
    assert_eq!(texts(&document, "h1"), ["monday.pcapng.zst and 1 more"]);
    let verdict: Vec<String> = texts(&document, ".verdict li");
    let said = rich().verdict.join(" ");
    assert_eq!(verdict.join(" ").replace('\u{a0}', " "), said);
    let notes = texts(&document, ".notes li");
    assert_eq!(notes.len(), 3);
    assert!(notes[2].starts_with("monday.pcapng.zst: at byte 3901223004: "));
}

#[test]
fn carries_the_results_as_json() {
    let document = parse(&html(&[rich(), healthy()]));
    let data = &texts(&document, "script#data")[0];
    let expected = serde_json::to_string(&[rich(), healthy()]).unwrap();
    assert!(data.replace("\\u003c", "<") == expected);
}

#[test]
fn every_chart_has_a_place_and_every_table_its_cells() {
    let document = parse(&html(&[rich()]));
    let charts = select(&document, "[data-chart]");
    let charts: Vec<&str> = charts.iter().map(|e| e.attr("data-chart").unwrap()).collect();
    assert_eq!(charts, ["timeline", "syn-intervals", "synack-intervals", "delay", "probability"]);
    let tables = select(&document, "table");
    assert_eq!(tables.len(), 20);
    let (head, row, cell) = (
        Selector::parse("thead th").unwrap(),
        Selector::parse("tbody tr").unwrap(),
        Selector::parse("th, td").unwrap(),
    );
    for table in tables {
        let columns = table.select(&head).count();
        assert!(columns > 1 && table.select(&row).count() > 0);
        for row in table.select(&row) {
            assert_eq!(row.select(&cell).count(), columns);
        }
    }
    let attempts = texts(&document, ".columns section:first-child tbody tr:first-child > *");
    assert_eq!(&attempts[..3], ["answered", "47,168", "97.8"]);
    for head in texts(&document, "thead th") {
        assert!(!head.trim().is_empty(), "a column without a name");
    }
}

#[test]
fn a_display_filter_stands_beside_each_of_those_who_lose_most() {
    let mut analysis = rich();
    analysis.anonymized = false;
    let filters = |analysis: Analysis| texts(&parse(&html(&[analysis])), "td code");
    let found = filters(analysis);
    assert_eq!(found.len(), 26);
    let again = "tcp.flags.syn == 1 && tcp.analysis.retransmission";
    assert_eq!(found[0], format!("ip.addr == 192.0.2.7 && tcp.port == 443 && {again}"));
    assert!(found.contains(&format!("ipv6.addr == 2001:db8:85a3:1319:8a2e:370:7344:1a02 && {again}")));
    assert!(found.contains(&format!("ip.addr == 203.0.100.0/24 && {again}")));
    // Addresses of a report that replaced them occur in no capture.
    assert!(filters(rich()).is_empty());
}

#[test]
fn nothing_to_draw_gives_no_chart_and_no_empty_table() {
    let document = parse(&html(&[healthy()]));
    assert_eq!(select(&document, "[data-chart]").len(), 0);
    assert_eq!(
        texts(&document, "h2"),
        [
            "Outcomes of the attempts",
            "TCP handshakes",
            "How connections ended",
            "Directions, from and to the side that sent the SYN",
            "Capture",
        ]
    );
    let document = parse(&html(&[without_tcp()]));
    assert_eq!(select(&document, "table").len(), 0);
    assert!(texts(&document, ".verdict li")[0].starts_with("This capture has no TCP"));
    let document = parse(&html(&[]));
    assert_eq!(texts(&document, "h1"), ["0 captures"]);
}

#[test]
fn several_captures_share_a_page_with_a_list_of_them() {
    let document = parse(&html(&[rich(), healthy(), without_tcp()]));
    assert_eq!(texts(&document, "nav a"), ["monday.pcapng.zst and 1 more", "lan.pcap", "dns.pcap"]);
    assert_eq!(select(&document, "article").len(), 3);
    let mut ids: Vec<&str> = select(&document, "[id]").iter().map(|e| e.attr("id").unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "every id once");
}

#[test]
fn hostile_text_stays_text() {
    let document = parse(&html(&[hostile()]));
    assert_eq!(select(&document, "script").len(), 4);
    assert_eq!(select(&document, "img").len(), 0);
    // Control characters and bidirectional controls appear as spaces in the displayed text.
    let plain = HOSTILE.replace(['\u{1b}', '\u{202e}'], " ");
    let shown_in = |selector: &str, text: &str| texts(&document, selector).iter().filter(|t| t.contains(text)).count();
    let shown = |selector: &str| shown_in(selector, &plain);
    // Titles have the name of the file, without its directory.
    let name = plain.rsplit('/').next().unwrap();
    assert_eq!((shown_in("h1", name), shown("h1")), (1, 0));
    assert_eq!((shown_in("title", name), shown("title")), (1, 0));
    assert_eq!(shown(".verdict li"), 1);
    assert_eq!(shown(".notes li"), 1);
    assert!(shown("tbody th") >= 7);
    assert!(shown("dd") >= 4);
    assert_eq!(shown("thead th"), 2);
    let data = &texts(&document, "script#data")[0];
    assert!(!data.contains('<'));
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data[0]["top"]["servers"][0]["name"], HOSTILE);
}

#[test]
fn same_results_same_bytes() {
    assert!(html(&[rich()]) == html(&[rich()]));
}
