//! The command `gentle rexmit`.

mod kernel;
mod log;
mod options;
mod status;

use crate::args::{Engine, RexmitArgs, RexmitCommand};
use crate::files::{Claims, is_stdout};
use crate::interrupt;
use crate::output::{print, warn};
use crate::usage::Usage;
use anyhow::Context;
use gentle_rexmit::wire::{self, Account, Confinement, MOST_PORTS};
use gentle_rexmit::{Config, Limits, PathRecord, Selection, Timing, recall};
use log::Log;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Unprivileged user that exists on every system and owns no files.
const UNPRIVILEGED: &str = "nobody";

pub(crate) fn run(args: &RexmitArgs) -> anyhow::Result<ExitCode> {
    if let Some(RexmitCommand::Status(args)) = &args.command {
        return status::run(args);
    }
    options::check(args)?;
    check_files(args)?;
    match args.place.engine {
        _ if args.remove => kernel::remove(args),
        Engine::Wire => watch(args),
        Engine::Kernel => kernel::install(args),
    }
}

/// Checks that the metrics and the learned paths go to two different files, and neither to standard output: each is
/// replaced again and again while others may read it.
fn check_files(args: &RexmitArgs) -> Result<(), Usage> {
    let mut claims = Claims::default();
    if args.place.log_json {
        claims.prints("--log-json")?;
    }
    let files = [
        ("--learned", args.when.learned.as_deref()),
        ("--metrics", args.place.metrics.as_deref()),
    ];
    for (option, path) in files {
        let Some(path) = path else { continue };
        if is_stdout(path) {
            return Err(Usage(format!(
                "{option} is written anew again and again; name a file, not standard output"
            )));
        }
        claims.writes(option, path)?;
    }
    claims.redirected_stdout()
}

fn watch(args: &RexmitArgs) -> anyhow::Result<ExitCode> {
    let config = config(args)?;
    let interface = match &args.place.interface {
        Some(interface) => interface.clone(),
        None => wire::of_default_route()?,
    };
    let learned = learned(args.when.learned.as_deref())?;
    let seed = getrandom::u64().context("random numbers of the system")?;
    let user = user(args);
    let account = user.map(Account::named).transpose()?;
    let files = [&args.when.learned, &args.place.metrics];
    let confinement = Confinement {
        account,
        directories: files
            .into_iter()
            .flatten()
            .map(|path| directory(path))
            .collect(),
    };
    let run_dir = &args.place.run_dir;
    let mut engine = wire::Engine::open(&interface, config, run_dir, seed, learned, confinement)?;
    // Threads started from here on are confined, too.
    let stop = interrupt::flag()?;
    let mut log = Log::start(args, user)?;
    if let Some(bytes) = engine.cramped()? {
        warn(&format!(
            "the system keeps only {} kB of packets while the engine is busy; more with CAP_NET_ADMIN, or net.core.rmem_max",
            bytes / 1000
        ));
    }
    log.started(&interface);
    let outcome = engine.run(&stop, &mut log);
    let state = engine.state();
    let kept = log.end(&state);
    outcome?;
    kept?;
    if !args.place.log_json {
        print(&status::summary(&state))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// User that the engine switches to once it listens; `None`: the current user.
fn user(args: &RexmitArgs) -> Option<&str> {
    match &args.place.user {
        Some(user) => Some(user),
        None => rustix::process::geteuid().is_root().then_some(UNPRIVILEGED),
    }
}

/// Directory that contains, or will contain, a file.
fn directory(path: &Path) -> PathBuf {
    // The target of a symbolic link is replaced, not the link.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
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
    // The kernel engine does not repeat its delay, so no upper bound applies.
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

/// Paths learned by an earlier run; a missing file is not an error.
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
