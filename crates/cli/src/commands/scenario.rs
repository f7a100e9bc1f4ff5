//! Scenarios: built in, from files, and with the changes from the command line.

use crate::args::{ScenarioArgs, Traffic};
use crate::input::{read_named_text, read_text};
use crate::output::warn;
use crate::usage::Usage;
use anyhow::Context;
use gentle_experiment::{LinkChange, Scenario};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Maximum size of a scenario file, bytes: thousands of times the usual size.
const MAX_SCENARIO: usize = 16 << 20;

/// Maximum size of a list of flows, bytes: tens of millions of connections.
const MAX_FLOWS: usize = 1 << 30;

/// TCP profile of the hosts in built-in scenarios, in place of the profile of 2014 that their files name.
const CURRENT_HOSTS: &str = "linux-7.2";

/// Scenario that the command line names, and the files read for it.
pub(crate) fn load(traffic: &Traffic) -> anyhow::Result<(Scenario, Vec<PathBuf>)> {
    Ok(match traffic {
        Traffic::Builtin(name) => (with_current_hosts(builtin(name))?, Vec::new()),
        Traffic::Scenario(path) => read_scenario(path)?,
        Traffic::Flows(path) => (with_current_hosts(read_flows(path)?)?, vec![path.clone()]),
    })
}

/// Built-in scenario, with the hosts of its file.
///
/// # Panics
/// If no built-in scenario has this name.
pub(crate) fn builtin(name: &str) -> Scenario {
    Scenario::builtin(name).expect("the name of a built-in scenario")
}

/// Reads a scenario file; files that it names are relative to it. Returns the scenario and the files read.
fn read_scenario(path: &Path) -> anyhow::Result<(Scenario, Vec<PathBuf>)> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = RefCell::new(vec![path.to_owned()]);
    let beside = |file: &str| {
        let path = folder.join(file);
        let text = read_named_text(&path, MAX_FLOWS);
        files.borrow_mut().push(path);
        text
    };
    let name = path.display().to_string();
    let text = read_text(path, MAX_SCENARIO).with_context(|| format!("{name}: cannot be read"))?;
    let scenario = Scenario::from_toml(&name, &text, &beside)?;
    scenario.warnings.iter().for_each(|warning| warn(warning));
    Ok((scenario, files.into_inner()))
}

/// Reads a list of flows.
fn read_flows(path: &Path) -> anyhow::Result<Scenario> {
    let name = path.display().to_string();
    let text = read_text(path, MAX_FLOWS).with_context(|| format!("{name}: cannot be read"))?;
    Ok(Scenario::from_flows(&name, &text)?)
}

/// Sets the TCP profile of all hosts to a current Linux.
pub(crate) fn with_current_hosts(mut scenario: Scenario) -> anyhow::Result<Scenario> {
    scenario.set_profile(CURRENT_HOSTS)?;
    Ok(scenario)
}

/// Applies the changes from the command line.
pub(crate) fn change(scenario: &mut Scenario, args: &ScenarioArgs) -> anyhow::Result<()> {
    if let Some(duration) = args.duration {
        scenario.set_duration(duration);
    }
    if let Some(profile) = &args.profile {
        scenario.set_profile(profile)?;
    }
    for (knob, value) in &args.knobs {
        scenario.set_knob(knob, value)?;
    }
    let change = LinkChange { down: args.rate, up: args.up_rate, load: args.load.map(|load| load.0) };
    let changed = scenario.change_links(&change);
    changed.map_err(|error| Usage(format!("--load: {error}")))?;
    scenario.check_extent().map_err(Usage)?;
    Ok(())
}
