//! HTML pages in Debian's Chromium, driven by Playwright: what they draw, accessibility according to axe, and their
//! buttons.
//!
//! The pages are made here by the command, as users make them; the `*.spec.mjs` files in this folder test them.
//! `scripts/bootstrap test` and then `install` in this folder install the requirements.

use assert_cmd::cargo::cargo_bin;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Folder of this file, with the specifications and the packages installed by npm.
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages");

/// Captures with deliberate losses.
const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/data");

/// Two groups of workloads and a long-lived flow, to cover every section of a comparison.
const GROUPS: &str = r#"
title = "Two groups and a long-lived flow"
source = "a test of the page"
duration = "20s"

[link.down]
rate = "2mbit"
delay = "20ms"

[link.up]
rate = "1mbit"
delay = "20ms"

[[workload]]
kind = "poisson"
group = "office"
gap = "100ms"
size = { zipf = 1.7, max = 100 }

[[workload]]
kind = "poisson"
group = "branch"
gap = "100ms"
size = { segments = 5 }
tcp = { initial_rto = "3s" }

[[workload]]
kind = "long"
"#;

/// Creation date of the pages: 2026-01-02 03:04 UTC.
const DATE: &str = "1767323040";

fn gentle(folder: &Path, args: &[&str]) -> Output {
    let output = Command::new(cargo_bin("gentle"))
        .current_dir(folder)
        .env("SOURCE_DATE_EPOCH", DATE)
        .args(args)
        .output()
        .expect("the command runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "gentle {args:?}: {complaint}");
    output
}

/// Makes every kind of page of the command in `folder`.
fn make_pages(folder: &Path) {
    std::fs::write(folder.join("groups.toml"), GROUPS).unwrap();
    for command in [
        "compare --quiet --duration 30s --seeds 3 --html compare.html --csv compare.csv",
        "sim --quiet --seeds 2 --html sim.html groups.toml",
        "compare --quiet --seeds 1 --traffic groups.toml --scheme pfifo --scheme fq_codel --html groups.html",
        "compare --quiet --duration 40s --seeds 1 --traffic short --scheme pfifo --pcap lossy.pcapng",
        "analyze --quiet --html lossy.html lossy.pcapng",
        "model --html model.html",
        // A figure that takes no simulation.
        "reproduce spa-2018 fig3 --quiet --html .",
    ] {
        gentle(folder, &command.split(' ').collect::<Vec<_>>());
    }
    let capture = |name: &str| format!("{CAPTURES}/{name}");
    let few = [
        capture("formats/us.pcap"),
        capture("netns/data.client.pcap"),
    ];
    gentle(
        folder,
        &[
            "analyze",
            "--per-file",
            "--html",
            "captures.html",
            &few[0],
            &few[1],
        ],
    );
    gentle(
        folder,
        &[
            "analyze",
            "--html",
            "empty.html",
            &capture("formats/empty.pcap"),
        ],
    );
}

/// Debian's Chromium, or the one named by the environment.
fn chromium() -> PathBuf {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let chromium = named.unwrap_or_else(|| PathBuf::from("/usr/bin/chromium"));
    assert!(
        chromium.exists(),
        "{}: there is no Chromium; run scripts/bootstrap test, or name one in CHROMIUM",
        chromium.display()
    );
    chromium
}

#[test]
fn pages_hold_in_a_browser() {
    let runner = Path::new(HERE).join("node_modules/@playwright/test/cli.js");
    assert!(
        runner.exists(),
        "{}: Playwright is missing; run crates/cli/tests/pages/install",
        runner.display()
    );
    let chromium = chromium();
    let folder = TempDir::new().unwrap();
    let results = TempDir::new().unwrap();
    make_pages(folder.path());
    let outcome = Command::new("node")
        .arg(runner)
        .arg("test")
        .current_dir(HERE)
        .env("CHROMIUM", chromium)
        .env("PAGES", folder.path())
        .env("PAGES_OUTPUT", results.path())
        .status()
        .expect("node runs; scripts/bootstrap test installs it");
    assert!(outcome.success(), "the browser's report is above");
}
