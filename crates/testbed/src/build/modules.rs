//! Out-of-tree kernel modules.

use super::copy::Sources;
use super::{BuildError, Cache, Kernel, SourceProblem, cache, compile, process, tools};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Builds the modules listed in the `Kbuild` of the directory `sources` for `kernel`, unless they are cached.
///
/// The build uses a copy; the directory is not changed. Returns the paths of the `.ko` files, sorted by name.
///
/// # Errors
/// The directory has no `Kbuild`, or the build fails.
pub fn modules(kernel: &Kernel, sources: &Path, cache: &Cache, stop: &AtomicBool) -> Result<Vec<PathBuf>, BuildError> {
    let sources = Sources::read(sources)?;
    if !sources.has("Kbuild") {
        return Err(BuildError::source(sources.folder(), SourceProblem::NoKbuild));
    }
    let tree = kernel.tree.file_name().unwrap_or_default().to_string_lossy();
    let place = cache.modules().join(format!("{tree}-{}", sources.fingerprint()));
    if place.is_dir() {
        return cache::files(&place, "ko");
    }
    let _lock = cache.lock(&cache.modules(), stop, &())?;
    if place.is_dir() {
        return cache::files(&place, "ko");
    }
    tools::check()?;
    let work = cache.work(&cache.modules())?;
    sources.copy_to(work.path())?;
    let mut make = compile::make(&kernel.tree);
    make.arg(format!("M={}", work.path().display())).arg("modules");
    process::run(&mut make, stop, &mut |_| {})?;
    cache::keep(work, &place)?;
    cache::files(&place, "ko")
}
