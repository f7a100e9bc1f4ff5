//! What a build tells while it goes on.

use std::fmt;

/// Hears how a build comes along.
pub trait Observer {
    /// A stage begins.
    fn began(&self, stage: Stage);
    /// The present stage has come so far, 0 to 1; not every stage says so.
    fn reached(&self, fraction: f64);
    /// Something that is not as it should be, but that can be worked with.
    fn note(&self, text: &str);
}

/// Tells nobody.
impl Observer for () {
    fn began(&self, _: Stage) {}
    fn reached(&self, _: f64) {}
    fn note(&self, _: &str) {}
}

/// The parts of a build, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Another process builds; it may well be the same kernel.
    Wait,
    /// The source comes from the distribution.
    Download,
    /// The archive is taken apart.
    Unpack,
    /// The options are set.
    Configure,
    /// The compiler runs.
    Compile,
    /// What modules do not need is taken away.
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
