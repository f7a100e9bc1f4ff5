//! The scenarios and sweeps of `evaluation/`, shortened, and the tables made of them.

use crate::command::{gentle, names, stderr, stdout, text};
use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evaluation")
}

/// Under attack, downloads get from `gentle` what they get from `fq_codel`, which is nothing in a flood of new flows; where
/// hosts are distinguished, their host has nearly a third of the link.
#[test]
fn downloads_under_attack_have_their_hosts_share() {
    let attacks = folder().join("attacks");
    assert_eq!(names(&attacks).len(), 5);
    for name in names(&attacks) {
        let file = attacks.join(&name);
        let args = ["compare", "--quiet", "--json", "--seeds=1", "--duration=20s"];
        let schemes = ["fq_codel", "gentle", "gentle hosts=dst"].map(|scheme| format!("--scheme={scheme}"));
        let traffic = format!("--traffic={}", text(&file));
        let json = stdout(gentle(&args).args(schemes).arg(traffic));
        let json: Value = serde_json::from_str(&json).unwrap();
        let goodput = |number: usize| {
            let found = json.pointer(&format!("/results/{number}/long_goodput_bps/mean"));
            found.and_then(Value::as_f64).unwrap()
        };
        let (fq_codel, gentle, by_host) = (goodput(0), goodput(1), goodput(2));
        // A few packets, of those that come through such a flood by chance, are 0.2 % of the link.
        let nearly = 0.95 * fq_codel - 20_000.0;
        assert!(gentle >= nearly, "{name}: {gentle}, {fq_codel}");
        assert!(by_host > 2_700_000.0, "{name}: {by_host}");
    }
}

/// Calls `evaluation/run` with the built program.
fn run(args: &[&str]) -> Command {
    let mut command = Command::new("python3");
    let program = Path::new(env!("CARGO_BIN_EXE_gentle"));
    let run = folder().join("run");
    command.args([text(&run), "--gentle", text(program)]).args(args);
    command
}

/// All experiments of the page, with short runs: each has its tables, and an interrupted run resumes.
#[test]
fn every_table_is_made_by_one_command() {
    let temporary = TempDir::new().unwrap();
    let args = ["--quick", "--threads=2", "--store", text(temporary.path())];
    let made = stdout(&mut run(&args));
    for title in ["sizes", "home-evening", "confucius", "tunnels", "attacks"] {
        let table = made.split(&format!("{title} on simulator\n\n| ")).nth(1);
        let table = table.unwrap_or_else(|| panic!("no table of {title}: {made}"));
        assert!(table.contains("gentle"), "{title}: {made}");
    }
    assert!(made.contains("| 1–3 segments no slower than under `fq_codel` | "), "{made}");
    // The second time all runs are there, and the tables are the same.
    let mut found = names(temporary.path()).into_iter();
    let store = found.find(|name| name.starts_with("runs-"));
    let runs = temporary.path().join(store.unwrap()).join("runs");
    let files = names(&runs);
    assert_eq!(stdout(&mut run(&args)), made);
    assert_eq!(names(&runs), files);
}

/// The judgement by regret, with short runs of two families: a section for each scheme, with verdicts, and the same from the store.
#[test]
fn schemes_are_judged_by_regret() {
    let temporary = TempDir::new().unwrap();
    let store = ["--threads=2", "--store", text(temporary.path())];
    let families = "--families=splitters,household";
    let schemes = ["--schemes=gentle", "--schemes=cake"];
    let made = stdout(run(&["regret", "--quick", families]).args(schemes).args(store));
    for part in [
        "### `gentle`",
        "### `cake`",
        "| no class more than 10 % worse than under `fq_codel` | ",
        "| an attacker's or splitter's victim gets no less than under `fq_codel` | ",
        "| **train** | 1 | ",
        "| household | 1 | ",
        "geometric means over 2 seeds in pairs",
    ] {
        assert!(made.contains(part), "{part}: {made}");
    }
    let again = stdout(run(&["regret", "--quick", families]).args(schemes).args(store));
    assert_eq!(made, again);
    // A line for each scheme: a scheme is as good as itself.
    let brief = ["regret", "--brief", "--number=1", "--seeds=1", "--families=page-bursts"];
    let line = stdout(run(&brief).args(["--schemes=fq_codel"]).args(store));
    assert!(line.starts_with("fq_codel: worst 1.00, "), "{line}");
    assert!(line.contains("0 failures in 0 scenarios"), "{line}");
}

/// The scenarios that are drawn, and the judgement of numbers with known verdicts.
#[test]
fn regret_is_as_stated() {
    let tests = folder().join("tests.py");
    let program = env!("CARGO_BIN_EXE_gentle");
    let mut command = Command::new("python3");
    command.arg(text(&tests)).arg(program).assert().success();
}

#[test]
fn the_page_has_the_tables_of_the_results() {
    run(&["--check"]).assert().success();
}

#[test]
fn mistakes_are_told() {
    let error = stderr(&mut run(&["goal-7"]), 2);
    assert!(error.contains("expected regret, sizes"), "{error}");
    let error = stderr(&mut run(&["regret", "--families=size"]), 1);
    assert!(error.contains("unknown family size; expected cases, train"), "{error}");
}
