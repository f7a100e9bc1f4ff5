//! Errors of running the traffic of an experiment.

use crate::experiment::{HostName, Step};
use gentle_rexmit::kernel_engine::KernelError;
use gentle_rexmit::wire::WireError;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The traffic of an experiment could not be run or observed.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// A step of the setup, or of a rate change, failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A thread could not enter a network namespace.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A file or directory cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A system call failed.
    #[error("{call}: {source}")]
    Call {
        /// System call or socket option.
        call: &'static str,
        /// Error of the operating system.
        source: nix::Error,
    },
    /// A device of the router is missing.
    #[error("{device}: {source}")]
    Device {
        /// Name of the device.
        device: &'static str,
        /// Error of the operating system.
        source: nix::Error,
    },
    /// The kernel delivered a captured packet without `SO_TIMESTAMPNS`.
    #[error("a packet without a time stamp")]
    NoTimestamp,
    /// A host could not open or use its sockets.
    #[error("{host}: {source}")]
    Host {
        /// Host of the experiment.
        host: HostName,
        /// Error of the operating system.
        source: io::Error,
    },
    /// `tc` failed to report the statistics of the router's queues.
    #[error("tc -s -j qdisc show: {0}")]
    Statistics(#[source] StatisticsError),
    /// The initial RTO of the hosts cannot be set.
    #[error("an initial RTO of {delay:?}: {}", with_causes(problem))]
    InitialRto {
        /// Initial RTO.
        delay: Duration,
        /// Error of the kernel engine of `gentle rexmit`, which sets it.
        problem: KernelError,
    },
    /// `gentle rexmit` cannot be started on a host.
    #[error("gentle rexmit: {source}")]
    RexmitDirectory {
        /// Error of creating a temporary directory for the engine's status socket.
        source: io::Error,
    },
    /// The gateways of the tunnels could not be opened, or could not carry packets.
    #[error("the gateways of the tunnels: {0}")]
    Tunnel(#[source] io::Error),
    /// Gateways of the tunnels lost packets, which are none of the queues' losses.
    #[error(
        "the gateways of the tunnels lost {packets} packets, so losses are not known; lower the rate, or leave out \
         --native"
    )]
    TunnelLoss {
        /// Number of lost packets.
        packets: u64,
    },
    /// `gentle rexmit` failed on a host.
    #[error("gentle rexmit: {}", with_causes(.0))]
    Rexmit(WireError),
    /// A thread panicked; the message of the panic is on standard error.
    #[error("a thread of {0} panicked")]
    Panicked(&'static str),
}

impl TrafficError {
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> TrafficError {
        let path = path.to_owned();
        |source| TrafficError::File { path, source }
    }

    pub(super) fn call(call: &'static str) -> impl FnOnce(nix::Error) -> TrafficError {
        move |source| TrafficError::Call { call, source }
    }
}

/// A step failed.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {failure}")]
pub struct StepError {
    /// The step; displayed as a shell command line.
    pub step: Box<Step>,
    /// Reason.
    #[source]
    pub failure: StepFailure,
}

/// Reasons for the failure of a step.
#[derive(Debug, thiserror::Error)]
pub enum StepFailure {
    /// The step names no program.
    #[error("no program was named")]
    NoProgram,
    /// The program is not in PATH.
    #[error("{0} is not installed")]
    NotInstalled(String),
    /// The program cannot be run, or the kernel file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The kernel has no queue discipline of this kind.
    #[error("the kernel has no queue discipline {kind}; load or build the module sch_{kind}")]
    UnknownQdisc {
        /// Kind of the queue discipline.
        kind: String,
    },
    /// The program reported a failure.
    #[error("{stderr} ({status})")]
    Exit {
        /// Exit status, as in `exit status: 2`.
        status: String,
        /// Standard error of the program, trimmed.
        stderr: String,
    },
    /// The step could not enter its network namespace.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
}

/// A thread could not enter a network namespace.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// There is no such namespace, or it cannot be opened.
    #[error("{}: {source}", path.display())]
    Open {
        /// File of the namespace.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The process may not enter it.
    #[error("{}: setns: {source}", path.display())]
    Enter {
        /// File of the namespace.
        path: PathBuf,
        /// Error of the operating system.
        source: nix::Error,
    },
    /// The thread in the namespace panicked; the message of the panic is on standard error.
    #[error("{name}: a thread panicked")]
    Panicked {
        /// Name of the namespace.
        name: String,
    },
}

/// `tc` failed to report the statistics of queues.
#[derive(Debug, thiserror::Error)]
pub enum StatisticsError {
    /// `tc` cannot be run.
    #[error(transparent)]
    Start(#[from] io::Error),
    /// `tc` reported a failure; its standard error, trimmed.
    #[error("{0}")]
    Exit(String),
    /// The output of `tc` is not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// An error followed by its causes. The errors of `gentle-rexmit` do not display their causes themselves.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let part = error.to_string();
        if !text.ends_with(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        cause = error.source();
    }
    text
}
