//! Mistakes of usage that the flags' definitions cannot find alone.

use thiserror::Error;

/// Ends the program with [`Usage::EXIT_CODE`] instead of 1.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

impl Usage {
    /// clap's own for what it refuses.
    pub(crate) const EXIT_CODE: u8 = 2;
}
