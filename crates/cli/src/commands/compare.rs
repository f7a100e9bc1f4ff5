//! The command `gentle compare`.

use super::job::Job;
use super::{results, runs, scenario, trace};
use crate::args::CompareArgs;
use crate::files::FileClaims;
use crate::interrupt;
use crate::output::{print_error, warn};
use crate::usage::Usage;
use gentle_experiment::Scenario;
use gentle_report::analyze::{assumptions, put_into_words};
use gentle_sim::Simulator;
use gentle_trace::Options;
use gentle_trace::flows::Flows;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rejects options for reading captures if there is no capture.
fn check(args: &CompareArgs) -> Result<(), Usage> {
    let capture = &args.capture;
    let given = [
        ("--local", !capture.local.is_empty()),
        ("--strict", capture.reading.strict),
        ("--inner", capture.reading.inner),
        ("--interface", !capture.reading.interfaces.is_empty()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) if args.from.is_empty() => {
            Err(Usage(format!("{option} applies to captures only; add --from CAPTURE or leave it out")))
        }
        _ => Ok(()),
    }
}

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    check(args)?;
    let stop = interrupt::flag()?;
    let (mut scenario, inputs) = match &args.from[..] {
        [] => scenario::load(&args.comparison.traffic)?,
        _ => match from_captures(args, &stop)? {
            Some(scenario) => (scenario, args.from.clone()),
            None => {
                print_error("interrupted while reading the capture; nothing was compared");
                return Ok(interrupt::exit_code());
            }
        },
    };
    scenario::change(&mut scenario, &args.scenario)?;
    let schemes = match &args.comparison.schemes.schemes[..] {
        [] => scenario.schemes_to_compare(),
        schemes => schemes.to_vec(),
    };
    let output = &args.output.results;
    let seeds = (args.scenario.first_seed, args.comparison.seeds);
    let job = Job {
        tool: "gentle compare",
        plan: runs::plan(scenario, schemes, seeds, args.reference.as_ref(), args.harm.harm, &output.bins.0)?,
        inputs,
        output,
        pcap: args.output.pcap.as_deref(),
        table: match &args.from[..] {
            [] => gentle_report::compare::table,
            _ => gentle_report::compare::table_with_assumptions,
        },
    };
    runs::run(&job, &Simulator, &stop)
}

/// Scenario with the connections of captures over a link of the given rate, the same in both directions unless
/// `--up-rate` is given; `None` if interrupted.
fn from_captures(args: &CompareArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Option<Scenario>> {
    let output = &args.output.results;
    // Checked before the captures are read, which may take long. The names that --pcap derives from the schemes are
    // known only afterwards.
    let mut claims = FileClaims::default();
    for path in &args.from {
        claims.reads_once(path)?;
    }
    results::claim_results(&mut claims, output.json, output.csv.as_deref(), output.html.as_deref())?;
    if let Some(path) = &args.output.pcap {
        claims.writes_binary("--pcap", path)?;
    }
    drop(claims);
    let reading = &args.capture.reading;
    let readers = args.from.iter().map(|path| trace::open(path, reading.strict, stop));
    let readers = readers.collect::<anyhow::Result<Vec<_>>>();
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let options = Options {
        inner: reading.inner,
        interfaces: reading.interfaces.clone(),
        local: args.capture.local.clone(),
        ..Options::default()
    };
    let mut flows = Flows::new(&options.local, None);
    let mut sink = |row: &_| {
        flows.add(row);
        Ok(())
    };
    let quiet = output.quiet;
    let mut analysis = trace::analyze(readers?, &options, None, Some(&mut sink), quiet, stop)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let warnings = analysis.captures.iter().flat_map(|c| &c.warnings);
    warnings.for_each(|warning| warn(warning));
    let flows = flows.finish(&mut analysis);
    put_into_words(&mut analysis);
    let scenario = gentle_replay::scenario(&name(&args.from), &flows, assumptions(&analysis))?;
    Ok(Some(scenario::with_current_hosts(scenario)?))
}

fn name(captures: &[PathBuf]) -> String {
    let names: Vec<String> = captures.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}
