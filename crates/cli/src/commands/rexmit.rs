//! `gentle rexmit`.

mod kernel;
mod log;
mod options;
mod status;

use crate::args::{Engine, RexmitArgs, RexmitCommand};
use crate::interrupt;
use crate::output::{OutputFile, print};
use crate::usage::Usage;
use anyhow::Context;
use gentle_rexmit::wire::{self, MOST_PORTS};
use gentle_rexmit::{Config, Limits, PathRecord, Selection, Timing, recall, remember};
use log::Log;
use std::io;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(args: &RexmitArgs) -> anyhow::Result<ExitCode> {
    if let Some(RexmitCommand::Status(args)) = &args.command {
        return status::run(args);
    }
    options::check(args)?;
    match args.place.engine {
        _ if args.remove => kernel::remove(args),
        Engine::Wire => watch(args),
        Engine::Kernel => kernel::install(args),
    }
}

fn watch(args: &RexmitArgs) -> anyhow::Result<ExitCode> {
    let config = config(args)?;
    let interface = match &args.place.interface {
        Some(interface) => interface.clone(),
        None => wire::of_default_route()?,
    };
    let learned = learned(args.when.learned.as_deref())?;
    let seed = getrandom::u64().context("random numbers of the system")?;
    let engine = wire::Engine::open(&interface, config, &args.place.run_dir, seed, learned)?;
    // Its thread starts behind this: without privileges, too.
    let stop = interrupt::flag()?;
    let mut log = Log::new(args);
    log.started(&interface);
    let outcome = engine.run(&stop, &mut log);
    log.ended();
    let state = outcome?;
    if let Some(path) = &args.when.learned {
        let mut file = OutputFile::create(path)?;
        file.write(remember(&state.paths).as_bytes())?;
        file.commit()?;
    }
    if !args.place.log_json {
        print(&status::summary(&state))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn config(args: &RexmitArgs) -> anyhow::Result<Config> {
    let (what, when, limits) = (&args.what, &args.when, &args.limits);
    if what.ports.len() > MOST_PORTS {
        let usage = format!(
            "at most {MOST_PORTS} ports or ranges can be named; give ranges, or none for all ports"
        );
        return Err(Usage(usage).into());
    }
    let selection = Selection {
        client: what.client,
        server: what.server,
        ports: what.ports.clone(),
        only: what.only.clone(),
        except: what.except.clone(),
    };
    let copies = limits
        .copies
        .unwrap_or(Config::new(Selection::default()).copies);
    Ok(Config {
        timing: timing(args)?,
        copies,
        duplicate: limits.duplicate,
        limits: Limits {
            per_second: limits.budget,
            share_percent: limits.share,
        },
        give_up: limits.give_up,
        with_data: what.with_data,
        dry_run: limits.dry_run,
        stack_rto: limits.stack_rto,
        table: limits.table as usize,
        age: when.age,
        ..Config::new(selection)
    })
}

fn timing(args: &RexmitArgs) -> anyhow::Result<Timing> {
    let when = &args.when;
    let (min, max) = (("--min", when.min), ("--max", when.max));
    let initial = args
        .given
        .has("initial")
        .then_some(("--initial", when.initial));
    // The kernel engine's is not repeated, so nothing bounds it.
    let fixed = when.delay.filter(|_| args.place.engine == Engine::Wire);
    let fixed = fixed.map(|delay| ("--delay", delay));
    for (low, high) in [
        (Some(min), Some(max)),
        (initial, Some(max)),
        (Some(min), initial),
        (fixed, Some(max)),
    ] {
        if let (Some((low, least)), Some((high, most))) = (low, high)
            && least > most
        {
            return Err(Usage(format!("{low} {least} is more than {high} {most}")).into());
        }
    }
    let kind = when.delay.map_or(Timing::LEARNED, Timing::fixed);
    Ok(Timing {
        initial: when.initial,
        least: when.min,
        most: when.max,
        backoff: when.backoff.unwrap_or(kind.backoff),
        jitter_percent: when.jitter.unwrap_or(kind.jitter_percent),
        edge: when.edge,
        ..kind
    })
}

/// What an earlier run has learned; a file that is not there yet is no mistake.
fn learned(path: Option<&Path>) -> anyhow::Result<Vec<PathRecord>> {
    let Some(path) = path else {
        return Ok(Vec::new());
    };
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        text => Ok(text
            .map_err(anyhow::Error::from)
            .and_then(|text| Ok(recall(&text)?))
            .with_context(|| path.display().to_string())?),
    }
}
