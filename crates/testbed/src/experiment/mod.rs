//! One run of a scenario on a real kernel, planned down to each command: pure, nothing is asked of the system.

mod error;
mod flows;
mod names;
mod rexmit;
mod step;
mod tcp;
mod topology;

pub use error::ExperimentError;
pub use flows::{Flow, Paced, PacedKind};
pub use names::{Names, ROUTER_DOWN, ROUTER_UP};
pub use rexmit::{Rexmit, RexmitEngine};
pub use step::Step;
pub use topology::{client_address, forged_address, is_forged, nobodys_address, server_address};

use gentle_aqm::Spec;
use gentle_deploy::Backing;
use gentle_experiment::{Scenario, Workload};
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};

/// The port that all hosts listen on: discard (RFC 863), as in the simulator's captures.
pub const PORT: u16 = 9;

/// How many samples of the queues' statistics a run takes.
const SAMPLES: u64 = 100;

/// All that has to be done and observed in one run. Times are in nanoseconds from the start of the traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The names of the namespaces.
    pub names: Names,
    /// What builds the network, in this order.
    pub setup: Vec<Step>,
    /// Changes of rates under way, in order of time.
    pub changes: Vec<Change>,
    /// First timeout of SYNs and SYN/ACKs in milliseconds, where it is not the kernel's own.
    pub initial_rto_ms: Option<u32>,
    /// What sends lost SYNs of both hosts again.
    pub rexmit: Option<Rexmit>,
    /// Connections, in order of their start.
    pub flows: Vec<Flow>,
    /// Packets that do not depend on what becomes of them.
    pub paced: Vec<Paced>,
    /// When the warm-up ends.
    pub warmup_ns: u64,
    /// When the last connection has started, and long-lived ones end.
    pub duration_ns: u64,
    /// When it is over, whatever is still open.
    pub end_ns: u64,
    /// How far apart samples of the queues' statistics are.
    pub sample_every_ns: u64,
}

/// Commands at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// When.
    pub at_ns: u64,
    /// What is done.
    pub steps: Vec<Step>,
}

/// An experiment, and what there is to know about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// What is run.
    pub experiment: Experiment,
    /// Round-trip times on top of the links' own that connections get, by their class.
    pub extra_rtts: Vec<Nanos>,
    /// Sentences about everything in which the run differs from what the scenario asks for.
    pub deviations: Vec<String>,
}

/// Plans the run of `scenario` with `scheme` under test and the connections of `seed`.
///
/// # Errors
/// What Linux cannot do, with what to do instead.
pub fn plan(
    scenario: &Scenario,
    scheme: &Spec,
    seed: u64,
    backing: Backing,
    names: &Names,
) -> Result<Planned, ExperimentError> {
    if scenario.access.is_some() {
        return Err(ExperimentError::Access);
    }
    let own = |workload: &Workload| !(workload.tcp.is_empty() && workload.initiator_tcp.is_empty());
    if scenario.workloads.iter().any(own) {
        return Err(ExperimentError::WorkloadTcp);
    }
    let tcp = tcp::settings(&scenario.profile);
    let classes = flows::Classes::of(scenario);
    let (flows, paced) = flows::plan(scenario, seed, &classes)?;
    let mut deviations = tcp.deviations.clone();
    deviations.extend(classes.deviation());
    if scenario.links.iter().any(|link| link.loss > 0.0) {
        deviations.push("Packets lost on the links at random are not among the losses: what counts is what the queues drop.".to_owned());
    }
    let network = topology::Network {
        scenario,
        names,
        tcp: &tcp,
        extra_rtts: classes.extra_rtts(),
    };
    let setup = network.setup(scheme, backing, &mut deviations)?;
    let changes = network.changes();
    let end = scenario.duration + scenario.drain;
    Ok(Planned {
        experiment: Experiment {
            names: names.clone(),
            setup,
            changes,
            initial_rto_ms: tcp.initial_rto_ms,
            rexmit: None,
            flows,
            paced,
            warmup_ns: scenario.warmup.0,
            duration_ns: scenario.duration.0,
            end_ns: end.0,
            sample_every_ns: (scenario.duration.0 / SAMPLES).max(1_000_000),
        },
        extra_rtts: classes.extra_rtts().to_vec(),
        deviations,
    })
}
