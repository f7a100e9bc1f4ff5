//! The same network in namespaces of this computer, on its own kernel, in real time.

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

/// Why there was no run on this computer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NativeError {
    /// Namespaces and queues are root's.
    #[error(
        "network namespaces take root; use sudo, or leave --native out: the testbed's own kernel needs no rights"
    )]
    Root,
    /// Something that kernels can be built without.
    #[error(
        "this computer's kernel has no {kind} ({option}); load or build the module sch_{kind}, or leave --native out: the testbed's own kernel has it. It failed at: {step}"
    )]
    Missing {
        /// The queue discipline.
        kind: String,
        /// The option of the kernel's configuration.
        option: String,
        /// The command.
        step: String,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// Names for the namespaces of a run that no other run has.
pub fn names() -> Names {
    Names::with_prefix(&format!("gentle-{}-", getpid()))
}

/// The kernel's version, as `uname -r` prints it.
pub fn kernel_version() -> String {
    let version = fs::read_to_string("/proc/sys/kernel/osrelease");
    version.map_or_else(
        |_| "of this computer".to_owned(),
        |text| text.trim().to_owned(),
    )
}

/// Carries the experiment out and takes its network away again, however it ends short of a kill.
///
/// # Errors
/// What this computer lacks.
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

/// The namespaces of a run; they go with it, and their devices with them.
struct Network<'a>(&'a Names);

impl Drop for Network<'_> {
    fn drop(&mut self) {
        for name in self.0.all() {
            // Those that were not made cannot be taken away, and nobody has to hear of it.
            let _ = Command::new("ip")
                .args(["netns", "del", name])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
    }
}

/// What tc says of a queue discipline that the kernel lacks, put into words that help.
fn explained(problem: String) -> NativeError {
    let unknown = ["kind is unknown", "Unknown qdisc"];
    if !unknown.iter().any(|sign| problem.contains(sign)) {
        return NativeError::Other(problem);
    }
    let (step, _) = problem.split_once(": ").unwrap_or((&problem, ""));
    let words: Vec<&str> = problem.split_whitespace().collect();
    // The kind follows the handle, "10:", which ends the words that say where.
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
