//! What `run`, `compare` and `check` share: the scenario, the schemes, and where they are run.

use super::modules;
use crate::args::{MachineArgs, PartsArgs, ScenarioArgs, Traffic};
use crate::commands::{compare, runs};
use crate::usage::Usage;
use anyhow::Context;
use gentle_aqm::Spec;
use gentle_deploy::{Backing, Module, backing_for};
use gentle_sim::{BUILTIN, Direction, Scenario};
use gentle_testbed::runs::{Kernel, Testbed};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What is run.
pub(super) struct Asked {
    pub(super) scenario: Scenario,
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
    let needed = asked.queues().any(|spec| Module::of(spec).is_some());
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
    let has = |spec: &Spec| Module::of(spec).is_none() || backing_for(spec) == Backing::Native;
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
