//! The command `gentle probe`.

mod text;

use super::metrics_endpoint;
use crate::args::ProbeArgs;
use crate::interrupt;
use crate::output::{note, print, print_while_read, warn};
use crate::usage::Usage;
use anyhow::Context;
use gentle_probe::{Config, Connect, Event, Families, Metrics, ProbeError, ProbeLine, Prober, SummaryLine};
use gentle_probe::{MAX_UNDER_WAY, TargetSummary};
use gentle_units::foreign::visible_json;
use gentle_units::text::plural;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Maximum number of lines that wait for standard output; further ones are dropped and counted.
const WAITING: usize = 4096;

/// Descriptors needed besides those of the connects under way.
const OTHER_DESCRIPTORS: u64 = 64;

/// Messages of the probing thread to the thread that prints.
enum Line {
    Connect(Connect),
    Note(String),
}

/// Results of the probing thread.
struct Ended {
    summaries: Vec<TargetSummary>,
    /// Lines dropped because standard output was too slow.
    dropped: u64,
    outcome: Result<(), ProbeError>,
}

pub(crate) fn run(args: &ProbeArgs) -> anyhow::Result<ExitCode> {
    let prober = Prober::new(config(args)).map_err(|error| match error {
        ProbeError::System(..) => anyhow::Error::new(error),
        limit => Usage(limit.to_string()).into(),
    })?;
    let metrics = Arc::new(Metrics::new());
    if let Some(address) = args.listen {
        let served = Arc::clone(&metrics);
        metrics_endpoint::serve(address, move || served.text())?;
        // A failure of standard error cannot be reported.
        let _ = writeln!(io::stderr().lock(), "gentle probe: metrics at http://{address}/metrics");
    }
    allow_descriptors((args.targets.len() * 2 * MAX_UNDER_WAY) as u64);
    let stop = interrupt::flag()?;
    let ended = probe(args, prober, &stop, metrics)?;
    if ended.dropped > 0 {
        let lines = plural(ended.dropped, "line was", "lines were");
        warn(&format!("the output is incomplete: {lines} dropped because its reader was too slow"));
    }
    let is_reached = ended.summaries.iter().all(|summary| summary.connected > 0);
    match args.json {
        true => print(&json(&ProbeLine::Summary(SummaryLine::new(ended.summaries)))?)?,
        false => print(&text::summary(&ended.summaries))?,
    }
    ended.outcome?;
    Ok(match (args.count.is_some() && stop.load(Ordering::Relaxed), is_reached) {
        (true, _) => interrupt::exit_code(),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::FAILURE,
    })
}

fn config(args: &ProbeArgs) -> Config {
    let families = match (args.ipv4, args.ipv6) {
        (true, _) => Families::V4,
        (false, true) => Families::V6,
        (false, false) => Families::Both,
    };
    let ProbeArgs { targets, rate, count, timeout, .. } = args;
    Config { targets: targets.clone(), families, rate: *rate, count: *count, timeout: *timeout }
}

/// Probes in a separate thread, which does not wait for standard output, and prints what it reports.
fn probe(args: &ProbeArgs, mut prober: Prober, stop: &Arc<AtomicBool>, metrics: Arc<Metrics>) -> anyhow::Result<Ended> {
    let (lines, waiting) = sync_channel(WAITING);
    let stopped = Arc::clone(stop);
    let quiet = args.quiet;
    let probing = thread::Builder::new()
        .name("probe".to_owned())
        .spawn(move || {
            let mut dropped = 0;
            let outcome = prober.run(&stopped, &mut |event| {
                metrics.count(event);
                dropped += u64::from(!report(event, quiet, &lines));
            });
            Ended { summaries: prober.summaries(), dropped, outcome }
        })
        .context("a thread for the probes")?;
    for line in waiting {
        let is_read = match line {
            Line::Connect(connect) if args.json => print_while_read(&json(&ProbeLine::Connect(connect))?)?,
            Line::Connect(connect) => print_while_read(&text::line(&connect))?,
            Line::Note(text) => {
                note(&text);
                true
            }
        };
        if !is_read {
            stop.store(true, Ordering::Relaxed);
        }
    }
    match probing.join() {
        Ok(ended) => Ok(ended),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Sends a line to the thread that prints; returns whether there was room for it.
fn report(event: &Event<'_>, quiet: bool, lines: &SyncSender<Line>) -> bool {
    let line = match event {
        Event::Connect(connect) if !quiet => Line::Connect((*connect).clone()),
        Event::Moved { target, from, to } => {
            Line::Note(format!("{target} no longer has the address {}; using {}", from.ip(), to.ip()))
        }
        Event::Connect(_) | Event::Skipped { .. } => return true,
    };
    lines.try_send(line).is_ok()
}

fn json(line: &ProbeLine) -> anyhow::Result<String> {
    Ok(visible_json(&serde_json::to_string(line)?) + "\n")
}

/// Raises the soft limit of open descriptors for `connects` under way, as far as the hard limit permits. Connects that
/// exceed it fail with an error.
fn allow_descriptors(connects: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let needed = connects + OTHER_DESCRIPTORS;
    let wanted = maximum.map_or(needed, |maximum| needed.min(maximum));
    if current.is_some_and(|current| current < wanted) {
        // The limit stays as it is if the system refuses.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}
