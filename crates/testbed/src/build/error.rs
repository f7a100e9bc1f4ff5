//! Why there is no kernel, or no module.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// A kernel or a module that could not be made.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Nowhere to keep it.
    #[error("no place for the cache: neither XDG_CACHE_HOME nor HOME names a directory")]
    NoCache,
    /// User-mode Linux runs on few processors.
    #[error("the testbed's kernel runs on x86-64 only; this computer is {0}")]
    Processor(&'static str),
    /// Programs that the build of a kernel needs are missing.
    #[error("to build a kernel, please install: {} (Debian's names of packages)", .0.join(" "))]
    Tools(Vec<&'static str>),
    /// No source of the kernel is at hand.
    #[error(
        "no source of Linux 7.2 or later: {0}. Install the package linux-source-7.2 (in Debian's trixie-backports), or name \
         an archive or a directory with --source"
    )]
    NoSource(String),
    /// A source that is none, or too old.
    #[error("{path}: {problem}")]
    Source {
        /// The archive or directory.
        path: PathBuf,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// A file or directory of the cache is not as needed.
    #[error("{path}: {problem}")]
    File {
        /// Where.
        path: PathBuf,
        /// What the system says.
        problem: String,
    },
    /// A program that was needed failed.
    #[error("{command} failed. It ends with:\n{tail}")]
    Command {
        /// What was run.
        command: String,
        /// Its last lines.
        tail: String,
    },
    /// The caller stopped it.
    #[error("the build was stopped; nothing was kept")]
    Stopped,
}

impl BuildError {
    pub(super) fn file(path: &Path, problem: impl ToString) -> BuildError {
        BuildError::File {
            path: path.to_owned(),
            problem: problem.to_string(),
        }
    }

    pub(super) fn source(path: &Path, problem: impl ToString) -> BuildError {
        BuildError::Source {
            path: path.to_owned(),
            problem: problem.to_string(),
        }
    }
}
