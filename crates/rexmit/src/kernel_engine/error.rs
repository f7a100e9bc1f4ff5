//! What can go wrong.

use super::Settings;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Why the kernel was not told.
#[derive(Debug, Error)]
pub enum KernelError {
    /// The delay is not one that a timer of the kernel's can have.
    #[error(
        "a delay of {0:?}: the kernel's first timeout can be {low:?} to {high:?}",
        low = Settings::SHORTEST,
        high = Settings::LONGEST
    )]
    Delay(Duration),
    /// More than the program or the kernel's memory has room for.
    #[error("{have} {what}: the kernel engine has room for {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        have: usize,
        /// How many there can be.
        most: usize,
    },
    /// Neither SYNs nor SYN/ACKs are wanted.
    #[error("neither connections that are opened nor such that are accepted were chosen")]
    Nothing,
    /// The directory of the control group is not one.
    #[error("{path}: {problem}")]
    Cgroup {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Where pins are kept is not as needed.
    #[error("{path}: {problem}")]
    Pins {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The kernel refuses.
    #[error("{what}: {problem}; {hint}", hint = hint(problem))]
    Kernel {
        /// What it was asked for.
        what: &'static str,
        /// What it said.
        problem: io::Error,
    },
}

fn hint(problem: &io::Error) -> &'static str {
    match problem.kind() {
        io::ErrorKind::PermissionDenied => {
            "it takes root, or the capabilities CAP_BPF (CAP_SYS_ADMIN before Linux 5.8) and CAP_NET_ADMIN, and before \
             Linux 5.11 enough locked memory (ulimit -l)"
        }
        _ => "it takes Linux 5.7 or later with CONFIG_BPF_SYSCALL and CONFIG_CGROUP_BPF",
    }
}
