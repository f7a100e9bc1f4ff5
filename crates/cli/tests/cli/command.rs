//! Helpers to run the command.

use assert_cmd::Command;
use std::path::{Path, PathBuf};

/// Command `gentle` without a terminal and without environment variables that could change its output.
pub(crate) fn gentle(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("gentle").expect("cargo builds the command for this test");
    command.env_clear().env("SOURCE_DATE_EPOCH", "1767323040").args(args);
    command
}

/// Comparison of a few seconds of `short` under two schemes with two seeds.
pub(crate) const BRIEF: [&str; 10] = [
    "compare",
    "--traffic=short",
    "--duration=3s",
    "--seeds=2",
    "--scheme=pfifo limit=20",
    "--scheme=codel",
    "--quiet",
    "--threads=2",
    "--first-seed=7",
    "--bins=1,5",
];

/// Command with [`BRIEF`] and more arguments.
pub(crate) fn brief(more: &[&str]) -> Command {
    let mut command = gentle(&BRIEF);
    command.args(more);
    command
}

/// Standard output of a command, which must succeed.
pub(crate) fn stdout(command: &mut Command) -> String {
    let output = command.assert().success().get_output().clone();
    String::from_utf8(output.stdout).expect("text")
}

/// Standard error of a command, which must fail with `code` and print nothing.
pub(crate) fn stderr(command: &mut Command, code: i32) -> String {
    let output = command.assert().code(code).stdout("").get_output().clone();
    String::from_utf8(output.stderr).expect("text")
}

/// Path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a readable name")
}

/// Names of the entries of a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let mut names: Vec<String> = names.map(|name| name.expect("a readable name")).collect();
    names.sort();
    names
}

/// Path of a test capture of `gentle-trace`.
pub(crate) fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/data").join(name)
}

/// Command `gentle` in the folder of the test captures.
pub(crate) fn among_captures(args: &[&str]) -> Command {
    let mut command = gentle(args);
    command.current_dir(capture(""));
    command
}
