//! The committed objects of the BPF program are compiled from its source.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Version of clang that made the objects; others make other instructions of the same source.
const CLANG: &str = "clang version 14.0.6";

#[test]
fn the_committed_objects_are_compiled_from_the_source() {
    let Ok(version) = Command::new("clang").arg("--version").output() else {
        eprintln!("skipped: there is no clang");
        return;
    };
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let built = tempfile::TempDir::new().unwrap();
    let output = Command::new(folder.join("build")).arg(built.path()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{stderr}");
    for object in ["rexmit.bpfel.o", "rexmit.bpfeb.o"] {
        let now = fs::read(built.path().join(object)).unwrap();
        assert!(now.starts_with(b"\x7fELF"), "{object}");
        if version.contains(CLANG) {
            let committed = fs::read(folder.join(object)).unwrap();
            assert!(now == committed, "{object} is not compiled from its source; run crates/rexmit/bpf/build");
        } else {
            eprintln!("{object} was made by {CLANG}, and is not compared with the object of {version}");
        }
    }
}
