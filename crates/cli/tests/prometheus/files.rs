//! The files alone.

use crate::{DASHBOARD, RULES, expressions, names, promtool};
use gentle_host::FindingKind;
use gentle_trace::results::CauseKind;
use gentle_watch::Metrics;
use std::collections::BTreeSet;

#[test]
fn rules_are_valid_and_pass_their_tests() {
    for arguments in [["check", "rules", "gentle-rules.yml"], ["test", "rules", "gentle-rules.test.yml"]] {
        let (succeeds, words) = promtool(&arguments, "");
        assert!(succeeds && words.contains("SUCCESS"), "{arguments:?}: {words}");
    }
}

/// Values of a label in matchers of the rules, `=` and `=~`, on lines that contain `text`.
fn matched(label: &str, text: &str) -> Vec<&'static str> {
    let lines = RULES.lines().filter(|line| line.contains(text));
    let values = lines.filter_map(|line| line.split_once(&format!("{{{label}="))?.1.split('"').nth(1));
    values.flat_map(|value| value.split('|')).collect()
}

#[test]
fn each_cause_with_a_remedy_has_one_alert() {
    let mut alerted = matched("cause", "sum without (cause) (instance_cause:");
    let mut counted = matched("cause", "sum without (cause) (increase(");
    alerted.sort_unstable();
    counted.sort_unstable();
    let without = [CauseKind::Scan, CauseKind::Loss];
    // Lookups have no metrics.
    let kinds = CauseKind::ALL.iter().filter(|kind| !without.contains(kind) && !kind.is_of_lookups());
    let mut kinds: Vec<&str> = kinds.map(|kind| kind.name()).collect();
    kinds.sort_unstable();
    assert_eq!((&alerted, &counted), (&kinds, &kinds));
}

#[test]
fn kinds_of_host_events_exist() {
    let kinds: BTreeSet<&str> = FindingKind::ALL.iter().map(|kind| kind.name()).collect();
    let matched = matched("kind", "gentle_watch_host_events_total");
    assert!(matched.len() >= 7 && matched.iter().all(|kind| kinds.contains(kind)), "{matched:?}");
}

#[test]
fn rules_and_dashboard_use_metrics_that_exist() {
    let text = Metrics::new().text().expect("text");
    // Ports have series only after an attempt.
    let families: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .chain(["gentle_watch_port_attempts"])
        .collect();
    let suffixes = ["_total", "_bucket", "_count", "_sum", ""];
    let exists = |name: &str| {
        suffixes.iter().any(|suffix| name.strip_suffix(suffix).is_some_and(|family| families.contains(family)))
    };
    let shown = expressions().join("\n");
    let rules: String = RULES.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n");
    for name in [names(&shown, "gentle_"), names(&rules, "gentle_watch_")].concat() {
        assert!(exists(name), "{name}");
    }
    for name in families {
        assert!(shown.contains(name), "the dashboard does not show {name}");
    }
}

#[test]
fn panels_have_separate_places() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).expect("JSON");
    assert!(dashboard["schemaVersion"].as_u64() >= Some(38) && dashboard["id"].is_null());
    let variables = dashboard["templating"]["list"].as_array().expect("variables");
    let variables: Vec<&str> = variables.iter().filter_map(|variable| variable["name"].as_str()).collect();
    assert_eq!(variables, ["datasource", "instance"]);
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().expect("a number")).collect();
    assert_eq!(ids.len(), panels.len());
    let mut taken = BTreeSet::new();
    for panel in panels {
        let place = |key: &str| panel["gridPos"][key].as_u64().expect("a number");
        let (x, y, w, h) = (place("x"), place("y"), place("w"), place("h"));
        assert!(w > 0 && h > 0 && x + w <= 24, "{}", panel["title"]);
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "{} overlaps another panel at {cell:?}", panel["title"]);
        }
        if panel["type"] != "row" {
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
            let targets = panel["targets"].as_array().expect("targets");
            assert!(
                targets.iter().all(|target| target["expr"].as_str().is_some_and(|expr| expr.contains("$instance")))
            );
            assert!(panel["description"].as_str().is_some_and(|text| !text.is_empty()), "{}", panel["title"]);
        }
    }
}
