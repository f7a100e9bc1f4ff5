//! The command `gentle sweep`.

use super::runs;
use crate::args::SweepArgs;
use crate::files::FileClaims;
use crate::input::read_text;
use crate::interrupt;
use crate::output::{OutputFile, print, print_error, ruled_table, warn};
use crate::progress::Sweeping;
use crate::usage::Usage;
use anyhow::{Context, bail};
use gentle_sweep::{Extent, Folder, Grid, Outcome, Store, Summary, Sweep, SweepError};
use gentle_units::text;
use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Maximum size of a grid, bytes.
const MAX_GRID: usize = 64 << 20;

/// Maximum size of a file that a grid names, bytes: tens of millions of connections.
const MAX_INPUT: usize = 1 << 30;

pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    let (grid, inputs) = read(&args.grid)?;
    grid.warnings.iter().for_each(|warning| warn(warning));
    let mut claims = FileClaims::default();
    for path in &inputs {
        claims.reads(path)?;
    }
    let shown = claim_outputs(&mut claims, args)?;
    // The claims hold the files open.
    drop(claims);
    let store = Folder::open(&args.store)?;
    // Outputs are opened first, to fail before the work rather than after it.
    let csv = OutputFile::create_if(args.csv.as_deref())?;
    let parquet = OutputFile::create_if(args.parquet.as_deref())?;
    let stop = interrupt::flag()?;
    let threads = runs::threads(args.threads)?;
    let bar = Sweeping::new(args.quiet);
    let sweep = Sweep::new(grid);
    let outcome = threads.install(|| gentle_sweep::run(&sweep, &store, &bar, &stop));
    bar.clear();
    let outcome = outcome?;
    let summary = summary(&sweep, &store, &outcome)?;
    if shown {
        print(&match args.json {
            true => serde_json::to_string(&summary)? + "\n",
            false => table(&summary, &args.store),
        })?;
    }
    let get = |name: &str| store.get(name).map_err(io::Error::other);
    if let Some(mut file) = csv {
        gentle_sweep::csv(sweep.rows(&get), &mut file).with_context(|| file.name())?;
        file.commit()?;
    }
    if let Some(mut file) = parquet {
        gentle_sweep::parquet(sweep.rows(&get), &mut file).with_context(|| file.name())?;
        file.commit()?;
    }
    if outcome.interrupted {
        print_error(&format!(
            "stopped; {} are in {}: the same command goes on from there",
            text::plural(summary.runs, "run", "runs"),
            args.store.display()
        ));
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a grid; files that it names are relative to it. Returns the grid and the files read.
fn read(path: &Path) -> anyhow::Result<(Grid, Vec<PathBuf>)> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = RefCell::new(vec![path.to_owned()]);
    let beside = |file: &str| {
        let path = folder.join(file);
        let text = read_text(&path, MAX_INPUT);
        files.borrow_mut().push(path);
        text
    };
    let name = path.display().to_string();
    if path.is_dir() {
        bail!("{name}: is a directory; expected a grid (docs/sweep.md)");
    }
    let text = read_text(path, MAX_GRID).with_context(|| format!("{name}: cannot be read"))?;
    let grid = Grid::from_toml(&name, &text, &beside)?;
    Ok((grid, files.into_inner()))
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
        ..Summary::of(grid.len(), &grid.axes(), sweep.rows(&get))?
    })
}

/// Results by scheme for a terminal.
fn table(summary: &Summary, store: &Path) -> String {
    let head = [
        "scheme",
        "runs",
        "smallest connections",
        "all connections",
        "queue delay",
        "handshake loss",
    ];
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
    format!(
        "{}\n\n{} at {}: {} found in {}, {} made. Mean response times, mean queue delay and lost\nSYNs and SYN/ACKs: mean over all points and seeds (lowest to highest run). --csv and --parquet write every run.\n",
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
        Extent {
            min: Some(min),
            mean: Some(mean),
            max: Some(max),
        } => format!("{} ({} to {})", write(mean), write(min), write(max)),
        _ => "–".to_owned(),
    }
}
