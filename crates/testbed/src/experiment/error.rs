//! What cannot be had of a real kernel.

use gentle_deploy::PlanError;
use thiserror::Error;

/// Why there is no experiment.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExperimentError {
    /// The queue cannot be made of what Linux has.
    #[error(transparent)]
    Queue(#[from] PlanError),
    /// Each host would need a link of its own.
    #[error(
        "[access]: the testbed has one host on each side and no access links; leave the section out, or use gentle sim"
    )]
    Access,
    /// Connections between the same two hosts would need different kernels.
    #[error(
        "[[workload]] tcp: the testbed has one host on each side, whose TCP all connections share; leave it out, or use gentle \
         sim"
    )]
    WorkloadTcp,
    /// Nothing would be measured.
    #[error(
        "the scenario starts no connection and sends nothing within its duration under seed {seed}; make it longer"
    )]
    Nothing {
        /// The seed.
        seed: u64,
    },
    /// The end hosts' segments do not have this size.
    #[error(
        "mss={mss}: segments of the testbed's hosts hold 88 to 1448 bytes with timestamps, 12 more without"
    )]
    Mss {
        /// What was asked for.
        mss: u16,
    },
}
