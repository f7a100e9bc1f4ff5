//! Every paper, reproduced quickly by the command: each figure, table and claim has an item, and a published value that is
//! disturbed has another verdict. The site shows the same pages.

use crate::gentle;
use gentle_papers::{PAPERS, Paper, Verdict};
use serde_json::Value;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::TempDir;

struct Reproduced {
    folder: TempDir,
    papers: Vec<Value>,
}

/// All papers, reproduced once for the tests of this program.
fn reproduced() -> &'static Reproduced {
    static REPRODUCED: OnceLock<Reproduced> = OnceLock::new();
    REPRODUCED.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        let arguments = ["reproduce", "all", "--quick", "--quiet", "--json", "--html", "."];
        let lines = String::from_utf8(gentle(folder.path(), &arguments).stdout).unwrap();
        let papers = lines.lines().map(|line| serde_json::from_str(line).unwrap());
        Reproduced { papers: papers.collect(), folder }
    })
}

/// Folder with the pages of all papers.
pub(crate) fn pages() -> &'static Path {
    reproduced().folder.path()
}

#[test]
fn every_paper_is_complete() {
    let papers = &reproduced().papers;
    let names: Vec<&str> = papers.iter().map(|paper| text(&paper["paper"])).collect();
    let expected: Vec<&str> = PAPERS.iter().map(|paper| paper.name).collect();
    assert_eq!(names, expected);
    for paper in papers {
        check(text(&paper["paper"]), paper);
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}: no text"))
}

fn items(reproduction: &Value) -> &[Value] {
    reproduction["items"].as_array().expect("items")
}

fn check(name: &str, reproduction: &Value) {
    let paper = Paper::by_name(name).unwrap();
    let data = paper.data();
    assert_eq!(reproduction["interrupted"], false);
    let items = items(reproduction);
    let ids: Vec<&str> = items.iter().map(|item| text(&item["id"])).collect();
    let headings = data.figures.iter().chain(&data.tables);
    let headings = headings.map(|heading| &heading.id);
    let claims = data.claims.iter().map(|claim| &claim.id);
    for id in headings.chain(claims) {
        let times = ids.iter().filter(|known| *known == id).count();
        assert_eq!(times, 1, "{name}: items named {id}");
    }
    assert!(ids.iter().all(|id| !id.starts_with("assumption/")), "{name}: a quick call leaves assumptions out");
    let shows = |item: &Value, what: &str| item[what].as_array().is_some_and(|shown| !shown.is_empty());
    for item in items {
        let id = &item["id"];
        match text(&item["kind"]) {
            "claim" => assert!(
                item["ours"]["value"].is_number() || item["verdict"] == "undecided",
                "{name}: {id} has no number"
            ),
            "figure" => assert!(shows(item, "charts"), "{name}: {id} shows nothing"),
            "table" => assert!(shows(item, "tables"), "{name}: {id} shows nothing"),
            other => panic!("{name}: {id} is a {other}"),
        }
    }
    let counted = reproduction["verdicts"].as_object().expect("verdicts");
    let sum: u64 = counted.values().filter_map(Value::as_u64).sum();
    assert_eq!(sum as usize, data.claims.len());
    flips(name, items);
}

/// Each published value, disturbed beyond its tolerance, changes the verdict; moved to our number, it agrees.
fn flips(name: &str, items: &[Value]) {
    let data = Paper::by_name(name).unwrap().data();
    for claim in &data.claims {
        let item = items.iter().find(|item| item["id"] == claim.id).unwrap();
        let (Some(_), Some(ours)) = (claim.target(), item["ours"]["value"].as_f64()) else {
            continue;
        };
        let away = 1.01 * claim.tolerance + 1e-6 * ours.abs().max(1.0);
        let verdict = |change: &dyn Fn(f64) -> f64| {
            let mut changed = claim.clone();
            changed.neutral = None;
            changed.value = claim.value.map(|_| change(ours));
            changed.at_most = claim.at_most.map(|_| change(ours));
            changed.at_least = claim.at_least.map(|_| change(ours));
            changed.between = claim.between.map(|_| [change(ours), change(ours) + 1e-9]);
            Verdict::of_claim(&changed, Some(ours), &[])
        };
        let same = match claim.given {
            true => Verdict::Given,
            false => Verdict::Agrees,
        };
        assert_eq!(verdict(&|ours| ours), same, "{name}: {}", claim.id);
        if claim.at_most.is_none() {
            assert_eq!(verdict(&|ours| ours + away), Verdict::Differs, "{name}: {}", claim.id);
        }
        if claim.at_least.is_none() {
            assert_eq!(verdict(&|ours| ours - away), Verdict::Differs, "{name}: {}", claim.id);
        }
    }
}
