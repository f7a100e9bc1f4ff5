//! Errors of a machine.

use super::Console;
use super::memory::NoMemory;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use thiserror::Error;

/// A machine failed to start or gave no answer.
#[derive(Debug, Error)]
pub enum MachineError {
    /// A path cannot be passed on the kernel command line.
    #[error(
        "{}: a machine's kernel accepts no path with quotation marks, control characters or bytes that are not UTF-8; \
         move or rename it",
        .0.display()
    )]
    Path(PathBuf),
    /// No directory can hold the machine's memory.
    #[error(transparent)]
    Memory(#[from] NoMemory),
    /// A file or directory of the host cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The program that becomes the kernel could not be started.
    #[error("{}: the machine cannot be started: {source}", path.display())]
    Start {
        /// Path of the program.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The operating system does not report whether the machine has ended.
    #[error("the machine: {0}")]
    Wait(#[source] io::Error),
    /// The host does not permit a process to trace its children.
    #[error(
        "the machine cannot run programs: this system permits neither ptrace nor seccomp filters to its processes. In \
         a container, allow ptrace (docker run --cap-add SYS_PTRACE); elsewhere see \
         /proc/sys/kernel/yama/ptrace_scope, which must not be 3"
    )]
    Trace(Console),
    /// The machine exceeded its time limit.
    #[error(
        "the machine was stopped: it had not finished after {limit:?}. Its console ends with:\n{}",
        console.tail()
    )]
    TimeLimit {
        /// Time limit.
        limit: Duration,
        /// Console output of the kernel.
        console: Console,
    },
    /// The caller stopped the machine.
    #[error("the machine was stopped")]
    Stopped,
    /// The kernel exited without an answer.
    #[error("the machine ended without an answer ({status}). Its console ends with:\n{}", console.tail())]
    Died {
        /// Exit status of the process.
        status: ExitStatus,
        /// Console output of the kernel.
        console: Console,
    },
    /// The job failed inside the machine.
    #[error("in the machine: {problem}")]
    Job {
        /// Error message of the guest, as text: it comes from another process.
        problem: String,
        /// Console output of the kernel.
        console: Console,
    },
    /// The answer cannot be parsed.
    #[error("the machine's answer cannot be read: {0}")]
    Answer(#[source] serde_json::Error),
}

impl MachineError {
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> MachineError {
        let path = path.to_owned();
        |source| MachineError::File { path, source }
    }
}
