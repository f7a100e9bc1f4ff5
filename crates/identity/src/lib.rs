#![doc = include_str!("../README.md")]

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Sets `GENTLE_ENGINE` for the crate that is being built: 32 hexadecimal digits, the start of the SHA-256 of its
/// sources, of the sources of `crates` of the workspace named by their folders, and of the versions of the `libraries`.
/// The script runs again when one of these changes.
///
/// A crate built from its package alone has no workspace around it: its sources and its version, which fixes the
/// content of each crate that it depends on, then stand for all.
///
/// # Errors
/// A source cannot be read.
pub fn emit(crates: &[&str], libraries: &[&str]) -> io::Result<()> {
    let own = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let root = own.join("../..");
    let mut hashing = Sha256::new();
    hashing.update(variable("CARGO_PKG_VERSION")?);
    add(&mut hashing, &own, Path::new("src"))?;
    if root.join("crates/identity").is_dir() {
        for folder in crates {
            add(&mut hashing, &root, &Path::new("crates").join(folder).join("src"))?;
        }
        let lock = root.join("Cargo.lock");
        watch(&lock);
        let lock = fs::read_to_string(lock)?;
        for library in libraries {
            hashing.update(version(&lock, library).unwrap_or_default());
        }
    }
    let mut engine = String::new();
    for byte in hashing.finalize().iter().take(16) {
        write!(engine, "{byte:02x}").map_err(io::Error::other)?;
    }
    println!("cargo::rustc-env=GENTLE_ENGINE={engine}");
    Ok(())
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|error| io::Error::other(format!("{name}: {error}")))
}

fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

/// Adds the file or the files of the folder at `below` in `root`, in the order of their names.
fn add(hashing: &mut Sha256, root: &Path, below: &Path) -> io::Result<()> {
    let path = root.join(below);
    watch(&path);
    if path.is_dir() {
        let names = fs::read_dir(&path)?.map(|entry| Ok(entry?.file_name()));
        let mut names = names.collect::<io::Result<Vec<_>>>()?;
        names.sort();
        return names.iter().try_for_each(|name| add(hashing, root, &below.join(name)));
    }
    let text = fs::read(&path)?;
    hashing.update(below.as_os_str().as_encoded_bytes());
    hashing.update(text.len().to_le_bytes());
    hashing.update(text);
    Ok(())
}

/// Version of a library in the text of a `Cargo.lock`; of several, the first.
fn version<'a>(lock: &'a str, library: &str) -> Option<&'a str> {
    let name = format!("name = \"{library}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_library_is_found() {
        let lock = "[[package]]\nname = \"rand_core\"\nversion = \"0.9.1\"\n\n[[package]]\nname = \"rand\"\nversion = \"0.10.0\"\n";
        assert_eq!(version(lock, "rand"), Some("version = \"0.10.0\""));
        assert_eq!(version(lock, "libm"), None);
    }
}
