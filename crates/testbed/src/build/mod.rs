//! Makes the kernel of the machines, and modules for it, and keeps them in a cache.

mod cache;
mod error;
mod flavour;

pub use cache::Cache;
pub use error::BuildError;
pub use flavour::Flavour;

use std::path::PathBuf;

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
