//! Plug-ins that add the options of modules to `tc`.

use super::copy::Sources;
use super::{BuildError, Cache, SourceProblem, cache, process, tools};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Builds the plug-ins in the directory `sources` with `make tc`, unless they are cached.
///
/// The build uses a copy; the directory is not changed. Returns the paths of the `.so` files, sorted by name.
///
/// # Errors
/// The directory has no `Makefile`, or the build fails.
pub fn plugins(sources: &Path, cache: &Cache, stop: &AtomicBool) -> Result<Vec<PathBuf>, BuildError> {
    let sources = Sources::read(sources)?;
    if !sources.has("Makefile") {
        return Err(BuildError::source(sources.folder(), SourceProblem::NoPluginMakefile));
    }
    let place = cache.plugins().join(sources.fingerprint());
    let built = place.join("tc");
    if place.is_dir() {
        return cache::files(&built, "so");
    }
    let _lock = cache.lock(&cache.plugins(), stop, &())?;
    if place.is_dir() {
        return cache::files(&built, "so");
    }
    tools::check()?;
    let work = cache.work(&cache.plugins())?;
    sources.copy_to(work.path())?;
    let mut make = Command::new("make");
    make.arg("-C").arg(work.path()).arg("tc");
    process::run(&mut make, stop, &mut |_| {})?;
    cache::keep(work, &place)?;
    cache::files(&built, "so")
}
