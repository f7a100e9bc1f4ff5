//! What `run`, `compare` and `check` share: the scenario, the schemes, and where they are run.

use crate::args::{MachineArgs, ScenarioArgs, Traffic};
use crate::commands::{compare, runs};
use gentle_aqm::Spec;
use gentle_deploy::Backing;
use gentle_sim::{BUILTIN, Scenario};
use gentle_testbed::experiment::Rexmit;
use gentle_testbed::runs::{Kernel, Testbed};
use std::path::Path;

/// What is run.
pub(super) struct Asked {
    pub(super) scenario: Scenario,
    pub(super) schemes: Vec<Spec>,
}

/// The scenario as the flags change it, and the schemes: those given, the scenario's own, or those of Table III.
pub(super) fn asked(
    traffic: &Traffic,
    schemes: &[Spec],
    changes: &ScenarioArgs,
) -> anyhow::Result<Asked> {
    let mut scenario = compare::scenario(traffic)?;
    runs::change(&mut scenario, changes)?;
    if let Traffic::Flows(_) = traffic {
        scenario.fit_buffers();
    }
    let schemes = if !schemes.is_empty() {
        schemes.to_vec()
    } else if !scenario.schemes.is_empty() {
        scenario.schemes.clone()
    } else {
        compare::builtin(BUILTIN[0]).schemes
    };
    Ok(Asked { scenario, schemes })
}

/// The files that the scenario comes from.
pub(super) fn inputs(traffic: &Traffic) -> Vec<&Path> {
    match traffic {
        Traffic::Builtin(_) => Vec::new(),
        Traffic::Scenario(path) | Traffic::Flows(path) => vec![path],
    }
}

/// Machines with the kernel of the cache, their queues from stock parts.
pub(super) fn testbed(
    machine: &MachineArgs,
    keep: Option<&Path>,
    rexmit: Option<Rexmit>,
) -> anyhow::Result<Testbed> {
    Ok(Testbed {
        kernel: Kernel::Machine(super::machine(machine)?),
        backing: Backing::Stock,
        rexmit,
        keep: keep.map(Path::to_owned),
    })
}

/// This computer's own kernel.
pub(super) fn native(keep: Option<&Path>, rexmit: Option<Rexmit>) -> Testbed {
    Testbed {
        kernel: Kernel::Native,
        backing: Backing::Stock,
        rexmit,
        keep: keep.map(Path::to_owned),
    }
}
