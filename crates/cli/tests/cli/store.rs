//! `--store`: runs that are kept, found again, shared and combined.

use crate::command::{BRIEF, brief, gentle, names, stderr, stdout, text};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// What a command prints as a table and as JSON, and writes as CSV and as a page.
fn outputs(folder: &Path, args: &[&str], store: &[&str]) -> [String; 4] {
    let [csv, html] = ["x.csv", "x.html"].map(|name| folder.join(name));
    let files = ["--csv", text(&csv), "--html", text(&html)];
    let table = stdout(gentle(args).args(files).args(store));
    let json = stdout(gentle(args).arg("--json").args(store));
    let [csv, html] = [csv, html].map(|path| fs::read_to_string(path).unwrap());
    [table, json, csv, html]
}

/// What a command says about its store.
fn said(args: &[&str], store: &str) -> String {
    let output = gentle(args).args(["--store", store]).assert().success().get_output().clone();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn runs_are_found_again_and_give_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("a folder/store");
    let records = store.join("records");
    let store = text(&store);
    assert_eq!(said(&BRIEF, store), "");
    let kept = names(&records);
    let starts = ["codel-seed-7-", "codel-seed-8-", "pfifo-limit-20-seed-7-", "pfifo-limit-20-seed-8-"];
    assert!(kept.len() == 4 && kept.iter().zip(starts).all(|(name, start)| name.starts_with(start)), "{kept:?}");
    assert_eq!(said(&BRIEF, store), "note: 4 of 4 runs were in the store\n");
    assert_eq!(outputs(folder.path(), &BRIEF, &["--store", store]), outputs(folder.path(), &BRIEF, &[]));
    // More seeds and schemes add what is new, also for other commands.
    let more = [&BRIEF[..], &["--seeds=3", "--scheme=spa"]].concat();
    assert_eq!(said(&more, store), "note: 4 of 9 runs were in the store\n");
    assert_eq!(outputs(folder.path(), &more, &["--store", store]), outputs(folder.path(), &more, &[]));
    let sim = ["sim", "short", "--duration=3s", "--scheme=codel", "--first-seed=8", "--bins=1,5", "--quiet"];
    assert_eq!(said(&sim, store), "note: 1 of 1 runs were in the store\n");
    // Other traffic has other runs.
    assert_eq!(said(&[&sim[..], &["--up-rate=1mbit"]].concat(), store), "");
}

#[test]
fn stores_are_combined_by_copying_files() {
    let folder = TempDir::new().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    let common = ["compare", "--traffic=short", "--duration=3s", "--reference=codel", "--quiet"];
    let call = |more: &[&'static str]| [&common[..], &["--scheme=spa", "--scheme=codel"], more].concat();
    said(&call(&["--seeds=2"]), text(&a));
    said(&call(&["--first-seed=3", "--seeds=1"]), text(&b));
    for name in names(&b.join("records")) {
        fs::copy(b.join("records").join(&name), a.join("records").join(&name)).unwrap();
    }
    let whole = call(&["--seeds=3"]);
    assert_eq!(said(&whole, text(&a)), "note: 6 of 6 runs were in the store\n");
    assert_eq!(outputs(folder.path(), &whole, &["--store", text(&a)]), outputs(folder.path(), &whole, &[]));
}

#[test]
fn harm_is_kept_too() {
    let folder = TempDir::new().unwrap();
    let store = text(folder.path());
    let args = ["compare", "--traffic=calls", "--duration=3s", "--seeds=1", "--scheme=fq_codel", "--harm", "--quiet"];
    assert_eq!(said(&args, store), "");
    let runs = names(&folder.path().join("records")).len();
    assert!(runs > 2, "{runs}");
    assert_eq!(said(&args, store), format!("note: {runs} of {runs} runs were in the store\n"));
    assert_eq!(outputs(folder.path(), &args, &["--store", store]), outputs(folder.path(), &args, &[]));
}

#[test]
fn a_damaged_record_is_made_again() {
    let folder = TempDir::new().unwrap();
    let store = text(folder.path());
    let records = folder.path().join("records");
    said(&BRIEF, store);
    let one = records.join(&names(&records)[0]);
    let whole = fs::read(&one).unwrap();
    fs::write(&one, &whole[..whole.len() / 2]).unwrap();
    let told = said(&BRIEF, store);
    assert!(told.contains(text(&one)) && told.contains("made again"), "{told}");
    assert!(told.contains("3 of 4 runs were in the store"), "{told}");
    assert_eq!(fs::read(&one).unwrap(), whole);
}

#[test]
fn a_store_that_cannot_be_used_gets_a_sentence() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = stderr(&mut brief(&["--store", text(&file)]), 1);
    assert!(error.contains("file/records: Not a directory"), "{error}");
}
