//! `gentle testbed decisions`.

use super::modules;
use crate::args::DecisionsArgs;
use crate::commands::{compare, runs, trace};
use crate::interrupt;
use crate::output::{print, ruled_table, warn};
use crate::progress::Progress;
use crate::usage::Usage;
use anyhow::{Context, bail};
use gentle_aqm::Spec;
use gentle_sim::BUILTIN;
use gentle_testbed::decisions::{Captured, Case, CaseError, DecideError, Decided, Tally, decide};
use gentle_testbed::machine::MachineError;
use gentle_units::Rate;
use rayon::prelude::*;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a link has unless something else is said: the paper's down link.
const MOST_RATE: u64 = 2_400_000;

/// A capture and the link that it goes to.
struct Input {
    name: String,
    captured: Captured,
    rate: Rate,
}

pub(crate) fn run(args: &DecisionsArgs) -> anyhow::Result<ExitCode> {
    let stop = interrupt::flag()?;
    let schemes = if args.schemes.is_empty() {
        compare::builtin(BUILTIN[0]).schemes
    } else {
        args.schemes.clone()
    };
    let read = |path| read(path, args, &stop);
    let inputs = args
        .captures
        .iter()
        .map(|path| read(path))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let machine = machine(args, &stop)?;
    let threads = runs::threads(args.threads)?;
    let progress = Progress::new(schemes.len(), args.quiet);
    let decided = threads.install(|| {
        schemes
            .par_iter()
            .with_max_len(1)
            .map(|spec| {
                let case = |input: &Input| {
                    let arrivals = input.captured.arrivals();
                    Case::over_link(spec, args.seed, arrivals, input.rate)
                };
                let cases: Vec<Case> = inputs.iter().map(case).collect();
                let bar = progress.begin(spec.to_string());
                let reached = |fraction| progress.reached(&bar, fraction);
                let decided = decide(machine.clone(), &cases, &stop, &reached);
                progress.end(&bar);
                decided.map_err(|error| (spec, error))
            })
            .collect::<Result<Vec<Decided>, (&Spec, DecideError)>>()
    });
    progress.clear();
    let decided = match decided {
        Err((_, DecideError::Machine(MachineError::Stopped))) => {
            return Ok(ExitCode::from(interrupt::EXIT_CODE));
        }
        Err((spec, error)) => return Err(error).with_context(|| spec.to_string()),
        Ok(decided) => decided,
    };
    report(&inputs, &schemes, &decided)
}

/// The packets of a capture, and the rate of their link.
fn read(path: &Path, args: &DecisionsArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Input> {
    let name = path.display().to_string();
    let mut reader = trace::open(path, false, stop)?;
    let mut captured = Captured::default();
    while captured.arrivals().len() < args.packets as usize
        && let Some(packet) = reader.next()?
    {
        captured.push(packet.time, packet.link, packet.data, packet.original_len);
    }
    for warning in reader.warnings() {
        warn(&warning.to_string());
    }
    if captured.arrivals().is_empty() {
        bail!("{name}: no IP packet in it; expected at least one");
    }
    let half = || {
        let mean = captured
            .mean_rate()
            .map_or(MOST_RATE, Rate::bits_per_second);
        Rate::from_bits_per_second((mean / 2).clamp(1, MOST_RATE)).expect("more than zero")
    };
    let rate = args.rate.unwrap_or_else(half);
    Ok(Input {
        name,
        captured,
        rate,
    })
}

/// A machine with the module that feeds packets to queues, and gentle's own queues.
fn machine(
    args: &DecisionsArgs,
    stop: &AtomicBool,
) -> anyhow::Result<gentle_testbed::machine::Machine> {
    let source = match &args.machine.modules {
        Some(folder) => modules::named(folder)?,
        None => modules::found().ok_or_else(|| {
            Usage("the source of gentle's kernel modules was not found; say where it is with --modules DIR".to_owned())
        })?,
    };
    let mut machine = super::machine(&args.machine, stop)?;
    if args.machine.modules.is_none() {
        modules::load(&mut machine, &source, stop)?;
    }
    modules::load_replay(&mut machine, &source, stop)?;
    Ok(machine)
}

fn report(inputs: &[Input], schemes: &[Spec], decided: &[Decided]) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    for Input {
        name,
        captured,
        rate,
    } in inputs
    {
        let (packets, flows) = (captured.arrivals().len(), captured.flows());
        let left_out = match captured.left_out() {
            0 => String::new(),
            frames => format!(", {frames} frames left out that are not IP"),
        };
        text += &format!("{name}: {packets} packets of {flows} flows, at {rate}{left_out}\n");
    }
    text += &format!("\n{}\n", table(schemes, decided));
    let mut alike = true;
    for (spec, of_scheme) in schemes.iter().zip(decided) {
        for complaint in &of_scheme.complaints {
            warn(&format!("{spec}: the kernel complains: {complaint}"));
        }
        for (input, case) in inputs.iter().zip(&of_scheme.cases) {
            match case {
                Ok(_) => {}
                Err(error @ CaseError::File { .. }) => bail!("{spec}: {error}"),
                Err(difference) => {
                    alike = false;
                    text += &format!("\n{spec}, {}: {difference}\n", input.name);
                }
            }
        }
    }
    print(&text)?;
    Ok(if alike {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn table(schemes: &[Spec], decided: &[Decided]) -> String {
    let head = [
        "scheme",
        "calls",
        "sent",
        "marked",
        "dropped",
        "decided alike",
    ];
    let mut table = ruled_table(head, 1..5);
    for (spec, of_scheme) in schemes.iter().zip(decided) {
        let mut all = Tally::default();
        let mut alike = 0;
        for tally in of_scheme.cases.iter().flatten() {
            all += *tally;
            alike += 1;
        }
        let verdict = match of_scheme.cases.len() {
            cases if cases == alike => "all".to_owned(),
            cases => format!("{alike} of {cases} captures"),
        };
        table.add_row([
            spec.to_string(),
            all.steps.to_string(),
            all.sent.to_string(),
            all.marked.to_string(),
            all.dropped.to_string(),
            verdict,
        ]);
    }
    table.trim_fmt()
}
