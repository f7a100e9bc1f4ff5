//! Errors of planning an experiment.

use gentle_deploy::PlanError;
use thiserror::Error;

/// A scenario cannot be run on a real kernel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExperimentError {
    /// Linux cannot provide the queue discipline.
    #[error(transparent)]
    Queue(#[from] PlanError),
    /// The scenario has access links; each host would need its own link.
    #[error("[access]: the testbed has no access links; leave out the section, or use gentle sim")]
    Access,
    /// The rate of a link follows a recording, which no qdisc of Linux does.
    #[error(
        "[link.{link}] trace: no qdisc of Linux delivers packets by a trace; leave it out and set rate with changes, \
         or use gentle sim"
    )]
    Trace {
        /// `down` or `up`.
        link: &'static str,
    },
    /// A workload has its own TCP settings; all hosts of a side have one kernel.
    #[error("[[workload]] tcp: all hosts on a side of the testbed share one TCP; leave it out, or use gentle sim")]
    WorkloadTcp,
    /// A host has a number for which the testbed has no address.
    #[error("[[workload]] host = {host}: the testbed's hosts have numbers up to {most}")]
    Host {
        /// Number of the host.
        host: u32,
        /// Maximum.
        most: u32,
    },
    /// A tunnel has a number for which the testbed has no address.
    #[error("[[workload]] tunnel = {tunnel}: the testbed's tunnels have numbers up to {most}")]
    Tunnel {
        /// Number of the tunnel.
        tunnel: u8,
        /// Maximum.
        most: u8,
    },
    /// The scenario has no traffic to measure.
    #[error(
        "the scenario starts no connection and sends nothing within its duration under seed {seed}; make it longer"
    )]
    Nothing {
        /// Seed of the run.
        seed: u64,
    },
    /// There are more flows of datagrams than ports for them.
    #[error(
        "the applications have {flows} flows of datagrams, each with a separate port; expected at most {most}: fewer \
         calls or players"
    )]
    Datagrams {
        /// Number of flows.
        flows: usize,
        /// Maximum.
        most: usize,
    },
    /// The MSS is outside the range that the hosts support.
    #[error("mss={mss}: segments of the testbed's hosts hold {least} to 1448 bytes with timestamps, 12 more without")]
    Mss {
        /// Minimum, bytes.
        least: u16,
        /// MSS of the scenario, bytes.
        mss: u16,
    },
}
