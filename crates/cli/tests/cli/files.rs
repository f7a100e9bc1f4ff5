//! Input and output files.

use crate::command::{brief, gentle, names, stderr, stdout, text};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Runs `args` in `folder`, expects a failure, and returns the error message.
fn failure(folder: &Path, args: &[&str]) -> String {
    stderr(gentle(args).current_dir(folder), 1)
}

const SCENARIO: &str = r#"
duration = "3s"

[link.down]
rate = "10mbit"
delay = "10ms"

[link.up]
rate = "10mbit"
delay = "10ms"

[[workload]]
kind = "poisson"
gap = "50ms"
size = { segments = 10 }
"#;

#[test]
fn what_is_wrong_with_an_input_is_said_with_its_place() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, content: &str| fs::write(folder.path().join(name), content).unwrap();
    write("syntax.toml", "duration = \n");
    write("key.toml", &SCENARIO.replace("delay", "deley"));
    write("unit.toml", &SCENARIO.replace("\"50ms\"", "50"));
    write("value.csv", "start_s,bytes\n0.0,1000\n1.0,many\n");
    write("column.csv", "start,bytes\n0.0,1000\n");
    write("empty.csv", "");
    fs::create_dir(folder.path().join("folder.toml")).unwrap();
    let cases: &[(&str, &[&str])] = &[
        ("nosuch.toml", &["nosuch.toml: cannot be read", "No such file"]),
        ("folder.toml", &["folder.toml: cannot be read"]),
        ("syntax.toml", &["syntax.toml:1:"]),
        ("key.toml", &["key.toml:6:1", "deley", "delay"]),
        ("unit.toml", &["unit.toml:14:", "50", "ms"]),
        ("nosuch.csv", &["nosuch.csv: cannot be read", "No such file"]),
        ("value.csv", &["value.csv:3", "many", "whole number of bytes"]),
        ("column.csv", &["column.csv:1", "'start'", "start_s"]),
        ("empty.csv", &["empty.csv:1", "start_s"]),
    ];
    for (name, expected) in cases {
        let complaint = failure(folder.path(), &["compare", "--traffic", name]);
        assert!(complaint.starts_with("error: "), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        for part in *expected {
            assert!(complaint.contains(part), "{name}: {complaint}");
        }
    }
    let complaint = failure(folder.path(), &["sim", "key.toml"]);
    assert!(complaint.contains("key.toml:6:1"), "{complaint}");
}

#[test]
fn outputs_that_cannot_be_written_are_found_before_the_work() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for option in ["--csv", "--html", "--pcap"] {
        for name in ["missing/out", "folder"] {
            // The run itself would take longer than all other tests.
            let complaint = failure(folder.path(), &["compare", "--scheme=codel", option, name]);
            assert!(complaint.contains("cannot be written"), "{option} {name}: {complaint}");
        }
    }
    fs::write(folder.path().join("file"), "").unwrap();
    let complaint = failure(folder.path(), &["man", "file/man1"]);
    assert!(complaint.contains("file/man1"), "{complaint}");
}

#[test]
fn every_output_is_written_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    // Existing files are replaced.
    fs::write(folder.path().join("out.csv"), "old").unwrap();
    let mut command = brief(&["--csv=out.csv", "--html=out.html", "--pcap=out.pcapng"]);
    let table = stdout(command.current_dir(folder.path()));
    assert!(table.contains("pfifo limit=20") && table.contains("codel"), "{table}");
    assert!(!table.contains('\x1b'), "no colours where there is no terminal: {table}");
    assert_eq!(names(folder.path()), ["out-codel.pcapng", "out-pfifo-limit-20.pcapng", "out.csv", "out.html"]);
    let csv = fs::read_to_string(folder.path().join("out.csv")).unwrap();
    for row in ["codel,codel,7,", "codel,codel,8,", "codel,codel,all,"] {
        assert!(csv.lines().any(|line| line.starts_with(row)), "{row} in {csv}");
    }
    let html = fs::read_to_string(folder.path().join("out.html")).unwrap();
    assert!(html.starts_with("<!doctype html>"), "{}", &html[..100]);
    let pcapng = fs::read(folder.path().join("out-codel.pcapng")).unwrap();
    assert_eq!(pcapng[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
}

#[test]
fn one_scheme_has_its_packets_in_the_file_named() {
    let folder = TempDir::new().unwrap();
    let scenario = folder.path().join("scenario.toml");
    let pcap = folder.path().join("out.pcapng");
    fs::write(&scenario, SCENARIO).unwrap();
    let table = stdout(&mut gentle(&["sim", text(&scenario), "--pcap", text(&pcap), "--scheme=gsp"]));
    assert!(table.contains("gsp"), "{table}");
    assert!(pcap.metadata().unwrap().len() > 10_000);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_written_to() {
    let folder = TempDir::new().unwrap();
    let target = folder.path().join("target.csv");
    let link = folder.path().join("link.csv");
    fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    stdout(&mut brief(&["--csv", text(&link), "--html=/dev/null"]));
    assert!(link.is_symlink());
    assert!(fs::read_to_string(&target).unwrap().starts_with("scheme,"));
    use std::os::unix::fs::FileTypeExt;
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_finished_costs_neither_the_table_nor_the_other_files() {
    let folder = TempDir::new().unwrap();
    let html = folder.path().join("out.html");
    let output = brief(&["--csv=/dev/full", "--html", text(&html)]).assert().code(1).get_output().clone();
    assert!(String::from_utf8(output.stdout).unwrap().contains("codel"));
    assert!(String::from_utf8(output.stderr).unwrap().contains("/dev/full: No space left"));
    assert!(html.exists());
}

#[test]
fn a_scenario_runs_alone_and_under_other_schemes() {
    let folder = TempDir::new().unwrap();
    let scenario = folder.path().join("home.toml");
    fs::write(&scenario, SCENARIO).unwrap();
    let alone = stdout(&mut gentle(&["sim", text(&scenario)]));
    assert!(alone.contains("pfifo limit=50"), "{alone}");
    // The file lists no schemes, so the schemes of the built-in scenarios are compared, with buffers for its rate.
    let table = stdout(&mut gentle(&["compare", "--seeds=1", "--traffic", text(&scenario)]));
    for scheme in ["pfifo limit=208", "fq_codel target=20ms", "syn_fin_prio", "spa"] {
        assert!(table.contains(scheme), "{scheme}: {table}");
    }
}

#[test]
fn a_list_of_flows_is_replayed() {
    let folder = TempDir::new().unwrap();
    let flows = folder.path().join("flows.csv");
    fs::write(&flows, "start_s,bytes\n0.0,14480\n0.5,2896\n").unwrap();
    let args = ["compare", "--json", "--scheme=pie", "--seeds=1", "--traffic", text(&flows)];
    let json: serde_json::Value = serde_json::from_str(&stdout(&mut gentle(&args))).unwrap();
    assert_eq!(json["results"][0]["completed"], 2);
    assert_eq!(json["scenario"]["profile"], "linux-7.2");
}
