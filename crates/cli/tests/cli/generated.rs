//! Completions and manual pages.

use crate::command::{gentle, stdout, text};
use std::fs;
use std::process::Command;
use tempfile::TempDir;

const COMMANDS: [&str; 18] = [
    "analyze",
    "compare",
    "merge",
    "sim",
    "sweep",
    "qdisc",
    "watch",
    "probe",
    "rexmit",
    "testbed",
    "model",
    "reproduce",
    "lab",
    "schemes",
    "profiles",
    "schema",
    "completions",
    "man",
];

/// The verbs of those that have several.
const VERBS: [&str; 17] = [
    "qdisc-plan",
    "qdisc-apply",
    "qdisc-show",
    "qdisc-remove",
    "rexmit-wire",
    "rexmit-kernel",
    "rexmit-kernel-install",
    "rexmit-kernel-status",
    "rexmit-kernel-remove",
    "rexmit-status",
    "testbed-build",
    "testbed-exec",
    "testbed-run",
    "testbed-compare",
    "testbed-sweep",
    "testbed-check",
    "testbed-decisions",
];

/// Runs a program, which must be installed.
fn run(program: &str, args: &[&str]) -> std::process::Output {
    let output = Command::new(program).args(args).output();
    output.unwrap_or_else(|error| panic!("{program} cannot be run ({error}): run `scripts/bootstrap test`"))
}

#[test]
fn scripts_for_shells_are_in_their_language() {
    let folder = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&mut gentle(&["completions", shell]));
        assert!(script.contains("GENTLE_COMPLETE"), "{shell}: {script}");
        let file = folder.path().join(shell);
        fs::write(&file, script).unwrap();
        let output = run(shell, &["-n", text(&file)]);
        assert!(output.status.success(), "{shell}: {output:?}");
        assert!(output.stderr.is_empty(), "{shell}: {output:?}");
    }
}

/// Completions of bash for the last of `words`.
fn completed(words: &[&str]) -> Vec<String> {
    let mut command = gentle(&["--", "gentle"]);
    command
        .args(words)
        .env("GENTLE_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .env("_CLAP_IFS", "\n");
    stdout(&mut command).lines().map(str::to_owned).collect()
}

#[test]
fn shells_offer_commands_options_and_values() {
    let offers = |words: &[&str], expected: &[&str]| {
        let offered = completed(words);
        for value in expected {
            let found = offered.iter().any(|offer| offer == value);
            assert!(found, "{words:?}: no {value} in {offered:?}");
        }
    };
    offers(&[""], &COMMANDS);
    offers(&["compare", "--tra"], &["--traffic"]);
    offers(&["compare", "--scheme", ""], &["pfifo", "fq_codel", "spa"]);
    offers(&["compare", "--scheme", "fq_"], &["fq_codel", "fq_pie"]);
    offers(&["compare", "--scheme", "codel limit=9 t"], &["codel limit=9 target="]);
    offers(&["compare", "--scheme", "cake wash dual"], &["cake wash dual-srchost", "cake wash dual-dsthost"]);
    offers(&["sim", "--scheme", "sp"], &["spa"]);
    offers(&["compare", "--traffic", ""], &["real", "short", "10m"]);
    offers(&["sim", "re"], &["real", "real-reverse"]);
    offers(&["compare", "--profile", ""], &["linux-7.2", "freebsd-9.3"]);
    offers(&["compare", "--tcp", "initial_"], &["initial_rto="]);
    offers(&["schemes", "sy"], &["syn_prio", "syn_fin_prio"]);
    offers(&["profiles", "f"], &["freebsd-9.3"]);
    offers(&["qdisc", "plan", "eth0", "spa", "--shaper", ""], &["htb", "cake"]);
    // Every network namespace has the loopback device.
    offers(&["qdisc", "apply", "l"], &["lo"]);
    offers(&["qdisc", "remove", ""], &["lo"]);
    assert!(completed(&["compare", "--scheme", "x"]).is_empty());
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
        assert!(source.contains(&format!(".SH NAME\n{name} \\- ")), "{source}");
        let output = run("groff", &["-man", "-Tutf8", "-ww", text(&file)]);
        assert!(output.status.success(), "{page}: {output:?}");
        assert!(output.stderr.is_empty(), "{page}: {}", String::from_utf8_lossy(&output.stderr));
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
