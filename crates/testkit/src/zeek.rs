//! Real captures, from the test suite of the Zeek network monitor (`crates/testkit/data`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

const ARCHIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/zeek.tar.xz");

/// Number of captures in the archive.
const CAPTURES: usize = 230;

/// All captures, in order of their names.
pub fn all() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("it was unpacked") {
            let path = entry.expect("it was unpacked").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    assert_eq!(found.len(), CAPTURES, "captures in {ARCHIVE}");
    found
}

/// Folder of the captures, unpacked next to the test's binary by the first test that needs it.
pub fn folder() -> PathBuf {
    let archive = File::open(ARCHIVE).unwrap_or_else(|error| panic!("{ARCHIVE}: {error}"));
    let version = archive
        .metadata()
        .and_then(|metadata| metadata.modified())
        .expect("a file has a time")
        .duration_since(std::time::UNIX_EPOCH)
        .expect("since 1970")
        .as_nanos();
    let binary = std::env::current_exe().expect("a test is a program");
    let binaries = binary.parent().expect("it is in a folder");
    let unpacked = binaries.join(format!("captures-{version}"));
    if !unpacked.exists() {
        let new = tempfile::tempdir_in(binaries).expect("a folder next to the binary");
        tar::Archive::new(liblzma::read::XzDecoder::new(archive))
            .unpack(new.path())
            .unwrap_or_else(|error| panic!("{ARCHIVE}: {error}"));
        // If another test was faster, its copy stays and this one is deleted.
        if fs::rename(new.path(), &unpacked).is_ok() {
            let _ = new.keep();
        }
        assert!(unpacked.exists(), "{} cannot be made", unpacked.display());
    }
    unpacked
}

/// Name of a capture in expectations and messages: its path within the archive.
pub fn name(path: &Path) -> String {
    let text = path.display().to_string();
    match text.rfind("/zeek/") {
        Some(at) => text[at + 1..].to_owned(),
        None => text,
    }
}
