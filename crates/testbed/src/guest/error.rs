//! Errors of the code that runs in the machine. The host receives them as text.

use crate::traffic::TrafficError;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use thiserror::Error;

/// Error of a stage of the guest.
#[derive(Debug, Error)]
pub(super) enum GuestError {
    #[error("this command is internal to the testbed; see gentle testbed exec")]
    Usage,
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Init(#[from] InitError),
    #[error(transparent)]
    Job(#[from] JobError),
}

/// The process on the host could not become the kernel.
#[derive(Debug, Error)]
pub(super) enum LaunchError {
    #[error("prctl(PR_SET_PDEATHSIG): {0}")]
    DeathSignal(Errno),
    #[error("the process that requested the machine has ended")]
    Orphaned,
    #[error("{}: cannot be run: {source}", kernel.display())]
    Exec { kernel: PathBuf, source: io::Error },
}

/// The first process of the machine could not set it up or shut it down.
#[derive(Debug, Error)]
pub(super) enum InitError {
    #[error("init runs only as the first process of a machine")]
    NotInit,
    #[error("{0} is missing from the kernel's command line")]
    NoShare(&'static str),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{place}: {kind} cannot be mounted: {errno}")]
    Mount { place: &'static str, kind: &'static str, errno: Errno },
    #[error("{place}: the host's directory {} cannot be mounted: {errno}", directory.display())]
    MountHost { place: &'static str, directory: PathBuf, errno: Errno },
    #[error("{place}: a path with a zero byte")]
    ZeroByte { place: &'static str },
    #[error("{call}: {errno}")]
    Call { call: &'static str, errno: Errno },
    #[error("ip link set lo up: {0}")]
    Loopback(ExitStatus),
    #[error("ip: {0}")]
    Ip(io::Error),
    #[error("{module}: the kernel rejected the module ({errno}); see the console output")]
    Module { module: String, errno: Errno },
    #[error("the job cannot be started: {0}")]
    StartJob(io::Error),
    #[error("the job was ended by signal {0}")]
    Signal(i32),
    #[error("the machine cannot be turned off: {0}")]
    PowerOff(Errno),
}

impl InitError {
    pub(super) fn call(call: &'static str) -> impl FnOnce(Errno) -> InitError {
        move |errno| InitError::Call { call, errno }
    }
}

/// A job gave no answer.
#[derive(Debug, Error)]
pub(super) enum JobError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("schedule {number}: {source}")]
    Replay { number: usize, source: ReplayError },
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    #[error("the machine has no directory; expected one for {0}")]
    NoFiles(&'static str),
    #[error("the answer: {0}")]
    Answer(serde_json::Error),
}

/// A program could not be run.
#[derive(Debug, Error)]
pub(super) enum CommandError {
    #[error("no program was named")]
    NoProgram,
    #[error("{program}: cannot be run in the machine: {source}")]
    Start { program: String, source: io::Error },
}

/// A schedule could not be replayed to its end.
#[derive(Debug, Error)]
pub(super) enum ReplayError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A command that sets up the device or the qdisc reported a failure.
    #[error("{line}: {stderr}")]
    Setup { line: String, stderr: String },
    #[error("{file}: {problem}; expected the module gentle_replay to be loaded")]
    Module { file: &'static str, problem: io::Error },
}

/// A file of the machine cannot be used.
#[derive(Debug, Error)]
#[error("{}: {source}", path.display())]
pub(super) struct FileError {
    path: PathBuf,
    source: io::Error,
}

impl FileError {
    /// Error for `path`; also for JSON in it that cannot be parsed.
    pub(super) fn at<E: Into<io::Error>>(path: impl AsRef<Path>) -> impl FnOnce(E) -> FileError {
        let path = path.as_ref().to_owned();
        |error| FileError { path, source: error.into() }
    }
}
