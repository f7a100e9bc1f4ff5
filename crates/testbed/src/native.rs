//! Runs experiments in network namespaces of the host, on the host's kernel, in real time.

use crate::conduct::{self, Observed, Surroundings};
use crate::experiment::{Experiment, Names};
use gentle_rexmit::kernel_engine::default_cgroup;
use nix::unistd::{Uid, getpid};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use thiserror::Error;

/// Errors of a run on the host's kernel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NativeError {
    /// Creating namespaces and qdiscs takes root.
    #[error(
        "network namespaces take root; use sudo, or leave --native out: the testbed's own kernel needs no rights"
    )]
    Root,
    /// The kernel was built without a queue discipline that the run needs.
    #[error(
        "this computer's kernel has no {kind} ({option}); load or build the module sch_{kind}, or leave --native out: the testbed's own kernel has it. It failed at: {step}"
    )]
    Missing {
        /// Kind of the queue discipline.
        kind: String,
        /// Option of the kernel configuration.
        option: String,
        /// Command that failed.
        step: String,
    },
    /// Any other failure.
    #[error("{0}")]
    Other(String),
}

/// Unique namespace names for a run, derived from the process ID.
pub fn names() -> Names {
    Names::with_prefix(&format!("gentle-{}-", getpid()))
}

/// Version of the host's kernel, as `uname -r` prints it.
pub fn kernel_version() -> String {
    let version = fs::read_to_string("/proc/sys/kernel/osrelease");
    version.map_or_else(
        |_| "of this computer".to_owned(),
        |text| text.trim().to_owned(),
    )
}

/// Runs the experiment and removes its network afterwards, on success, error and panic (not on SIGKILL).
///
/// # Errors
/// The user is not root, the kernel lacks a queue discipline, or a step fails.
pub fn run(
    experiment: &Experiment,
    packets: &Path,
    stop: &AtomicBool,
    progress: &dyn Fn(f64),
) -> Result<Observed, NativeError> {
    if !Uid::effective().is_root() {
        return Err(NativeError::Root);
    }
    let _network = Network(&experiment.names);
    let surroundings = Surroundings {
        cgroup: &default_cgroup(),
        start: Duration::from_secs(1),
    };
    conduct::run(experiment, packets, surroundings, stop, progress).map_err(explained)
}

/// Deletes the namespaces of a run, and with them their devices, on drop.
struct Network<'a>(&'a Names);

impl Drop for Network<'_> {
    fn drop(&mut self) {
        for name in self.0.all() {
            // Deleting a namespace that was never created fails; ignore it.
            let _ = Command::new("ip")
                .args(["netns", "del", name])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
    }
}

/// Translates tc's message about an unknown queue discipline into an error that says what to do.
fn explained(problem: String) -> NativeError {
    let unknown = ["kind is unknown", "Unknown qdisc"];
    if !unknown.iter().any(|sign| problem.contains(sign)) {
        return NativeError::Other(problem);
    }
    let (step, _) = problem.split_once(": ").unwrap_or((&problem, ""));
    let words: Vec<&str> = problem.split_whitespace().collect();
    // The kind follows the handle, `10:`, which ends the words that say where the qdisc is attached.
    let handle = words.iter().position(|word| *word == "handle");
    let kind = handle.and_then(|at| words.get(at + 2));
    let kind = kind.map_or("queue discipline", |kind| kind.trim_end_matches(':'));
    NativeError::Missing {
        option: format!("CONFIG_NET_SCH_{}", kind.to_uppercase()),
        kind: kind.to_owned(),
        step: step.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_queue_discipline_is_named() {
        let said = "tc -n down qdisc add dev d1 root handle 1: netem limit 1000000 delay 42000us: Error: Specified qdisc kind is unknown. (exit status: 2)";
        let error = explained(said.to_owned());
        let NativeError::Missing { kind, option, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(
            (kind.as_str(), option.as_str()),
            ("netem", "CONFIG_NET_SCH_NETEM")
        );
        let other = explained("ip netns add client: Operation not permitted".to_owned());
        assert_eq!(
            other.to_string(),
            "ip netns add client: Operation not permitted"
        );
    }
}
