//! The compiled classifiers (`bpf/*.o`) are those of their source.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Compiler that made the objects. Others make other instructions of the same source.
const MADE_BY: &str = "clang version 14.0.6";

#[test]
fn the_objects_are_made_from_the_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let built = std::env::temp_dir().join(format!("gentle-classifier-{}", std::process::id()));
    fs::create_dir_all(&built).unwrap();
    let output = Command::new(folder.join("build"))
        .arg(&built)
        .output()
        .expect("a shell");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.is_empty(), "{words}");
    let version = Command::new("clang").arg("--version").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    for name in ["ages.bpfel.o", "ages.bpfeb.o"] {
        let now = fs::read(built.join(name)).unwrap();
        assert!(now.starts_with(b"\x7fELF"), "{name}");
        if version.contains(MADE_BY) {
            let kept = fs::read(folder.join(name)).unwrap();
            assert!(
                now == kept,
                "{name} is not that of ages.c; run crates/deploy/bpf/build"
            );
        } else {
            eprintln!(
                "{name} was made by {MADE_BY}, and is not compared with what this clang makes: {version}"
            );
        }
    }
    fs::remove_dir_all(built).unwrap();
}
