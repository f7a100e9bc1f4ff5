//! The real captures that lie beside the repository, in `../shared/captures`, for the tests of every crate that reads them.

use std::path::{Path, PathBuf};

/// All of them, in order of their names; none, and a word about it, where they are not.
pub(crate) fn all() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                folders.push(path);
            } else if matches!(extension, Some("pcap" | "pcapng" | "cap")) {
                found.push(path);
            }
        }
    }
    found.sort();
    if found.is_empty() {
        eprintln!("skipped: no captures in ../shared/captures beside the repository");
    }
    found
}

/// What one is called in expectations and messages: its path without the folders above theirs.
pub(crate) fn name(path: &Path) -> String {
    let text = path.display().to_string();
    match text.split_once("shared/captures/") {
        Some((_, name)) => name.to_owned(),
        None => text,
    }
}
