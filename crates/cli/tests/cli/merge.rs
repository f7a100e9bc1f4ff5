//! Records of runs, and what is put together of them.

use crate::command::{BRIEF, brief, gentle, names, stderr, stdout, text};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// What a command prints as a table and as JSON, and writes as CSV and as a page.
fn outputs(folder: &Path, args: &[&str]) -> [String; 4] {
    let [csv, html] = ["x.csv", "x.html"].map(|name| folder.join(name));
    let files = ["--csv", text(&csv), "--html", text(&html)];
    let table = stdout(gentle(args).args(files));
    let json = stdout(gentle(args).arg("--json"));
    let [csv, html] = [csv, html].map(|path| fs::read_to_string(path).unwrap());
    [table, json, csv, html]
}

#[test]
fn records_put_together_are_the_comparison() {
    let folder = TempDir::new().unwrap();
    let runs = folder.path().join("runs");
    let runs = text(&runs);
    stdout(&mut brief(&["--record", runs]));
    let names = names(Path::new(runs));
    let expected =
        ["codel-seed-7.json", "codel-seed-8.json", "pfifo-limit-20-seed-7.json", "pfifo-limit-20-seed-8.json"];
    assert_eq!(names, expected);
    let expected = outputs(folder.path(), &BRIEF);
    assert_eq!(outputs(folder.path(), &["merge", runs]), expected);
    let files: Vec<String> = names.iter().rev().map(|name| format!("{runs}/{name}")).collect();
    let mut args = vec!["merge", runs];
    args.extend(files.iter().map(String::as_str));
    assert_eq!(outputs(folder.path(), &args), expected);
}

#[test]
fn calls_for_parts_are_one_call_for_all() {
    let folder = TempDir::new().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    let [a, b] = [text(&a), text(&b)];
    let common = ["compare", "--traffic=short", "--duration=3s", "--reference=codel"];
    let call = |more: &[&'static str]| [&common[..], more].concat();
    stdout(gentle(&call(&["--scheme=spa", "--scheme=codel", "--seeds=2"])).args(["--record", a]));
    stdout(gentle(&call(&["--scheme=spa", "--scheme=codel", "--first-seed=3", "--seeds=1"])).args(["--record", b]));
    let whole = ["--scheme", "spa", "--scheme", "codel", "--seeds", "3"];
    let expected = outputs(folder.path(), &call(&whole));
    for args in [["merge", a, b], ["merge", b, a]] {
        assert_eq!(outputs(folder.path(), &args), expected);
    }
    let other = stdout(&mut gentle(&["merge", a, b, "--reference", "spa", "--json"]));
    let other: serde_json::Value = serde_json::from_str(&other).unwrap();
    assert_eq!(other["reference"], "spa");
}

#[test]
fn what_cannot_be_recorded_or_merged_gets_a_sentence() {
    let folder = TempDir::new().unwrap();
    let [runs, other, bad] = ["runs", "other", "bad"].map(|name| folder.path().join(name));
    let [runs, other, bad] = [text(&runs), text(&other), text(&bad)];
    stdout(&mut brief(&["--record", runs]));
    let again = stderr(&mut brief(&["--record", runs]), 2);
    assert!(again.contains("pfifo-limit-20-seed-7.json exists already"), "{again}");
    let twice = stderr(&mut brief(&["--record", bad, "--scheme", "codel"]), 2);
    assert!(twice.contains("codel is given twice"), "{twice}");
    stdout(&mut brief(&["--record", other, "--up-rate=1mbit"]));
    let mixed = stderr(&mut gentle(&["merge", runs, other]), 1);
    assert!(mixed.contains("do not belong together"), "{mixed}");
    fs::create_dir(bad).unwrap();
    let empty = stderr(&mut gentle(&["merge", bad]), 1);
    assert!(empty.contains("no records in this directory"), "{empty}");
    fs::write(format!("{bad}/x.json"), "{\"a\":1}\n").unwrap();
    let wrong = stderr(&mut gentle(&["merge", bad]), 1);
    assert!(wrong.contains("x.json: line 1, column 7: not the record of a run"), "{wrong}");
    let over = format!("{runs}/codel-seed-7.json");
    let over = stderr(&mut gentle(&["merge", runs, "--csv", &over]), 2);
    assert!(over.contains("would overwrite"), "{over}");
    // Runs of the same version, built from other sources.
    let changed = |seed: &str| {
        let path = format!("{runs}/codel-seed-{seed}.json");
        let record = fs::read_to_string(&path).unwrap();
        let (before, after) = record.split_once("\"engine\":\"").unwrap();
        fs::write(path, format!("{before}\"engine\":\"00000000{}", &after[8..])).unwrap();
    };
    changed("7");
    let stale = stderr(&mut gentle(&["merge", runs]), 1);
    assert!(stale.contains("codel-seed-7.json: made by another build of gentle (engine 00000000)"), "{stale}");
}
