//! External sources, which are built in a copy.

use super::{BuildError, cache};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Names and extensions of files that take part in a build.
const DESCRIPTIONS: [&str; 2] = ["Kbuild", "Makefile"];
const ENDINGS: [&str; 2] = ["c", "h"];

/// Source files in a directory and its subdirectories.
pub(super) struct Sources {
    folder: PathBuf,
    /// Relative path and content, sorted by path.
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Sources {
    pub(super) fn read(folder: &Path) -> Result<Sources, BuildError> {
        let mut files = Vec::new();
        collect(folder, Path::new(""), &mut files)?;
        files.sort();
        Ok(Sources { folder: folder.to_owned(), files })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the top directory has a file `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.iter().any(|(path, _)| path == Path::new(name))
    }

    /// Hash of all paths and contents.
    pub(super) fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for (path, text) in &self.files {
            hash.update(path.as_os_str().as_encoded_bytes());
            // Hash the length, so that moving a boundary between files changes the hash.
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        }
        cache::short_hex(&hash.finalize())
    }

    pub(super) fn copy_to(&self, folder: &Path) -> Result<(), BuildError> {
        for (path, text) in &self.files {
            let target = folder.join(path);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent).map_err(|error| BuildError::file(parent, error))?;
            }
            fs::write(&target, text).map_err(|error| BuildError::file(&target, error))?;
        }
        Ok(())
    }
}

fn collect(sources: &Path, below: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) -> Result<(), BuildError> {
    let folder = sources.join(below);
    let wrong = |error: std::io::Error| BuildError::source(&folder, error);
    for entry in fs::read_dir(&folder).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let path = below.join(entry.file_name());
        if entry.file_type().map_err(wrong)?.is_dir() {
            collect(sources, &path, files)?;
        } else if takes_part(&path) {
            files.push((path, fs::read(entry.path()).map_err(wrong)?));
        }
    }
    Ok(())
}

fn takes_part(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    // Skip products of an earlier build in that directory.
    !name.ends_with(".mod.c") && (DESCRIPTIONS.contains(&name) || ENDINGS.contains(&extension))
}
