//! `lifo`, an example of a new scheme, is one file and one line of the list in `gentle-aqm`, and works wherever schemes work.
//! `handshake_share`, an example of a new metric, is one entry of the list in `gentle-experiment` (`measure/scheme.rs`), and stands
//! wherever metrics stand: only in results of `lifo`, so that other results stay as they are.
//!
//! Nothing but the file and the line names the scheme: help, comparison, seeds of fuzzing, deployment and testbed learn of it
//! from there, and so do the tests of all schemes. Lists and suggestions leave it out, because it is of no use on a network.

use gentle_aqm::{Spec, registry};
use gentle_experiment::Scenario;
use gentle_testbed::experiment::{Namespaces, plan};
use std::process::{Command, Output};

fn gentle(arguments: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin!("gentle")).args(arguments).output().unwrap()
}

fn said(arguments: &[&str]) -> String {
    let output = gentle(arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = gentle(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

const SENTENCE: &str =
    "lifo is in no kernel: neither Linux nor gentle's modules implement it; it can only be simulated";

#[test]
fn help_has_it_and_lists_do_not() {
    for list in [said(&["schemes"]), said(&["schemes", "--json"])] {
        assert!(list.contains("fq_codel") && !list.contains("lifo"), "{list}");
    }
    let one = said(&["schemes", "lifo"]);
    assert!(one.contains("limit") && one.contains("packets the queue holds"));
    let error = refused(&["compare", "--scheme", "lifo depth=3"]);
    assert!(error.contains("it accepts limit (1 to 1000000)"), "{error}");
    let error = refused(&["compare", "--scheme", "lfio"]);
    assert!(error.contains("the schemes are: pfifo, ") && !error.contains("lifo"), "{error}");
}

#[test]
fn comparisons_run_it_alone_and_beneath_a_wrapper() {
    let text = said(&[
        "compare",
        "--duration=30s",
        "--seeds=1",
        "--json",
        "--scheme=lifo limit=20",
        "--scheme=spa child=lifo limit=20",
    ]);
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (place, label) in ["lifo limit=20", "spa child=lifo limit=20"].iter().enumerate() {
        let result = &results["results"][place];
        assert_eq!(result["label"], *label);
        assert!(result["drops"]["tail"].as_u64() > Some(0), "{result}");
    }
}

/// A comparison of the example with a scheme that lists name.
fn compared(more: &[&str]) -> String {
    let common =
        ["compare", "--quiet", "--duration=30s", "--seeds=2", "--scheme=lifo limit=20", "--scheme=pfifo limit=20"];
    said(&[&common[..], more].concat())
}

#[test]
fn a_metric_is_one_entry_of_the_list() {
    let results: serde_json::Value = serde_json::from_str(&compared(&["--json"])).unwrap();
    let lifo = &results["results"][0];
    let share = lifo["handshake_share"]["mean"].as_f64().unwrap();
    assert!(share > 0.0 && share < 1.0, "{share}");
    assert!(lifo["handshake_share"]["ci95"].as_f64() > Some(0.0));
    let series = lifo["by_seed"].as_array().unwrap().iter().find(|series| series["name"] == "handshake_share.mean");
    let series = series.unwrap();
    assert_eq!(series["better"], "lower");
    let values: Vec<f64> = series["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    assert!((values.iter().sum::<f64>() / 2.0 - share).abs() < 1e-12, "{values:?}");
    assert!(lifo["paired"]["handshake_share.mean"].is_object());
    let pfifo = &results["results"][1];
    assert!(pfifo["handshake_share"].is_null() && !pfifo["by_seed"].to_string().contains("handshake_share"));

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (csv, html) = (file("all.csv"), file("all.html"));
    let table = compared(&["--csv", &csv, "--html", &html]);
    assert!(
        table.contains("handshake") && table.contains("SYNs and SYN/ACKs, of all segments with SYN, FIN or data"),
        "{table}"
    );
    let page = std::fs::read_to_string(html).unwrap();
    assert!(page.contains("SYNs and SYN/ACKs, of all segments with SYN, FIN or data"));
    let mut reader = csv::Reader::from_path(csv).unwrap();
    let heads = reader.headers().unwrap().clone();
    for head in ["handshake_share.mean", "handshake_share.ci95"] {
        let place = heads.iter().position(|found| found == head).unwrap();
        let all = reader.records().map(Result::unwrap).find(|row| &row[2] == "all").unwrap();
        assert!(all[place].parse::<f64>().unwrap() > 0.0, "{head}");
        reader = csv::Reader::from_path(file("all.csv")).unwrap();
    }
    for list in [said(&["schema", "compare"]), said(&["compare", "--help"])] {
        assert!(
            list.contains("unfinished")
                && !list.contains("handshake_share")
                && !list.contains("SYNs and SYN/ACKs, of all segments")
        );
    }
}

#[test]
fn fuzzing_begins_with_it() {
    let seeds = registry::samples();
    for seed in ["lifo", "lifo limit=3", "spa share=1 child=lifo limit=3"] {
        assert!(seeds.iter().any(|text| text == seed), "{seed}");
    }
}

#[test]
fn deployment_and_testbed_refuse_it_with_a_sentence() {
    for scheme in ["lifo", "spa child=lifo"] {
        for backing in ["stock", "native"] {
            let backing = format!("--backing={backing}");
            let error = refused(&["qdisc", "plan", "lo", scheme, "--rate=20mbit", &backing]);
            assert!(error.contains(SENTENCE), "{error}");
        }
    }
    let scenario = Scenario::builtin("real").unwrap();
    let spec: Spec = "lifo".parse().unwrap();
    for backing in [gentle_deploy::Backing::Stock, gentle_deploy::Backing::Native] {
        let error = plan(&scenario, &spec, 1, backing, &Namespaces::plain()).unwrap_err();
        assert!(error.to_string().contains(SENTENCE), "{error}");
    }
}

/// A scenario with `regular`, the example of a new kind of traffic: three segments each 100 ms.
fn with_regular(kind: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "duration = \"20s\"\n[link.down]\nrate = \"1mbit\"\ndelay = \"20ms\"\n[link.up]\nrate = \"1mbit\"\ndelay = \"20ms\"\n\
         [[workload]]\nkind = \"{kind}\"\ngap = \"100ms\"\nsegments = 3\ngroup = \"beats\"\n"
    );
    std::fs::write(folder.path().join("x.toml"), text).unwrap();
    folder
}

#[test]
fn a_kind_of_traffic_is_one_file_and_one_line() {
    let folder = with_regular("regular");
    let file = folder.path().join("x.toml");
    let traffic = format!("--traffic={}", file.display());
    let text = said(&["compare", &traffic, "--seeds=2", "--scheme=pfifo", "--harm", "--json"]);
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    // 10 connections a second of three packets of 1,514 bytes, the same with each seed.
    let scenario = &results["scenario"];
    let load = scenario["down"]["load"].as_f64().unwrap();
    assert!((load - 10.0 * 3.0 * 1514.0 * 8.0 / 1e6).abs() < 1e-9, "{load}");
    assert_eq!(scenario["replayed"], true);
    let described = scenario["workloads"][0].as_str().unwrap();
    assert!(described.starts_with("a connection of 3 segments each 100ms; data goes down"), "{described}");
    let result = &results["results"][0];
    assert_eq!((&result["connections"], &result["completed"]), (&400.into(), &400.into()));
    assert_eq!(result["harm"][0]["number"], "response_time_s.mean");
    // The kernel would have the same connections, and lists do not name the kind.
    let scenario = Scenario::from_toml("x.toml", &std::fs::read_to_string(file).unwrap(), &|_| unreachable!()).unwrap();
    let spec: Spec = "pfifo".parse().unwrap();
    let planned = plan(&scenario, &spec, 1, gentle_deploy::Backing::Stock, &Namespaces::plain()).unwrap();
    assert_eq!(planned.experiment.flows.len(), scenario.schedule(1).count());
    let folder = with_regular("regulra");
    let traffic = format!("--traffic={}", folder.path().join("x.toml").display());
    let error = refused(&["compare", &traffic]);
    assert!(error.contains("\"poisson\", \"web\"") && !error.contains("\"regular\""), "{error}");
}
