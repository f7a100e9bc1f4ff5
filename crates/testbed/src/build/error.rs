//! Errors of building a kernel or a module.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// A kernel or a module could not be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// No directory for the cache is known.
    #[error("no place for the cache: neither XDG_CACHE_HOME nor HOME names a directory")]
    NoCache,
    /// The testbed's kernel does not run on this processor.
    #[error("the testbed's kernel runs on x86-64 only; this computer is {0}")]
    Processor(&'static str),
    /// Programs that the kernel build needs are missing.
    #[error("to build a kernel, please install: {} (Debian's names of packages)", .0.join(" "))]
    Tools(Vec<&'static str>),
    /// No kernel source was found.
    #[error(
        "no source of Linux 7.2 or later: {0}. Install the package linux-source-7.2 (in Debian's trixie-backports), or name \
         an archive or a directory with --source"
    )]
    NoSource(String),
    /// A path is not a kernel source, or the version is too old.
    #[error("{path}: {problem}")]
    Source {
        /// Archive or directory.
        path: PathBuf,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// A file or directory of the cache cannot be used.
    #[error("{path}: {problem}")]
    File {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        problem: String,
    },
    /// A command of the build failed.
    #[error("{command} failed. It ends with:\n{tail}")]
    Command {
        /// Command that was run.
        command: String,
        /// Last lines of its output.
        tail: String,
    },
    /// The caller stopped the build.
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
