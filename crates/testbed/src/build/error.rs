//! Why there is no kernel.

use thiserror::Error;

/// A kernel or a module that could not be made.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Nowhere to keep it.
    #[error("no place for the cache: neither XDG_CACHE_HOME nor HOME names a directory")]
    NoCache,
}
