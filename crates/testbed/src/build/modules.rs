//! Modules from outside the kernel's tree.

use super::{BuildError, Cache, Kernel, cache, compile, process, tools};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What takes part in a build of modules, by its beginning or its end.
const DESCRIPTIONS: [&str; 2] = ["Kbuild", "Makefile"];
const SOURCES: [&str; 2] = ["c", "h"];

/// Builds the modules of the directory `sources` (what its `Kbuild` names) for `kernel`, unless the cache has them.
///
/// They are built from a copy: the directory itself stays as it is. Returned are the `.ko` files, by name.
pub fn modules(
    kernel: &Kernel,
    sources: &Path,
    cache: &Cache,
    stop: &AtomicBool,
) -> Result<Vec<PathBuf>, BuildError> {
    let mut files = Vec::new();
    collect(sources, Path::new(""), &mut files)?;
    files.sort();
    if !files.iter().any(|(path, _)| path == Path::new("Kbuild")) {
        return Err(BuildError::source(
            sources,
            "no modules are described: there is no Kbuild",
        ));
    }
    let mut hash = Sha256::new();
    for (path, text) in &files {
        hash.update(path.as_os_str().as_encoded_bytes());
        // Lengths keep apart what else could be cut in another place.
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    let tree = kernel
        .tree
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let name = format!("{tree}-{}", cache::short_hex(&hash.finalize()));
    let place = cache.modules().join(name);
    if place.is_dir() {
        return built(&place);
    }
    let _lock = cache.lock(&cache.modules(), stop, &())?;
    if place.is_dir() {
        return built(&place);
    }
    tools::check()?;
    let work = cache.work(&cache.modules())?;
    for (path, text) in &files {
        let target = work.path().join(path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|error| BuildError::file(parent, error))?;
        }
        fs::write(&target, text).map_err(|error| BuildError::file(&target, error))?;
    }
    let mut make = compile::make(&kernel.tree);
    make.arg(format!("M={}", work.path().display()))
        .arg("modules");
    process::run(&mut make, stop, &mut |_| {})?;
    cache::keep(work, &place)?;
    built(&place)
}

fn collect(
    sources: &Path,
    below: &Path,
    files: &mut Vec<(PathBuf, Vec<u8>)>,
) -> Result<(), BuildError> {
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
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    // What an earlier build in that directory has left.
    !name.ends_with(".mod.c") && (DESCRIPTIONS.contains(&name) || SOURCES.contains(&extension))
}

fn built(place: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let entries = fs::read_dir(place).map_err(|error| BuildError::file(place, error))?;
    let mut modules: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "ko"))
        .collect();
    modules.sort();
    Ok(modules)
}
