//! Why a machine gave no answer.

use super::Console;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// A machine that could not be started, or gave no answer.
#[derive(Debug, Error)]
pub enum MachineError {
    /// A path cannot be written on the kernel's command line.
    #[error(
        "{0}: a machine's kernel takes no path with quotation marks, control characters or bytes that are not UTF-8; \
         move or rename it"
    )]
    Path(PathBuf),
    /// Nowhere to put the machine's memory.
    #[error("{0}")]
    Memory(String),
    /// A file or directory of the host is not as needed.
    #[error("{path}: {problem}")]
    File {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The process could not be started.
    #[error("{path}: the machine cannot be started: {problem}")]
    Start {
        /// The program.
        path: PathBuf,
        /// What the system says.
        problem: String,
    },
    /// The host does not let a process trace its children.
    #[error(
        "the machine cannot run programs: this system permits neither ptrace nor seccomp filters to its processes. In a \
         container, allow ptrace (docker run --cap-add SYS_PTRACE); elsewhere see /proc/sys/kernel/yama/ptrace_scope, \
         which must not be 3"
    )]
    Trace(Console),
    /// It took too long.
    #[error(
        "the machine was stopped: it had not finished after {limit:?}. Its console ends with:\n{}",
        console.tail()
    )]
    TimeLimit {
        /// The limit.
        limit: Duration,
        /// What the kernel said.
        console: Console,
    },
    /// The caller stopped it.
    #[error("the machine was stopped")]
    Stopped,
    /// The kernel ended without an answer.
    #[error("the machine ended without an answer ({status}). Its console ends with:\n{}", console.tail())]
    Died {
        /// How the process ended.
        status: String,
        /// What the kernel said.
        console: Console,
    },
    /// The job failed and says why.
    #[error("in the machine: {problem}")]
    Job {
        /// What the guest's side says.
        problem: String,
        /// What the kernel said.
        console: Console,
    },
    /// The answer is none that was expected.
    #[error("the machine's answer cannot be read: {0}")]
    Answer(String),
}
