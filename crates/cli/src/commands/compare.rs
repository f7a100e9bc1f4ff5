//! `gentle compare`.

use super::runs::{self, Job};
use super::{replay, trace};
use crate::args::{CompareArgs, Traffic};
use crate::interrupt;
use crate::output::{complain, each_file_once, warn};
use anyhow::bail;
use gentle_sim::{BUILTIN, Direction, Scenario};
use gentle_trace::Options;
use gentle_trace::flows::Flows;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Hosts of the built-in types: today's. The files themselves name the paper's.
const TODAYS_HOSTS: &str = "linux-7.2";

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let stop = interrupt::flag()?;
    let mut scenario = match &args.from[..] {
        [] => scenario(&args.traffic)?,
        _ => match from_captures(args, &stop)? {
            Some(scenario) => scenario,
            None => {
                complain("stopped while the capture was read; nothing was compared");
                return Ok(ExitCode::from(interrupt::EXIT_CODE));
            }
        },
    };
    runs::change(&mut scenario, &args.scenario)?;
    let replayed = !args.from.is_empty() || matches!(args.traffic, Traffic::Flows(_));
    if replayed {
        scenario.fit_buffers();
    }
    let schemes = if !args.schemes.is_empty() {
        args.schemes.clone()
    } else if !scenario.schemes.is_empty() {
        scenario.schemes.clone()
    } else {
        builtin(BUILTIN[0]).schemes
    };
    let job = Job {
        scenario,
        inputs: inputs(args),
        schemes,
        seeds: args.seeds,
        first_seed: args.scenario.first_seed,
        output: &args.output.results,
        pcap: args.output.pcap.as_deref(),
        table: match &args.from[..] {
            [] => gentle_report::compare::table,
            _ => gentle_report::compare::table_with_choices,
        },
    };
    runs::run(&job, &stop)
}

fn inputs(args: &CompareArgs) -> Vec<&Path> {
    if !args.from.is_empty() {
        return args.from.iter().map(|path| path.as_path()).collect();
    }
    match &args.traffic {
        Traffic::Builtin(_) => Vec::new(),
        Traffic::Scenario(path) | Traffic::Flows(path) => vec![path],
    }
}

pub(super) fn scenario(traffic: &Traffic) -> anyhow::Result<Scenario> {
    match traffic {
        Traffic::Builtin(name) => between_todays_hosts(builtin(name)),
        Traffic::Scenario(path) => runs::read_scenario(path),
        Traffic::Flows(path) => between_todays_hosts(read_flows(path)?),
    }
}

pub(super) fn builtin(name: &str) -> Scenario {
    Scenario::builtin(name).expect("its name is in the list of those that are built in")
}

fn read_flows(path: &Path) -> anyhow::Result<Scenario> {
    let text = runs::read(path)?;
    Ok(Scenario::from_flows(&path.display().to_string(), &text)?)
}

/// The connections of captures over a link of the given rate, the same both ways until `--up-rate` says otherwise; nothing
/// if it was stopped.
fn from_captures(args: &CompareArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Option<Scenario>> {
    // Again with the names that --pcap makes of the schemes, but that is known only after reading.
    let results = &args.output.results;
    let outputs = [&results.csv, &results.html, &args.output.pcap];
    let files = args.from.iter().chain(outputs.into_iter().flatten());
    each_file_once(
        files.map(|path| path.as_path()),
        "every capture is read once, and every output needs a file of its own",
    )?;
    let reading = &args.capture.reading;
    let readers = args
        .from
        .iter()
        .map(|path| trace::open(path, reading.strict, stop));
    let readers = readers.collect::<anyhow::Result<Vec<_>>>();
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let options = Options {
        inner: reading.inner,
        local: args.capture.local.clone(),
        ..Options::default()
    };
    let mut flows = Flows::new(&options.local, None);
    let mut sink = |row: &_| {
        flows.add(row);
        Ok(())
    };
    let quiet = results.quiet;
    let mut analysis = trace::analyze(readers?, &options, None, Some(&mut sink), quiet, stop)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let warnings = analysis.captures.iter().flat_map(|c| &c.warnings);
    warnings.for_each(|warning| warn(warning));
    let flows = flows.finish(&mut analysis);
    let inferred = analysis.flows.take().unwrap_or_default().in_words;
    let name = name(&args.from);
    if flows.is_empty() {
        bail!("{name}: nothing to compare. {}", inferred.join(" "));
    }
    let flows = flows.iter().map(replay::flow).collect();
    let mut scenario = between_todays_hosts(Scenario::replay(&name, flows))?;
    if let Some(rate) = args.scenario.rate {
        scenario.set_rate(Direction::Up, rate);
    }
    scenario.choices.splice(..0, inferred);
    Ok(Some(scenario))
}

fn name(captures: &[PathBuf]) -> String {
    let names: Vec<String> = captures
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.join(", ")
}

fn between_todays_hosts(mut scenario: Scenario) -> anyhow::Result<Scenario> {
    scenario.set_profile(TODAYS_HOSTS)?;
    Ok(scenario)
}
