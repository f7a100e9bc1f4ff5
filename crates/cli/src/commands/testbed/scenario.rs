//! What `run`, `compare` and `check` share: the scenario, the schemes, and where they are run.

use super::modules;
use crate::args::{MachineArgs, PartsArgs, ScenarioArgs, Traffic};
use crate::commands::{compare, runs};
use crate::usage::Usage;
use anyhow::Context;
use gentle_aqm::Spec;
use gentle_deploy::{Backing, backing_for};
use gentle_experiment::{Direction, Scenario};
use gentle_testbed::runs::{Kernel, Testbed};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What is run.
pub(super) struct Asked {
    pub(super) scenario: Scenario,
    /// The files that the scenario comes from.
    pub(super) inputs: Vec<PathBuf>,
    pub(super) schemes: Vec<Spec>,
}

impl Asked {
    /// All queues of the runs, those under test and that of the way back.
    fn queues(&self) -> impl Iterator<Item = &Spec> {
        let back = &self.scenario.link(Direction::Up).qdisc;
        self.schemes.iter().chain([back])
    }
}

/// The scenario as the flags change it, and the schemes: those given, the scenario's own, or those of Table III.
pub(super) fn asked(
    traffic: &Traffic,
    schemes: &[Spec],
    changes: &ScenarioArgs,
) -> anyhow::Result<Asked> {
    let (mut scenario, inputs) = compare::scenario(traffic)?;
    runs::change(&mut scenario, changes)?;
    let schemes = match schemes {
        [] => scenario.schemes_to_compare(),
        schemes => schemes.to_vec(),
    };
    Ok(Asked {
        scenario,
        inputs,
        schemes,
    })
}

/// Machines with the kernel of the cache, and gentle's modules where a queue needs them and they are to be had.
pub(super) fn testbed(
    asked: &Asked,
    machine: &MachineArgs,
    parts: &PartsArgs,
    keep: Option<&Path>,
    stop: &AtomicBool,
) -> anyhow::Result<Testbed> {
    let named = machine.modules.is_some();
    let mut machine = super::machine(machine, stop)?;
    let needed = asked.queues().any(|spec| spec.module().is_some());
    let backing = match parts.backing.as_str() {
        "stock" => Backing::Stock,
        _ if named => Backing::Native,
        "auto" if !needed => Backing::Stock,
        wanted => match modules::found() {
            Some(source) => {
                modules::load(&mut machine, &source, stop)
                    .context("--backing stock does without them")?;
                Backing::Native
            }
            None if wanted == "native" => {
                return Err(Usage(
                    "--backing native: the source of gentle's kernel modules was not found; say where it is with --modules DIR".to_owned(),
                )
                .into());
            }
            None => Backing::Stock,
        },
    };
    Ok(Testbed {
        kernel: Kernel::Machine(Box::new(machine)),
        backing,
        rexmit: None,
        keep: keep.map(Path::to_owned),
    })
}

/// This computer's own kernel, with gentle's modules where it has all that are needed.
pub(super) fn native(asked: &Asked, parts: &PartsArgs, keep: Option<&Path>) -> Testbed {
    let has =
        |spec: &Spec| spec.module().is_none() || backing_for(spec, None).backing == Backing::Native;
    let backing = match parts.backing.as_str() {
        "stock" => Backing::Stock,
        "auto" if !asked.queues().all(has) => Backing::Stock,
        _ => Backing::Native,
    };
    Testbed {
        kernel: Kernel::Native,
        backing,
        rexmit: None,
        keep: keep.map(Path::to_owned),
    }
}
