//! Completions and manual pages.

use crate::command::{gentle, stdout, text};
use std::fs;
use std::process::Command;
use tempfile::TempDir;

const COMMANDS: [&str; 10] = [
    "analyze",
    "compare",
    "sim",
    "qdisc",
    "rexmit",
    "testbed",
    "schemes",
    "profiles",
    "completions",
    "man",
];

/// The verbs of those that have several.
const VERBS: [&str; 11] = [
    "qdisc-plan",
    "qdisc-apply",
    "qdisc-show",
    "qdisc-remove",
    "rexmit-status",
    "testbed-build",
    "testbed-exec",
    "testbed-run",
    "testbed-compare",
    "testbed-check",
    "testbed-decisions",
];

/// Runs a program that a machine may lack; says so when it does.
fn run(program: &str, args: &[&str]) -> Option<std::process::Output> {
    match Command::new(program).args(args).output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("skipped: {program}: {error}");
            None
        }
    }
}

#[test]
fn completions_know_every_command() {
    let folder = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&mut gentle(&["completions", shell]));
        for word in COMMANDS.iter().chain(&["traffic", "freebsd-9.3"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
        let file = folder.path().join(shell);
        fs::write(&file, script).unwrap();
        if let Some(output) = run(shell, &["-n", text(&file)]) {
            assert!(output.status.success(), "{shell}: {output:?}");
            assert!(output.stderr.is_empty(), "{shell}: {output:?}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page_that_renders() {
    let folder = TempDir::new().unwrap();
    let directory = folder.path().join("share/man1");
    assert_eq!(stdout(&mut gentle(&["man", text(&directory)])), "");
    let mut pages = vec!["gentle.1".to_owned()];
    let named = COMMANDS.iter().chain(&VERBS);
    pages.extend(named.map(|command| format!("gentle-{command}.1")));
    assert_eq!(fs::read_dir(&directory).unwrap().count(), pages.len());
    for page in pages {
        let file = directory.join(&page);
        let source = fs::read_to_string(&file).unwrap();
        let name = page.trim_end_matches(".1").replace('-', r"\-");
        assert!(
            source.contains(&format!(".SH NAME\n{name} \\- ")),
            "{source}"
        );
        if let Some(output) = run("groff", &["-man", "-Tutf8", "-ww", text(&file)]) {
            assert!(output.status.success(), "{page}: {output:?}");
            assert!(
                output.stderr.is_empty(),
                "{page}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
    let source = fs::read_to_string(directory.join("gentle-compare.1")).unwrap();
    for option in ["traffic", "scheme", "seeds", r"first\-seed", "bins", "pcap"] {
        assert!(source.contains(option), "{option}");
    }
    let source = fs::read_to_string(directory.join("gentle-analyze.1")).unwrap();
    for option in [r"per\-file", "anonymize", "connections", "vantage"] {
        assert!(source.contains(option), "{option}");
    }
}
