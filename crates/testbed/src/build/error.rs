//! Errors of building a kernel or a module.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A kernel or a module could not be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// No directory for the cache is known.
    #[error("no place for the cache: neither XDG_CACHE_HOME nor HOME names a directory")]
    NoCache,
    /// The testbed's kernel does not run on this processor.
    #[error("the testbed's kernel runs only on x86-64; this computer is {0}")]
    Processor(&'static str),
    /// Programs that the kernel build needs are missing.
    #[error("to build a kernel, please install: {} (names of Debian's packages)", .0.join(" "))]
    Tools(Vec<&'static str>),
    /// No kernel source was found.
    #[error(
        "no source of Linux 7.2 or later: {0}. Install the package linux-source-7.2 (in Debian's trixie-backports), or \
         name an archive or a directory with --source"
    )]
    NoSource(NoSource),
    /// A path is not a usable source of a kernel, of modules or of plug-ins.
    #[error("{}: {problem}", path.display())]
    Source {
        /// Archive, directory or file.
        path: PathBuf,
        /// Reason.
        #[source]
        problem: SourceProblem,
    },
    /// A file or directory of the cache cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// `apt-get download` succeeded without leaving a package.
    #[error("{}: apt-get download left no package", .0.display())]
    NoPackage(PathBuf),
    /// A command of the build could not be run.
    #[error("{command}: {source}")]
    Run {
        /// Command line.
        command: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A command of the build failed.
    #[error("{command} failed. It ends with:\n{tail}")]
    Command {
        /// Command line.
        command: String,
        /// Last lines of its output.
        tail: String,
    },
    /// The caller stopped the build.
    #[error("the build was interrupted; nothing was kept")]
    Stopped,
}

impl BuildError {
    pub(super) fn file(path: &Path, source: io::Error) -> BuildError {
        BuildError::File { path: path.to_owned(), source }
    }

    pub(super) fn source(path: &Path, problem: impl Into<SourceProblem>) -> BuildError {
        BuildError::Source { path: path.to_owned(), problem: problem.into() }
    }
}

/// Reasons why there is no kernel source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSource {
    /// None is installed, and this program to fetch one with is missing.
    NoProgram(&'static str),
    /// None is installed, and the configuration of apt names no Debian mirror.
    NoMirror,
    /// The package that was fetched contains none.
    EmptyPackage,
}

impl fmt::Display for NoSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSource::NoProgram(program) => {
                write!(f, "none is installed in /usr/src, and there is no {program} to fetch one with")
            }
            NoSource::NoMirror => {
                f.write_str("none is installed in /usr/src, and /etc/apt names no source of Debian to fetch one from")
            }
            NoSource::EmptyPackage => f.write_str("the package that was fetched has none"),
        }
    }
}

/// Reasons why a source cannot be built.
#[derive(Debug, Error)]
pub enum SourceProblem {
    /// The source cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The directory is no kernel tree.
    #[error("not the source of Linux: there is no Makefile or no arch/um")]
    NotLinux,
    /// The archive or directory has no readable Makefile.
    #[error("not the source of Linux: Makefile: {0}")]
    NoKernelMakefile(#[source] io::Error),
    /// The Makefile is not the kernel's.
    #[error("not the source of Linux: its Makefile has no VERSION, PATCHLEVEL and SUBLEVEL")]
    NoVersion,
    /// User-mode Linux of this version does not work.
    #[error("Linux {version} is too old: 7.2 or later was expected")]
    TooOld {
        /// Version of the source.
        version: String,
    },
    /// The version cannot be part of a file name.
    #[error("its version contains a slash")]
    SlashInVersion,
    /// The file name has no known ending.
    #[error("expected a directory, or an archive whose name ends in .tar, .tar.xz or .tar.gz")]
    UnknownArchive,
    /// The directory describes no modules.
    #[error("no modules are described: there is no Kbuild")]
    NoKbuild,
    /// The directory describes no plug-ins.
    #[error("no plug-ins are described: there is no Makefile")]
    NoPluginMakefile,
}
