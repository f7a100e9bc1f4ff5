//! `gentle reproduce`.

use crate::command::{gentle, names, stderr, stdout, text};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// A figure that takes no simulation.
const FIGURE: [&str; 4] = ["reproduce", "spa-2018", "fig3", "--quiet"];

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&mut gentle(args))).expect("JSON")
}

#[test]
fn without_a_paper_it_lists_them() {
    let list = stdout(&mut gentle(&["reproduce"]));
    for name in ["spa-2018", "redfavor-2012", "gsp-2015", "handshake-2009", "fig3", "table2"] {
        assert!(list.contains(name), "{name} in {list}");
    }
}

#[test]
fn coverage_lists_what_a_paper_states() {
    let printed = stdout(&mut gentle(&["reproduce", "redfavor-2012", "--coverage"]));
    let first = printed.lines().nth(1).unwrap();
    assert!(first.starts_with("Of 170 statements, "), "{first}");
    for words in ["table2/syns-redfavor", "none: ", "Algorithm 1"] {
        assert!(printed.contains(words), "{words}");
    }
    let output = gentle(&["reproduce", "model", "--coverage"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("'model' is not a published text"), "{said}");
}

#[test]
fn a_figure_has_its_claims_with_numbers_and_verdicts() {
    let found = json(&[&FIGURE[..], &["--json"]].concat());
    assert_eq!(found["version"], 1);
    assert_eq!(found["paper"], "spa-2018");
    assert_eq!(found["command"], "gentle reproduce spa-2018 fig3");
    let items = found["items"].as_array().unwrap();
    assert_eq!(items[0]["id"], "fig3");
    assert_eq!(items[0]["kind"], "figure");
    assert!(items.len() > 2);
    for item in &items[1..] {
        assert_eq!(item["kind"], "claim");
        assert!(item["id"].as_str().unwrap().starts_with("fig3/"));
        assert!(item["ours"]["value"].is_f64());
        let verdict = item["verdict"].as_str().unwrap();
        assert!(["agrees", "agrees in order", "differs"].contains(&verdict));
        assert_eq!(item["reason"].is_null(), verdict == "agrees", "{}", item["id"]);
        assert_eq!(item["command"], "gentle reproduce spa-2018 fig3");
    }
    // A claim selects its figure.
    let id = items[1]["id"].as_str().unwrap();
    let by_claim = json(&["reproduce", "spa-2018", id, "--json", "--quiet"]);
    assert_eq!(by_claim["items"], found["items"]);
}

#[test]
fn a_name_that_is_not_there_is_refused_with_the_nearest() {
    let said = stderr(&mut gentle(&["reproduce", "spa-2018", "fig33"]), 2);
    assert!(said.contains("fig33") && said.contains("'fig3'"), "{said}");
    let said = stderr(&mut gentle(&["reproduce", "spa-2019"]), 2);
    assert!(said.contains("spa-2018"), "{said}");
    let said = stderr(&mut gentle(&["reproduce", "all", "fig3"]), 2);
    assert!(said.contains("one paper"), "{said}");
}

#[test]
fn pages_and_figures_are_written() {
    let folder = TempDir::new().unwrap();
    let (pages, figures) = (folder.path().join("pages"), folder.path().join("figures"));
    let out = ["--html", text(&pages), "--figures", text(&figures)];
    stdout(&mut gentle(&[&FIGURE[..], &out].concat()));
    assert_eq!(names(&pages), ["spa-2018.html"]);
    let page = fs::read_to_string(pages.join("spa-2018.html")).unwrap();
    assert!(page.contains("fig3") && page.contains("<svg"));
    let written = names(&figures);
    assert!(written.len() >= 2 && written.len().is_multiple_of(2), "{written:?}");
    for name in written {
        assert!(name.starts_with("spa-2018-fig3"), "{name}");
        let bytes = fs::read(figures.join(&name)).unwrap();
        assert!(name.ends_with(".svg") && bytes.starts_with(b"<svg"), "{name}");
    }
}

#[test]
fn stored_runs_are_not_made_again() {
    let folder = TempDir::new().unwrap();
    let store = text(folder.path());
    let records = folder.path().join("records");
    let args = ["reproduce", "open", "initial-window", "--quick", "--quiet", "--json", "--store", store];
    let first = stdout(&mut gentle(&args));
    let before = names(&records);
    assert!(!before.is_empty());
    let again = gentle(&args).assert().success().get_output().clone();
    assert_eq!(String::from_utf8(again.stdout).unwrap(), first);
    let runs = before.len();
    let found = String::from_utf8(again.stderr).unwrap();
    assert!(found.contains(&format!("{runs} of {runs} runs were in the store")), "{found}");
    let marked = records.join(&before[0]);
    let record = fs::read_to_string(&marked).unwrap();
    // A damaged record is made again, with a warning.
    fs::write(&marked, &record[..record.len() / 2]).unwrap();
    let warned = gentle(&args).assert().success().get_output().clone();
    assert_eq!(String::from_utf8(warned.stdout).unwrap(), first);
    let warning = String::from_utf8(warned.stderr).unwrap();
    assert!(warning.contains("made again"), "{warning}");
    assert_eq!(fs::read_to_string(&marked).unwrap(), record);
    assert_eq!(names(&records), before);
}
