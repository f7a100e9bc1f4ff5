//! Plans one run of a scenario on a real kernel down to each command; pure, without access to the system.

mod error;
mod flows;
mod namespaces;
mod rexmit;
mod step;
mod tcp;
mod topology;
mod tunnel;

pub use error::ExperimentError;
pub use flows::{CbrFlow, CbrKind, DatagramSocket, Flow};
pub use namespaces::{HostName, Namespaces, ROUTER_DOWN, ROUTER_UP};
pub use rexmit::{Rexmit, RexmitEngine, RexmitError};
pub use step::Step;
pub use topology::{QUEUE, client_address, forged_address, is_forged, is_host, server_address, unassigned_address};
pub use tunnel::{Gateway, TUNNEL_HEADERS, TUNNEL_PORT, is_gateway, tunnel_device};

use gentle_aqm::Spec;
use gentle_deploy::Backing;
use gentle_experiment::application::dialogue::UserPlan;
use gentle_experiment::{Direction, LinkConfig, Scenario, Workload};
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};

/// Port that all hosts listen on: discard (RFC 863), as in the simulator's captures.
pub const PORT: u16 = 9;

/// Port for requests of data: chargen (RFC 864).
pub const REQUEST_PORT: u16 = 19;

/// Port for dialogues: echo (RFC 862).
pub const DIALOGUE_PORT: u16 = 7;

/// Number of samples of the queues' statistics in a run.
const SAMPLES: u64 = 100;

/// Complete description of one run and of what is observed in it. Times are in nanoseconds from the start of the
/// traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Network namespaces.
    pub namespaces: Namespaces,
    /// Steps that build the network, in order.
    pub setup: Vec<Step>,
    /// Rate changes during the run, in order of time.
    pub changes: Vec<Change>,
    /// Initial RTO of SYNs and SYN/ACKs in milliseconds; `None`: the kernel's default.
    pub initial_rto_ms: Option<u32>,
    /// Whether sockets pace what they send (`SO_MAX_PACING_RATE`).
    #[serde(default)]
    pub pacing: bool,
    /// Engine that retransmits lost SYNs of both hosts; `None`: none.
    pub rexmit: Option<Rexmit>,
    /// Connections and users, in order of their start.
    pub flows: Vec<Flow>,
    /// Users of dialogues.
    #[serde(default)]
    pub users: Vec<UserPlan>,
    /// Constant-rate packets, sent regardless of loss.
    pub cbr: Vec<CbrFlow>,
    /// Flows of datagrams of applications.
    #[serde(default)]
    pub datagrams: Vec<DatagramSocket>,
    /// Numbers of the tunnels.
    #[serde(default)]
    pub tunnels: Vec<u8>,
    /// End of the warm-up.
    pub warmup_ns: u64,
    /// Time by which all connections have started and at which long-lived ones end.
    pub duration_ns: u64,
    /// End of the run; connections still open are cut off.
    pub end_ns: u64,
    /// Interval between samples of the queues' statistics.
    pub sample_every_ns: u64,
}

/// Steps executed at a given time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Time of execution.
    pub at_ns: u64,
    /// Steps, in order.
    pub steps: Vec<Step>,
}

/// An experiment with what the evaluation and the reader of the results need.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Experiment to run.
    pub experiment: Experiment,
    /// Round-trip times added to the delay of the links, by class.
    pub extra_rtts: Vec<Nanos>,
    /// Sentences about all differences between the run and the scenario.
    pub deviations: Vec<String>,
}

/// Plans a run of `scenario` with `scheme` under test and the connections of `seed`.
///
/// # Errors
/// A feature of the scenario that Linux cannot provide, with advice.
pub fn plan(
    scenario: &Scenario,
    scheme: &Spec,
    seed: u64,
    backing: Backing,
    namespaces: &Namespaces,
) -> Result<Planned, ExperimentError> {
    if scenario.access.is_some() {
        return Err(ExperimentError::Access);
    }
    for direction in Direction::BOTH {
        if scenario.link(direction).trace.is_some() {
            let link = direction.name();
            return Err(ExperimentError::Trace { link });
        }
    }
    let own = |workload: &Workload| !(workload.tcp.is_empty() && workload.initiator_tcp.is_empty());
    if scenario.workloads.iter().any(own) {
        return Err(ExperimentError::WorkloadTcp);
    }
    let hosts = scenario.workloads.iter().filter_map(|workload| workload.host);
    let most = topology::LAST_HOST;
    if let Some(host) = hosts.max().filter(|host| *host > most) {
        return Err(ExperimentError::Host { host, most });
    }
    let tunnels = tunnel::tunnels(scenario)?;
    let tcp = tcp::settings(&scenario.profile);
    let classes = flows::RttClasses::of(scenario);
    let flows::Sources { flows, users, cbr } = flows::plan(scenario, seed, &classes)?;
    let datagrams = flows::datagrams(scenario, seed, &classes)?;
    if flows.is_empty() && cbr.is_empty() && datagrams.is_empty() {
        return Err(ExperimentError::Nothing { seed });
    }
    let mut deviations = tcp.deviations.clone();
    deviations.extend(classes.deviation());
    deviations.extend(tunnel::deviation(&tunnels));
    let loses = |link: &LinkConfig| link.loss > 0.0 || link.bursts.is_some();
    if scenario.links.iter().any(loses) {
        let note = "Random losses on the links do not count as losses; drops of the queues do.";
        deviations.push(note.to_owned());
    }
    let network =
        topology::Network { scenario, namespaces, tcp: &tcp, extra_rtts: classes.extra_rtts(), tunnels: &tunnels };
    let setup = network.setup(scheme, backing, &mut deviations)?;
    let changes = network.changes();

    Ok(Planned {
        experiment: Experiment {
            namespaces: namespaces.clone(),
            setup,
            changes,
            initial_rto_ms: tcp.initial_rto_ms,
            pacing: tcp.pacing,
            rexmit: None,
            flows,
            users,
            cbr,
            datagrams,
            tunnels,
            warmup_ns: scenario.warmup.0,
            duration_ns: scenario.duration.0,
            end_ns: scenario.ends_at().0,
            sample_every_ns: (scenario.duration.0 / SAMPLES).max(1_000_000),
        },
        extra_rtts: classes.extra_rtts().to_vec(),
        deviations,
    })
}
