//! Errors of `gentle testbed build`.

use assert_cmd::cargo::cargo_bin;
use std::process::{Command, Output};
use tempfile::TempDir;

fn gentle(folder: &TempDir, args: &[&str]) -> Output {
    Command::new(cargo_bin("gentle"))
        .arg("testbed")
        .args(args)
        .env("XDG_CACHE_HOME", folder.path())
        .current_dir(folder.path())
        .output()
        .unwrap()
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn missing_programs_are_named_together() {
    let folder = TempDir::new().unwrap();
    let output = Command::new(cargo_bin("gentle"))
        .args(["testbed", "build"])
        .env("XDG_CACHE_HOME", folder.path())
        .env("PATH", folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = complaint(&output);
    assert!(complaint.contains("please install: gcc binutils make flex bison bc"), "{complaint}");
}

#[test]
fn machines_want_a_kernel_first() {
    let folder = TempDir::new().unwrap();
    let output = gentle(&folder, &["exec", "--", "true"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("run: gentle testbed build\n"), "{output:?}");
    let output = gentle(&folder, &["exec", "--debug", "--", "true"]);
    assert!(complaint(&output).contains("run: gentle testbed build --debug\n"), "{output:?}");
}

#[test]
fn sources_that_are_none_are_refused() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    std::fs::write(folder.path().join("text.txt"), "no archive").unwrap();
    std::fs::write(folder.path().join("broken.tar.xz"), "no archive").unwrap();
    for (source, code, text) in [
        ("nowhere.tar.xz", 2, "nowhere.tar.xz: No such file"),
        ("empty", 2, "empty: not the source of Linux"),
        ("text.txt", 1, "text.txt: expected a directory, or an archive"),
        ("broken.tar.xz", 1, "broken.tar.xz: "),
    ] {
        let output = gentle(&folder, &["build", "--source", source]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(complaint(&output).contains(text), "{output:?}");
    }
    let kernels = folder.path().join("gentle/testbed/kernels");
    let left = std::fs::read_dir(kernels).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["lock"], "nothing is left behind");
}

#[test]
fn the_guests_side_is_not_for_people() {
    let folder = TempDir::new().unwrap();
    let output = gentle(&folder, &["guest", "init"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("the first process of a machine"), "{output:?}");
    let output = gentle(&folder, &["guest"]);
    assert!(complaint(&output).contains("internal to the testbed"), "{output:?}");
}
