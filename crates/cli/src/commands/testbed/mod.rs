//! The command `gentle testbed`, one file per subcommand.

mod build;
mod check;
mod compare;
mod decisions;
mod exec;
mod modules;
mod run;
mod scenario;
mod sweep;

pub(super) use scenario::for_any_scheme;

use crate::args::{MachineArgs, TestbedArgs, TestbedCommand};
use anyhow::Context;
use gentle_testbed::build::{Cache, Flavour};
use gentle_testbed::guest;
use gentle_testbed::machine::{Clock, GuestProgram, Machine};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

pub(crate) fn run(args: &TestbedArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        TestbedCommand::Build(args) => build::run(args),
        TestbedCommand::Exec(args) => exec::run(args),
        TestbedCommand::Run(args) => run::run(args),
        TestbedCommand::Compare(args) => compare::run(args),
        TestbedCommand::Sweep(args) => sweep::run(args),
        TestbedCommand::Check(args) => check::run(args),
        TestbedCommand::Decisions(args) => decisions::run(args),
        TestbedCommand::Guest(args) => Ok(guest::main(&args.stage)),
    }
}

fn flavour(debug: bool) -> Flavour {
    if debug { Flavour::Debug } else { Flavour::Plain }
}

/// Machine with the cached kernel and the requested modules.
fn machine(args: &MachineArgs, stop: &AtomicBool) -> anyhow::Result<Machine> {
    let kernel = Cache::of_user()?.kernel(flavour(args.debug)).with_context(|| {
        let option = if args.debug { " --debug" } else { "" };
        format!("no kernel has been built yet; run: gentle testbed build{option}")
    })?;
    let program = GuestProgram {
        path: std::env::current_exe().context("the path of this program is not known")?,
        arguments: vec!["testbed".to_owned(), "guest".to_owned()],
    };
    let mut machine = Machine::new(kernel, program);
    machine.memory_mib = args.memory;
    machine.time_limit = args.time_limit;
    if args.real_time {
        machine.clock = Clock::Real;
    }
    if let Some(folder) = &args.modules {
        modules::load(&mut machine, &modules::named(folder)?, stop)?;
    }
    Ok(machine)
}
