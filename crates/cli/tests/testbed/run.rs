//! Helpers that run the program and parse its output.

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::process::Command;
use tempfile::TempDir;

/// Output of `gentle … --json`.
pub(crate) fn gentle(arguments: &[&str]) -> Value {
    let output = Command::new(cargo_bin("gentle")).args(arguments).arg("--json").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Results of a scenario file with these contents on the kernel, with stock parts of Linux, and in the simulator.
pub(crate) fn both(scenario: &str, arguments: &[&str]) -> [Value; 2] {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, scenario).unwrap();
    let traffic = ["--traffic", file.to_str().unwrap(), "--quiet"];
    let testbed = ["testbed", "compare", "--backing=stock", "--threads=2"];
    [&testbed[..], &["compare"]].map(|command| gentle(&[command, &traffic[..], arguments].concat()))
}

/// Number at a JSON pointer.
pub(crate) fn number(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no {path} in {value}"))
}
