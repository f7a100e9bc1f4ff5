//! Usage errors that clap cannot detect.

use thiserror::Error;

/// Usage error, which ends the program with [`Usage::EXIT_CODE`] instead of 1.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

impl Usage {
    /// Exit code for usage errors, the same as clap's.
    pub(crate) const EXIT_CODE: u8 = 2;
}
