//! Common parts of `run`, `compare` and `check`: the scenario, the schemes, and the testbed.

use super::modules;
use crate::args::{MachineArgs, PartsArgs, ScenarioArgs, Traffic};
use crate::commands;
use crate::usage::Usage;
use anyhow::Context;
use gentle_aqm::Spec;
use gentle_deploy::{Backing, backing_for};
use gentle_experiment::{Direction, Scenario};
use gentle_testbed::runs::{Kernel, Testbed};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Requested runs.
pub(super) struct Asked {
    pub(super) scenario: Scenario,
    /// Files of the scenario.
    pub(super) inputs: Vec<PathBuf>,
    pub(super) schemes: Vec<Spec>,
}

impl Asked {
    /// All queues of the runs: the queues under test, and the queue of the reverse link.
    pub(super) fn queues(&self) -> impl Iterator<Item = &Spec> {
        let back = &self.scenario.link(Direction::Up).qdisc;
        self.schemes.iter().chain([back])
    }
}

/// Scenario with the changes of the flags, and its schemes: given by flags, else by the scenario, else by `real`.
pub(super) fn asked(traffic: &Traffic, schemes: &[Spec], changes: &ScenarioArgs) -> anyhow::Result<Asked> {
    let (mut scenario, inputs) = commands::scenario::load(traffic)?;
    commands::scenario::change(&mut scenario, changes)?;
    let schemes = match schemes {
        [] => scenario.schemes_to_compare(),
        schemes => schemes.to_vec(),
    };
    Ok(Asked { scenario, inputs, schemes })
}

/// Testbed of machines with the cached kernel, and gentle's modules if one of the queues needs them and they are available.
pub(super) fn testbed<'a>(
    mut queues: impl Iterator<Item = &'a Spec>,
    machine: &MachineArgs,
    parts: &PartsArgs,
    keep: Option<&Path>,
    stop: &AtomicBool,
) -> anyhow::Result<Testbed> {
    let named = machine.modules.is_some();
    let mut machine = super::machine(machine, stop)?;
    let needed = queues.any(|spec| spec.module().is_some());
    let backing = match parts.backing.as_str() {
        "stock" => Backing::Stock,
        _ if named => Backing::Native,
        "auto" if !needed => Backing::Stock,
        wanted => match modules::found() {
            Some(source) => {
                modules::load(&mut machine, &source, stop).context("--backing stock does not need them")?;
                Backing::Native
            }
            None if wanted == "native" => {
                let missing = "--backing native: cannot find the source of gentle's kernel modules; give its directory \
                               with --modules DIR";
                return Err(Usage(missing.to_owned()).into());
            }
            None => Backing::Stock,
        },
    };
    Ok(Testbed { kernel: Kernel::Machine(Box::new(machine)), backing, rexmit: None, keep: keep.map(Path::to_owned) })
}

/// Wall-clock time after which a machine of [`for_any_scheme`] is stopped.
const TIME_LIMIT: Duration = Duration::from_secs(3_600);

/// Testbed of machines with the cached kernel and gentle's modules. Without the modules, stock parts would replace some
/// schemes, and others would be missing.
pub(in crate::commands) fn for_any_scheme(stop: &AtomicBool) -> anyhow::Result<Testbed> {
    let Some(source) = modules::found() else {
        let missing = "--kernel: cannot find the source of gentle's kernel modules, neither next to the program (in its \
                       build folder, or where make install puts it) nor in /usr/src as DKMS has it";
        return Err(Usage(missing.to_owned()).into());
    };
    let args = MachineArgs { debug: false, memory: 1_024, modules: None, real_time: false, time_limit: TIME_LIMIT };
    let mut machine = super::machine(&args, stop)?;
    modules::load(&mut machine, &source, stop)?;
    Ok(Testbed { kernel: Kernel::Machine(Box::new(machine)), backing: Backing::Native, rexmit: None, keep: None })
}

/// Testbed of this computer's own kernel, with gentle's modules if all required ones are present.
pub(super) fn native(asked: &Asked, parts: &PartsArgs, keep: Option<&Path>) -> Testbed {
    let has = |spec: &Spec| spec.module().is_none() || backing_for(spec, None).backing == Backing::Native;
    let backing = match parts.backing.as_str() {
        "stock" => Backing::Stock,
        "auto" if !asked.queues().all(has) => Backing::Stock,
        _ => Backing::Native,
    };
    Testbed { kernel: Kernel::Native, backing, rexmit: None, keep: keep.map(Path::to_owned) }
}
