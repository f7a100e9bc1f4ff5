//! Makes the kernel of the machines, modules for it and the plug-ins of `tc` that go with them, and keeps them in a cache.
//!
//! A kernel is made once for each version and configuration: its source is unpacked into the cache, configured, compiled
//! and stripped to what modules need; only then it gets its name, so that what has its name is whole. Several processes
//! may ask at the same time; one builds, the others wait for it.

mod cache;
mod compile;
mod copy;
mod download;
mod error;
mod flavour;
mod modules;
mod observer;
mod plugins;
mod process;
mod source;
mod tidy;
mod tools;
mod unpack;

pub use cache::Cache;
pub use error::BuildError;
pub use flavour::Flavour;
pub use modules::modules;
pub use observer::{Observer, Stage};
pub use plugins::plugins;
pub use source::Source;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// As it calls itself, as in `7.2.12`.
    pub version: String,
    /// Which of the two configurations it has.
    pub flavour: Flavour,
    /// The program.
    pub linux: PathBuf,
    /// The tree that modules are built against.
    pub tree: PathBuf,
}

/// What kernel is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its configuration.
    pub flavour: Flavour,
    /// Its source. `None`: any version will do that the cache has; if it has none, the distribution's.
    pub source: Option<Source>,
    /// Build even if the cache has it.
    pub force: bool,
    /// Compilers at a time.
    pub jobs: NonZero<usize>,
}

/// Returns the kernel asked for, from the cache or newly built.
pub fn build(
    request: &Request,
    cache: &Cache,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Kernel, BuildError> {
    let flavour = request.flavour;
    let cached = || {
        let any = request.source.is_none() && !request.force;
        any.then(|| cache.kernel(flavour)).flatten()
    };
    if let Some(kernel) = cached() {
        return Ok(kernel);
    }
    tools::check()?;
    let _lock = cache.lock(&cache.kernels(), stop, observer)?;
    // The one that was waited for may have built it.
    if let Some(kernel) = cached() {
        return Ok(kernel);
    }
    let download = cache.work(&cache.kernels())?;
    let source = match &request.source {
        Some(source) => source.clone(),
        None => Source::of_distribution(download.path(), observer, stop)?,
    };
    let tree = cache.work(&cache.kernels())?;
    let version = unpack::unpack(&source, tree.path(), observer, stop)?;
    let kernel = cache.kernel_of(&version, flavour);
    if kernel.linux.is_file() && !request.force {
        return Ok(kernel);
    }
    if let Source::Directory(_) = source {
        // It may have been built in, with another configuration.
        process::run(
            compile::make(tree.path()).arg("mrproper"),
            stop,
            &mut |_| {},
        )?;
    }
    compile::configure(tree.path(), flavour, observer, stop)?;
    compile::compile(tree.path(), flavour, request.jobs, observer, stop)?;
    observer.began(Stage::Tidy);
    tidy::tidy(tree.path())?;
    cache::keep(tree, &kernel.tree)?;
    Ok(kernel)
}
