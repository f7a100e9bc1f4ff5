//! The command `gentle sweep`, and the parts that `gentle testbed sweep` shares with it.

use super::runs;
use crate::args::SweepArgs;
use crate::files::FileClaims;
use crate::input::{read_named_text, read_text};
use crate::interrupt;
use crate::output::{OutputFile, note, print, print_error, ruled_table, warn};
use crate::progress::Sweeping;
use crate::usage::Usage;
use anyhow::{Context, bail};
use gentle_experiment::Backend;
use gentle_runs::{Folder, Store};
use gentle_sim::Simulator;
use gentle_sweep::{Extent, Grid, Outcome, Stores, Summary, Sweep, SweepError, connections_in, runs_in};
use gentle_units::foreign::visible_json;
use gentle_units::text;
use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Maximum size of a grid, bytes.
const MAX_GRID: usize = 64 << 20;

/// Maximum size of a file that a grid names, bytes: tens of millions of connections.
const MAX_INPUT: usize = 1 << 30;

pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    let stop = interrupt::flag()?;
    let read = Read::of(&args.grid)?;
    sweep(args, read, &Simulator, &stop)
}

/// Makes the missing runs of a grid on a backend, and writes the complete table.
pub(super) fn sweep<B: Backend>(
    args: &SweepArgs,
    read: Read,
    backend: &B,
    stop: &AtomicBool,
) -> anyhow::Result<ExitCode>
where
    B::Error: std::fmt::Display,
{
    let mut claims = FileClaims::default();
    for path in &read.files {
        claims.reads(path)?;
    }
    let shown = claim_outputs(&mut claims, args)?;
    // The claims hold the files open.
    drop(claims);
    let store = runs_in(&args.store)?;
    let connections = read.grid.connections.then(|| connections_in(&args.store)).transpose()?;
    let stores = Stores { runs: &store, connections: connections.as_ref().map(|folder| folder as &dyn Store) };
    // Outputs are opened first, to fail before the work rather than after it.
    let csv = OutputFile::create_if(args.csv.as_deref())?;
    let parquet = OutputFile::create_if(args.parquet.as_deref())?;
    let threads = runs::threads(args.threads)?;
    let sweep = Sweep::new(read.grid, backend)?;
    let bar = Sweeping::new(args.quiet);
    let outcome = threads.install(|| gentle_sweep::run(&sweep, backend, stores, &bar, stop));
    bar.clear();
    let outcome = outcome?;
    if sweep.foreign() > 0 {
        note(&format!(
            "{}: ignored {} made by another build of gentle",
            args.store.display(),
            text::plural(sweep.foreign(), "run", "runs")
        ));
    }
    let summary = summary(&sweep, &store, &outcome)?;
    if shown {
        print(&match args.json {
            true => visible_json(&serde_json::to_string(&summary)?) + "\n",
            false => table(&summary, &args.store),
        })?;
    }
    let get = |name: &str| store.get(name).map_err(io::Error::other);
    let rows = || sweep.rows(&get).map(|part| part.map_err(|error| error.within(&store)));
    if let Some(mut file) = csv {
        gentle_sweep::csv(rows(), &mut file).with_context(|| file.name())?;
        file.commit()?;
    }
    if let Some(mut file) = parquet {
        gentle_sweep::parquet(rows(), &mut file).with_context(|| file.name())?;
        file.commit()?;
    }
    if outcome.interrupted {
        print_error(&format!(
            "interrupted: {} are in {}; run the same command again to resume",
            text::plural(summary.runs, "run", "runs"),
            args.store.display()
        ));
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::SUCCESS)
}

/// A grid with its files.
pub(super) struct Read {
    pub(super) grid: Grid,
    /// The grid file and the files that it names.
    files: Vec<PathBuf>,
}

impl Read {
    /// Reads a grid; files that it names are relative to it.
    pub(super) fn of(path: &Path) -> anyhow::Result<Read> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let files = RefCell::new(vec![path.to_owned()]);
        let beside = |file: &str| {
            let path = folder.join(file);
            let text = read_named_text(&path, MAX_INPUT);
            files.borrow_mut().push(path);
            text
        };
        let name = path.display().to_string();
        if path.is_dir() {
            bail!("{name}: is a directory; expected a grid (docs/reference/sweeps.md)");
        }
        let text = read_text(path, MAX_GRID).with_context(|| format!("{name}: cannot be read"))?;
        let grid = Grid::from_toml(&name, &text, &beside)?;
        grid.warnings.iter().for_each(|warning| warn(warning));
        let files = files.into_inner();
        Ok(Read { grid, files })
    }
}

/// Claims the outputs; true if the table or the JSON is printed.
fn claim_outputs(claims: &mut FileClaims, args: &SweepArgs) -> Result<bool, Usage> {
    if args.json {
        claims.prints("--json")?;
    }
    if let Some(path) = &args.csv {
        claims.writes("--csv", path)?;
    }
    if let Some(path) = &args.parquet {
        claims.writes_binary("--parquet", path)?;
    }
    claims.redirected_stdout()?;
    Ok(args.json || !claims.stdout_is_taken())
}

fn summary(sweep: &Sweep, store: &Folder, outcome: &Outcome) -> Result<Summary, SweepError> {
    let get = |name: &str| store.get(name).map_err(io::Error::other);
    let grid = sweep.grid();
    Ok(Summary {
        interrupted: outcome.interrupted,
        found: outcome.found,
        made: outcome.made,
        assumptions: sweep.assumptions().to_vec(),
        ..Summary::of(grid.len(), &grid.axes(), sweep.rows(&get)).map_err(|error| error.within(store))?
    })
}

/// Results by scheme for a terminal.
fn table(summary: &Summary, store: &Path) -> String {
    let head = ["scheme", "runs", "smallest connections", "all connections", "queue delay", "handshake loss"];
    let mut table = ruled_table(head, 1..6);
    for scheme in &summary.schemes {
        let metric = |name: &str, write: fn(f64) -> String| {
            let extent = scheme.metrics.get(name).copied().unwrap_or_default();
            written(extent, write)
        };
        table.add_row([
            scheme.scheme.clone(),
            text::count(scheme.runs),
            metric(gentle_experiment::results::HEADLINE, text::time),
            metric("response_time_s.mean", text::time),
            metric("queue_delay_s.mean", text::time),
            metric("loss.handshake", text::percent),
        ]);
    }
    let assumptions = match summary.assumptions.is_empty() {
        true => String::new(),
        false => format!("\n{}\n", summary.assumptions.join("\n")),
    };
    format!(
        "{}\n\n{} at {}: {} found in {}, {} made. Mean response times, mean queue delay and lost\nSYNs and SYN/ACKs: \
         mean over all points and seeds (lowest to highest run). --csv and --parquet write every run.\n{assumptions}",
        table.trim_fmt(),
        text::plural(summary.runs, "run", "runs"),
        text::plural(summary.points, "point", "points"),
        text::count(summary.found),
        store.display(),
        text::count(summary.made),
    )
}

fn written(extent: Extent, write: fn(f64) -> String) -> String {
    match extent {
        Extent { min: Some(min), mean: Some(mean), max: Some(max) } => {
            format!("{} ({} to {})", write(mean), write(min), write(max))
        }
        _ => "–".to_owned(),
    }
}
