//! `gentle compare`.

use super::runs::{self, Job};
use crate::args::{CompareArgs, Traffic};
use gentle_sim::{BUILTIN, Scenario};
use std::path::Path;
use std::process::ExitCode;

/// Hosts of the built-in types: today's. The files themselves name the paper's.
const TODAYS_HOSTS: &str = "linux-7.2";

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let mut scenario = scenario(&args.traffic)?;
    runs::change(&mut scenario, &args.scenario)?;
    let schemes = if !args.schemes.is_empty() {
        args.schemes.clone()
    } else if !scenario.schemes.is_empty() {
        scenario.schemes.clone()
    } else {
        builtin(BUILTIN[0]).schemes
    };
    runs::run(&Job {
        scenario,
        input: match &args.traffic {
            Traffic::Builtin(_) => None,
            Traffic::Scenario(path) | Traffic::Flows(path) => Some(path),
        },
        schemes,
        seeds: args.seeds,
        first_seed: args.scenario.first_seed,
        output: &args.output,
        table: gentle_report::compare::table,
    })
}

fn scenario(traffic: &Traffic) -> anyhow::Result<Scenario> {
    match traffic {
        Traffic::Builtin(name) => between_todays_hosts(builtin(name)),
        Traffic::Scenario(path) => runs::read_scenario(path),
        Traffic::Flows(path) => between_todays_hosts(read_flows(path)?),
    }
}

fn builtin(name: &str) -> Scenario {
    Scenario::builtin(name).expect("its name is in the list of those that are built in")
}

fn read_flows(path: &Path) -> anyhow::Result<Scenario> {
    let text = runs::read(path)?;
    Ok(Scenario::from_flows(&path.display().to_string(), &text)?)
}

fn between_todays_hosts(mut scenario: Scenario) -> anyhow::Result<Scenario> {
    scenario.set_profile(TODAYS_HOSTS)?;
    Ok(scenario)
}
