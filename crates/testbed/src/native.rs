//! Runs experiments in network namespaces of the host, on the host's kernel, in real time.

use crate::experiment::{Experiment, Namespaces, Step};
use crate::traffic::{self, Environment, Observations, StepFailure, TrafficError};
use gentle_rexmit::kernel_engine::default_cgroup;
use nix::unistd::{Uid, getpid};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use thiserror::Error;

/// Errors of a run on the host's kernel.
#[derive(Debug, Error)]
pub enum NativeError {
    /// Creating namespaces and qdiscs takes root.
    #[error("network namespaces need root; use sudo, or leave out --native: the testbed's kernel needs no privileges")]
    Root,
    /// The kernel was built without a queue discipline that the run needs.
    #[error(
        "this computer's kernel has no {kind} (CONFIG_NET_SCH_{}); load or build the module sch_{kind}, or leave out \
         --native: the testbed's kernel has it. It failed at: {step}",
        kind.to_uppercase()
    )]
    MissingQdisc {
        /// Kind of the queue discipline.
        kind: String,
        /// Step that failed.
        step: Box<Step>,
    },
    /// The network could not be built, or the traffic could not be run.
    #[error(transparent)]
    Traffic(TrafficError),
}

impl From<TrafficError> for NativeError {
    fn from(error: TrafficError) -> NativeError {
        if let TrafficError::Step(failed) = &error
            && let StepFailure::UnknownQdisc { kind } = &failed.failure
        {
            return NativeError::MissingQdisc { kind: kind.clone(), step: failed.step.clone() };
        }
        NativeError::Traffic(error)
    }
}

/// Unique namespace names for a run, derived from the process ID.
pub fn namespaces() -> Namespaces {
    Namespaces::with_prefix(&format!("gentle-{}-", getpid()))
}

/// Version of the host's kernel, as `uname -r` prints it.
pub fn kernel_version() -> String {
    let version = fs::read_to_string("/proc/sys/kernel/osrelease");
    version.map_or_else(|_| "of this computer".to_owned(), |text| text.trim().to_owned())
}

/// Runs the experiment and removes its network afterwards, on success, error and panic (not on SIGKILL).
///
/// The packets at the router's devices go to the file `packets` as pcapng. Ends early, with the observations so far,
/// when `stop` becomes true; calls `progress` with the fraction done, 0 to 1.
///
/// # Errors
/// The user is not root, the kernel lacks a queue discipline, or a step fails.
pub fn run(
    experiment: &Experiment,
    packets: &Path,
    stop: &AtomicBool,
    progress: &dyn Fn(f64),
) -> Result<Observations, NativeError> {
    if !Uid::effective().is_root() {
        return Err(NativeError::Root);
    }
    let _guard = NamespaceGuard(&experiment.namespaces);
    let environment = Environment { cgroup: &default_cgroup(), start: Duration::from_secs(1) };
    Ok(traffic::run(experiment, packets, environment, stop, progress)?)
}

/// Deletes the namespaces of a run, and with them their devices, on drop.
struct NamespaceGuard<'a>(&'a Namespaces);

impl Drop for NamespaceGuard<'_> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::StepError;

    #[test]
    fn a_missing_queue_discipline_is_named_with_advice() {
        let step = Box::new(Step::Run {
            namespace: None,
            argv: ["tc", "qdisc", "add", "dev", "d1", "root", "handle", "1:", "netem"].map(str::to_owned).to_vec(),
        });
        let failed = |failure| {
            let step = step.clone();
            NativeError::from(TrafficError::from(StepError { step, failure })).to_string()
        };
        let kind = "netem".to_owned();
        let missing = failed(StepFailure::UnknownQdisc { kind });
        for part in
            ["no netem (CONFIG_NET_SCH_NETEM)", "sch_netem", "It failed at: tc qdisc add dev d1 root handle 1: netem"]
        {
            assert!(missing.contains(part), "{missing}");
        }
        let other = failed(StepFailure::Exit {
            status: "exit status: 1".to_owned(),
            stderr: "Operation not permitted".to_owned(),
        });
        assert_eq!(other, "tc qdisc add dev d1 root handle 1: netem: Operation not permitted (exit status: 1)");
    }
}
