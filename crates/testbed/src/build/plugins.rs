//! Plug-ins that teach `tc` the options of modules.

use super::copy::Sources;
use super::{BuildError, Cache, cache, process, tools};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Builds the plug-ins of the directory `sources` (what `make tc` makes there), unless the cache has them.
///
/// They are built from a copy: the directory itself stays as it is. Returned are the `.so` files, by name.
///
/// # Errors
/// If the directory has no `Makefile`, or they cannot be built.
pub fn plugins(
    sources: &Path,
    cache: &Cache,
    stop: &AtomicBool,
) -> Result<Vec<PathBuf>, BuildError> {
    let sources = Sources::read(sources)?;
    if !sources.has("Makefile") {
        return Err(BuildError::source(
            sources.folder(),
            "no plug-ins are described: there is no Makefile",
        ));
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
