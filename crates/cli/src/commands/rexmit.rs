//! The command `gentle rexmit`.

mod kernel;
mod log;
mod settings;
mod status;

use crate::args::{DelayArgs, HandshakeArgs, RexmitArgs, RexmitCommand, RexmitWireArgs};
use crate::files::{FileClaims, is_stdout};
use crate::input::read_text_from;
use crate::interrupt;
use crate::output::{print, warn};
use crate::usage::Usage;
use anyhow::Context;
use gentle_rexmit::wire::{self, Account, Confinement, MAX_PORTS};
use gentle_rexmit::{Config, PathRecord, Selection, Timing, parse_learned};
use log::Log;
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Longest file of learned paths, bytes. One of 16,384 paths ([`Config::paths`]) has less than 4 MB.
const MAX_LEARNED: usize = 8 << 20;

/// Unprivileged user that exists on every system. Other services may run as this user too, so the engine owns no
/// important files except `--learned` and `--metrics`.
const UNPRIVILEGED: &str = "nobody";

pub(crate) fn run(args: &RexmitArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => watch(&args.wire),
        Some(RexmitCommand::Wire(args)) => watch(args),
        Some(RexmitCommand::Kernel(command)) => kernel::run(command),
        Some(RexmitCommand::Status(args)) => status::run(args),
    }
}

/// Checks that the two output files are distinct regular files: both are rewritten while others may read them. A link
/// could lead out of the directories to which the engine confines itself.
fn check_files(args: &RexmitWireArgs) -> Result<(), Usage> {
    let mut claims = FileClaims::default();
    if args.place.log_json {
        claims.prints("--log-json")?;
    }
    if let Some(settings) = &args.limits.settings {
        claims.reads(settings)?;
    }
    let files = [("--learned", args.delay.learned.as_deref()), ("--metrics", args.place.metrics.as_deref())];
    for (option, path) in files {
        let Some(path) = path else { continue };
        if is_stdout(path) {
            return Err(Usage(format!("{option} is rewritten periodically; name a file, not standard output")));
        }
        if path.is_symlink() {
            let name = path.display();
            return Err(Usage(format!(
                "{option}: {name} is a symbolic link, which the engine does not follow; name the file itself"
            )));
        }
        claims.writes(option, path)?;
    }
    claims.redirected_stdout()
}

