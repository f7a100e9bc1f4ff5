//! The command `gentle testbed decisions`.

mod outcome;

use super::modules;
use crate::args::DecisionsArgs;
use crate::commands::{runs, scenario, trace};
use crate::interrupt;
use crate::output::warn;
use crate::progress::Progress;
use crate::usage::Usage;
use anyhow::{Context, bail};
use gentle_aqm::Spec;
use gentle_experiment::BUILTIN;
use gentle_testbed::conformance::{CaptureArrivals, Case, CaseResults, ConformanceError, run_cases};
use gentle_testbed::machine::MachineError;
use gentle_units::Rate;
use outcome::Outcome;
use rayon::prelude::*;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Upper limit of the link's default rate, bits per second: the paper's downlink.
const DEFAULT_RATE_LIMIT: u64 = 2_400_000;

/// Capture and the link that it is replayed on.
struct Input {
    name: String,
    arrivals: CaptureArrivals,
    rate: Rate,
    /// Number of frames beyond the limit of `--packets`.
    beyond: u64,
}

pub(crate) fn run(args: &DecisionsArgs) -> anyhow::Result<ExitCode> {
    let stop = interrupt::flag()?;
    let schemes = if args.schemes.schemes.is_empty() {
        scenario::builtin(BUILTIN[0]).schemes
    } else {
        args.schemes.schemes.clone()
    };
    let read = |path| read(path, args, &stop);
    let inputs = args.captures.iter().map(|path| read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let machine = machine(args, &stop)?;
    let threads = runs::threads(args.threads)?;
    let progress = Progress::new(schemes.len(), args.quiet);
    let results = threads.install(|| {
        schemes
            .par_iter()
            .with_max_len(1)
            .map(|spec| {
                let case = |input: &Input| {
                    let arrivals = input.arrivals.packets();
                    Case::over_link(spec, args.seed, arrivals, input.rate)
                };
                let cases: Vec<Case> = inputs.iter().map(case).collect();
                let bar = progress.begin(spec.to_string());
                let reached = |fraction| progress.reached(&bar, fraction);
                let results = run_cases(machine.clone(), &cases, &stop, &reached);
                progress.end(&bar);
                results.map_err(|error| (spec, error))
            })
            .collect::<Result<Vec<CaseResults>, (&Spec, ConformanceError)>>()
    });
    progress.clear();
    let results = match results {
        Err((_, ConformanceError::Machine(MachineError::Stopped))) => {
            return Ok(interrupt::exit_code());
        }
        Err((spec, error)) => return Err(error).with_context(|| spec.to_string()),
        Ok(results) => results,
    };
    let outcome = Outcome { inputs: &inputs, schemes: &schemes, results: &results };
    outcome.report(args.json)
}

/// Packets of a capture, and the rate of their link.
fn read(path: &Path, args: &DecisionsArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Input> {
    let name = path.display().to_string();
    let mut reader = trace::open(path, false, stop)?;
    let mut arrivals = CaptureArrivals::default();
    while arrivals.packets().len() < args.packets as usize
        && let Some(packet) = reader.next()?
    {
        arrivals.push(packet.time, packet.link, packet.data, packet.original_len);
    }
    let mut beyond = 0;
    while reader.next()?.is_some() {
        beyond += 1;
    }
    for warning in reader.warnings() {
        warn(&warning.to_string());
    }
    if arrivals.packets().is_empty() {
        bail!("{name}: contains no IP packet; expected at least one");
    }
    let half = || {
        let mean = arrivals.mean_rate().map_or(DEFAULT_RATE_LIMIT, Rate::bits_per_second);
        Rate::from_bits_per_second((mean / 2).clamp(1, DEFAULT_RATE_LIMIT)).expect("more than zero")
    };
    let rate = args.rate.unwrap_or_else(half);
    Ok(Input { name, arrivals, rate, beyond })
}

/// Machine with the module that feeds packets to queues, and gentle's own queues.
fn machine(args: &DecisionsArgs, stop: &AtomicBool) -> anyhow::Result<gentle_testbed::machine::Machine> {
    let source = match &args.machine.modules {
        Some(folder) => modules::named(folder)?,
        None => modules::found().ok_or_else(|| {
            Usage("cannot find the source of gentle's kernel modules; give its directory with --modules DIR".to_owned())
        })?,
    };
    let mut machine = super::machine(&args.machine, stop)?;
    if args.machine.modules.is_none() {
        modules::load(&mut machine, &source, stop)?;
    }
    modules::load_replay(&mut machine, &source, stop)?;
    Ok(machine)
}
