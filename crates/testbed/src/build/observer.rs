//! Progress of a build.

use std::fmt;

/// Progress callbacks of a build.
pub trait Observer {
    /// A stage begins.
    fn began(&self, stage: Stage);
    /// Progress of the current stage, 0 to 1; not reported by every stage.
    fn reached(&self, fraction: f64);
    /// Warning: something is not as expected, and the build continues.
    fn note(&self, text: &str);
}

/// No-op observer.
impl Observer for () {
    fn began(&self, _: Stage) {}
    fn reached(&self, _: f64) {}
    fn note(&self, _: &str) {}
}

/// Stages of a build, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Waits for another process to finish its build, possibly of the same kernel.
    Wait,
    /// Downloads the source from the distribution.
    Download,
    /// Unpacks the source.
    Unpack,
    /// Configures the kernel.
    Configure,
    /// Compiles the kernel.
    Compile,
    /// Removes files that module builds do not need.
    Tidy,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Wait => "waiting for another build",
            Stage::Download => "fetching the source",
            Stage::Unpack => "unpacking the source",
            Stage::Configure => "configuring",
            Stage::Compile => "compiling",
            Stage::Tidy => "tidying up",
        })
    }
}
