//! The compiled programs in BPF (`bpf/*.o` and `kernel/bpf/*.o`) are those of their sources.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Compiles the sources in `folder` of the repository by the script `build` there, and compares the objects `NAME.bpfel.o`
/// and `NAME.bpfeb.o` with those kept. `made_by` is the version of `compiler` that made these; others make other instructions
/// of the same source.
fn made_from_the_source(folder: &str, name: &str, compiler: &str, made_by: &str) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = std::env::temp_dir().join(format!("gentle-{name}-{}", std::process::id()));
    fs::create_dir_all(&built).unwrap();
    let output = Command::new(repository.join(folder).join("build"))
        .arg(&built)
        .output()
        .expect("a shell");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.is_empty(), "{words}");
    let version = Command::new(compiler).arg("--version").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    for object in ["bpfel.o", "bpfeb.o"].map(|order| format!("{name}.{order}")) {
        let now = fs::read(built.join(&object)).unwrap();
        assert!(now.starts_with(b"\x7fELF"), "{object}");
        if version.contains(made_by) {
            let kept = fs::read(repository.join(folder).join(&object)).unwrap();
            assert!(
                now == kept,
                "{object} is not that of its source; run {folder}/build"
            );
        } else {
            eprintln!(
                "{object} was made by {made_by}, and is not compared with what this one makes: {version}"
            );
        }
    }
    fs::remove_dir_all(built).unwrap();
}

#[test]
fn the_classifier() {
    made_from_the_source("crates/deploy/bpf", "ages", "clang", "clang version 14.0.6");
}

#[test]
fn the_qdisc() {
    made_from_the_source("kernel/bpf", "gentle", "clang-19", "clang version 19.1.7");
}
