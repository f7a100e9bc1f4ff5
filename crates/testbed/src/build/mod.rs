//! Builds the machines' kernel, its modules and the plug-ins of `tc` for them, and caches them.
//!
//! A kernel is built once for each version and configuration: its source is unpacked into the cache, configured,
//! compiled, and stripped to what module builds need. Only then is it renamed into place, so an entry of the cache is
//! always complete. If several processes need a kernel at the same time, one builds it and the others wait.

mod cache;
mod compile;
mod copy;
mod download;
mod edits;
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
pub(crate) use edits::SEED_VARIABLE;
pub use error::{BuildError, NoSource, SourceProblem};
pub use flavour::Flavour;
pub use modules::modules;
pub use observer::{Observer, Stage};
pub use plugins::plugins;
pub use source::Source;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// A bootable kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Version, as in `7.2.12`.
    pub version: String,
    /// Configuration.
    pub flavour: Flavour,
    /// Path of the kernel program.
    pub linux: PathBuf,
    /// Tree that modules are built against.
    pub tree: PathBuf,
}

/// Kernel that a caller requests.
#[derive(Debug, Clone)]
pub struct Request {
    /// Configuration.
    pub flavour: Flavour,
    /// Source; `None`: any cached version, or the distribution's source if none is cached.
    pub source: Option<Source>,
    /// Build even if the kernel is cached.
    pub force: bool,
    /// Number of parallel compiler jobs.
    pub jobs: NonZero<usize>,
}

/// Returns the requested kernel, from the cache or newly built.
///
/// # Errors
/// There is no source, a tool is missing, the build fails, or `stop` becomes true.
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
    // The process that held the lock may have built it.
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
        // A build with another configuration may have left files in the directory.
        process::run(compile::make(tree.path()).arg("mrproper"), stop, &mut |_| {})?;
    }
    edits::apply(tree.path(), observer)?;
    compile::configure(tree.path(), flavour, observer, stop)?;
    compile::compile(tree.path(), flavour, request.jobs, observer, stop)?;
    observer.began(Stage::Tidy);
    tidy::tidy(tree.path())?;
    cache::keep(tree, &kernel.tree)?;
    Ok(kernel)
}
