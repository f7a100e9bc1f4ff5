//! Errors of the kernel engine.

use aya::programs::ProgramError;
use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Error of the kernel engine.
#[derive(Debug, Error)]
pub enum KernelError {
    /// The delay is out of the range of a kernel timer.
    #[error("a delay of {delay:?} is out of range; expected an initial RTO from {min:?} to {max:?}")]
    DelayOutOfRange {
        /// Delay as given.
        delay: Duration,
        /// Minimum delay.
        min: Duration,
        /// Maximum delay.
        max: Duration,
    },
    /// There are more entries than the program or a map can hold.
    #[error("{have} {what}: expected at most {max} for the kernel engine")]
    TooMany {
        /// Kind of the entries.
        what: &'static str,
        /// Number of entries.
        have: usize,
        /// Maximum number of entries.
        max: usize,
    },
    /// Neither SYNs nor SYN/ACKs are selected.
    #[error("neither SYNs nor SYN/ACKs are selected, so there is nothing to do")]
    NothingSelected,
    /// The directory is not a control group.
    #[error("{path}: {problem}")]
    Cgroup {
        /// Path of the directory.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// The directory or a file of the pins is unusable.
    #[error("{path}: {problem}")]
    Pins {
        /// Path of the file or directory.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// The kernel rejected a call.
    #[error("{what}: {problem}; {hint}", hint = hint(problem))]
    Kernel {
        /// Description of the call.
        what: &'static str,
        /// Error returned by the kernel.
        problem: io::Error,
    },
}

fn hint(problem: &io::Error) -> &'static str {
    match problem.kind() {
        io::ErrorKind::PermissionDenied => {
            "this needs root, or the capabilities CAP_BPF (CAP_SYS_ADMIN before Linux 5.8) and CAP_NET_ADMIN, and before \
             Linux 5.11 enough locked memory (ulimit -l)"
        }
        _ => "this needs Linux 5.7 or later with CONFIG_BPF_SYSCALL and CONFIG_CGROUP_BPF",
    }
}

/// Error of the kernel in an error of aya, which has it as its source; of any other error, the text.
pub(super) fn from_aya(error: impl Error + 'static) -> io::Error {
    let errors = std::iter::successors(Some(&error as &(dyn Error + 'static)), |&error| error.source());
    for error in errors {
        // The last line of the verifier's log counts instructions, the one before it is the error.
        if let Some(ProgramError::LoadError { io_error, verifier_log }) = error.downcast_ref()
            && let Some(complaint) = verifier_log.to_string().trim_end().lines().rev().nth(1)
        {
            return io::Error::new(io_error.kind(), format!("{io_error}: {complaint}"));
        }
        if let Some(code) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return io::Error::from_raw_os_error(code);
        }
    }
    io::Error::other(error.to_string())
}
