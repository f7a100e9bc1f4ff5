//! Command `gentle testbed run --native`. The computer whose own kernel it uses is a machine, which has root and netem.

use crate::kernel::{exec, kernel};
use crate::run::gentle;
use assert_cmd::cargo::cargo_bin;
use nix::unistd::geteuid;
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use tempfile::TempDir;

const RUN: [&str; 6] = ["testbed", "run", "short", "--duration=3s", "--scheme=codel", "--quiet"];

/// Paths of the values; only the first element of a list counts.
fn places(value: &Value, above: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let place = format!("{above}/{name}");
                places(field, &place, found);
                found.insert(place);
            }
        }
        Value::Array(list) => list.iter().take(1).for_each(|first| places(first, &format!("{above}/0"), found)),
        _ => {}
    }
}

#[test]
fn it_gives_what_a_machine_gives_and_leaves_nothing() {
    if kernel().is_none() {
        return;
    }
    let program = cargo_bin("gentle");
    let words = RUN.join(" ");
    let line = format!("'{}' {words} --native --json && ip netns list >&2", program.display());
    let output = exec(&[], &["sh", "-c", &line]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said, "", "namespaces that were left");
    let native: Value = serde_json::from_slice(&output.stdout).unwrap();
    let machine = gentle(&RUN);

    let [mut of_native, mut of_machine] = [BTreeSet::new(), BTreeSet::new()];
    places(&native, "", &mut of_native);
    places(&machine, "", &mut of_machine);
    assert_eq!(of_native, of_machine);
    let value = |from: &Value, name: &str| from.pointer(&format!("/results/0/{name}")).cloned();
    let completed = value(&native, "completed");
    assert_eq!(completed, value(&native, "connections"));
    assert_eq!(completed, value(&machine, "completed"));
    let assumptions = native.pointer("/scenario/choices").unwrap().to_string();
    assert!(assumptions.contains("this computer's Linux"), "{assumptions}");
}

#[test]
fn it_says_that_it_takes_root() {
    let program = cargo_bin("gentle");
    // Root switches to nobody, who may be unable to read the folder of the program.
    let (mut command, _place) = if geteuid().is_root() {
        let place = TempDir::new().unwrap();
        let copy = place.path().join("gentle");
        std::fs::copy(&program, &copy).unwrap();
        std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = Command::new(copy);
        command.uid(65_534).gid(65_534);
        (command, Some(place))
    } else {
        (Command::new(program), None)
    };
    let output = command.args(RUN).arg("--native").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("need root; use sudo, or leave out --native"), "{said}");
}