fn watch(args: &RexmitWireArgs) -> anyhow::Result<ExitCode> {
    check_files(args)?;
    let config = config(args)?;
    let interface = match &args.place.interface {
        Some(interface) => interface.clone(),
        None => wire::default_route_interface()?,
    };
    let seed = getrandom::u64().context("random numbers of the system")?;
    let user = user(args);
    let account = user.map(Account::named).transpose()?;
    let files = [&args.delay.learned, &args.place.metrics];
    let confinement =
        Confinement { account, directories: files.into_iter().flatten().map(|path| directory(path)).collect() };
    let run_dir = &args.place.run_dir;
    let mut engine = wire::Engine::open(&interface, config, run_dir, seed, confinement)?;
    // The file may belong to another user, so it is read without privileges.
    engine.restore(learned(args.delay.learned.as_deref())?);
    // Threads started from here on are confined, too.
    let stop = interrupt::flag()?;
    let mut log = Log::start(args, user)?;
    if let Some(bytes) = engine.reduced_receive_buffer()? {
        warn(&format!(
            "the socket's receive buffer holds only {} kB; CAP_NET_ADMIN or a larger net.core.rmem_max allows more",
            bytes / 1000
        ));
    }
    let confined = engine.confined();
    if !confined.files {
        warn(
            "this kernel has no Landlock, or it is disabled, so the engine can reach all files that its user can; boot \
             with landlock in the list lsm= (Linux 5.13 or later)",
        );
    }
    if !confined.calls {
        warn(
            "this system has no seccomp filters, so the engine can make any system call; use a kernel with \
             CONFIG_SECCOMP_FILTER",
        );
    }
    log.started(&interface);
    let outcome = engine.run(&stop, &mut log);
    let state = engine.status();
    let kept = log.end(&state);
    outcome?;
    kept?;
    if !args.place.log_json {
        print(&status::summary(&state))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// User that the engine switches to once its socket is open; `None`: it keeps the current one.
fn user(args: &RexmitWireArgs) -> Option<&str> {
    match &args.place.user {
        Some(user) => Some(user),
        None => rustix::process::geteuid().is_root().then_some(UNPRIVILEGED),
    }
}

/// Directory that contains, or will contain, a file.
fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn config(args: &RexmitWireArgs) -> anyhow::Result<Config> {
    let limits = &args.limits;
    if args.handshakes.ports.len() > MAX_PORTS {
        let usage = format!(
            "at most {MAX_PORTS} ports or ranges can be given; merge them into ranges, or give none for all ports"
        );
        return Err(Usage(usage).into());
    }
    let selection = selection(&args.handshakes);
    let copies = limits.copies.unwrap_or(Config::new(Selection::default()).copies);
    let mut config = Config {
        timing: wire_timing(&args.delay)?,
        copies,
        with_data: args.with_data,
        dry_run: limits.dry_run,
        ..Config::new(selection)
    };
    if let Some(path) = &limits.settings {
        settings::apply(path, &mut config)?;
    }
    Ok(config)
}

fn selection(args: &HandshakeArgs) -> Selection {
    Selection {
        client: args.client,
        server: args.server,
        ports: args.ports.clone(),
        only: args.only.clone(),
        except: args.except.clone(),
    }
}

fn wire_timing(args: &DelayArgs) -> Result<Timing, Usage> {
    if args.delay.is_some() && args.min.is_some() && !args.edge {
        return Err(Usage(
            "--min bounds learned delays; with --delay it has an effect only together with --edge".to_owned(),
        ));
    }
    let timing = timing(args)?;
    if let Some(delay) = args.delay
        && delay > timing.max
    {
        let max = timing.max;
        return Err(Usage(format!("--delay {delay} is more than --max {max}")));
    }
    Ok(timing)
}

/// The delays of both engines, with bounds that do not contradict each other.
fn timing(args: &DelayArgs) -> Result<Timing, Usage> {
    let kind = args.delay.map_or(Timing::LEARNED, Timing::fixed);
    let timing = Timing {
        initial: args.initial.unwrap_or(Timing::LEARNED.initial),
        min: args.min.unwrap_or(Timing::LEARNED.min),
        max: args.max.unwrap_or(Timing::LEARNED.max),
        edge: args.edge,
        ..kind
    };
    let (min, max) = (("--min", timing.min), ("--max", timing.max));
    let mut bounds = vec![(min, max)];
    if let Some(initial) = args.initial {
        let initial = ("--initial", initial);
        bounds.extend([(initial, max), (min, initial)]);
    }
    for ((low, least), (high, most)) in bounds {
        if least > most {
            return Err(Usage(format!("{low} {least} is more than {high} {most}")));
        }
    }
    Ok(timing)
}

/// Paths learned by an earlier run; a missing file is not an error. The file may be in a directory of another user: no link is
/// followed, and nothing but a regular file of limited length is read.
fn learned(path: Option<&Path>) -> anyhow::Result<Vec<PathRecord>> {
    let Some(path) = path else {
        return Ok(Vec::new());
    };
    let text = || -> io::Result<String> {
        if path.is_symlink() {
            let link = "it is a symbolic link, which is not followed; name the file itself";
            return Err(io::Error::other(link));
        }
        // A pipe in its place must not block.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        read_text_from(file, MAX_LEARNED)
    };
    match text() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        text => Ok(text
            .map_err(anyhow::Error::from)
            .and_then(|text| Ok(parse_learned(&text)?))
            .with_context(|| path.display().to_string())?),
    }
}
