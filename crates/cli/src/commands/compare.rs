//! `gentle compare`.

use super::runs::{self, Job};
use crate::args::{CompareArgs, ScenarioArgs};
use anyhow::{Context, bail};
use gentle_sim::{BUILTIN, Scenario};
use std::path::Path;
use std::process::ExitCode;

/// Hosts of the built-in types: today's. The files themselves name the paper's.
const TODAYS_HOSTS: &str = "linux-7.2";

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let mut scenario = traffic(&args.traffic, &args.scenario)?;
    runs::change(&mut scenario, &args.scenario)?;
    let schemes = if args.schemes.is_empty() {
        scenario.schemes.clone()
    } else {
        args.schemes.clone()
    };
    if schemes.is_empty() {
        bail!(
            "{}: lists no schemes to compare; add schemes = [\"pfifo limit=50\", …] to it, or name them with --scheme",
            args.traffic
        );
    }
    runs::run(&Job {
        scenario,
        schemes,
        seeds: args.seeds,
        first_seed: args.scenario.first_seed,
        output: &args.output,
        table: gentle_report::table,
    })
}

/// The scenario that `--traffic` names.
fn traffic(name: &str, args: &ScenarioArgs) -> anyhow::Result<Scenario> {
    if let Some(mut scenario) = Scenario::builtin(name) {
        if args.profile.is_none() {
            scenario.set_profile(TODAYS_HOSTS)?;
        }
        return Ok(scenario);
    }
    let path = Path::new(name);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => runs::read_scenario(path),
        Some("csv") => {
            let text = std::fs::read_to_string(path).with_context(|| name.to_owned())?;
            let mut scenario = Scenario::from_flows(name, &text)?;
            if args.profile.is_none() {
                scenario.set_profile(TODAYS_HOSTS)?;
            }
            Ok(scenario)
        }
        _ => bail!(
            "--traffic {name}: not known; expected {}, a scenario file ending in .toml or a list of flows ending in .csv",
            BUILTIN.join(", ")
        ),
    }
}
