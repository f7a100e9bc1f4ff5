//! Rules and dashboard for the metrics of gentle watch and gentle probe (`deploy/prometheus`, `deploy/grafana`), with Debian's
//! Prometheus: the files alone, and a server that collects from both commands.
#![cfg(target_os = "linux")]

mod files;
mod live;
mod server;

use std::path::{Path, PathBuf};
use std::process::Command;

const RULES: &str = include_str!("../../../../deploy/prometheus/gentle-rules.yml");
const DASHBOARD: &str = include_str!("../../../../deploy/grafana/gentle-watch.json");

fn rules_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/prometheus")
}

/// Runs promtool in the folder of the rules; returns whether it succeeds, and its output.
fn promtool(arguments: &[&str], input: &str) -> (bool, String) {
    let output = assert_cmd::Command::from_std(Command::new("promtool"))
        .current_dir(rules_folder())
        .args(arguments)
        .write_stdin(input)
        .output()
        .expect("promtool is there: scripts/bootstrap test installs it");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Names of metrics with a prefix in a text.
fn names<'a>(text: &'a str, prefix: &str) -> Vec<&'a str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_:".contains(c)));
    words.filter(|word| word.starts_with(prefix)).collect()
}

/// Expressions of the dashboard's panels.
fn expressions() -> Vec<String> {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    targets.map(|target| target["expr"].as_str().expect("an expression").to_owned()).collect()
}
