//! Options of `gentle sweep` and `gentle testbed sweep`.

use super::MAX_THREADS;
use super::values::whole;
use clap::{Args as ClapArgs, ValueHint};
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  gentle sweep grid.toml --store results
  gentle sweep grid.toml --store results --csv table.csv --parquet table.parquet
  duckdb -c \"SELECT scheme, rate, avg(\\\"loss.syn\\\") FROM 'results/runs/*.parquet' GROUP BY ALL\"

A grid:
  traffic = \"real\"
  schemes = [\"pfifo limit=50\", \"fq_codel\", \"spa\"]
  seeds = 5

  [axes]
  duration = \"100s\"
  rate = { from = \"1mbit\", to = \"100mbit\", steps = 5, log = true }
  load = [\"70%\", \"90%\", \"110%\"]
  tcp.initial_rto = [\"1s\", \"3s\"]";

#[derive(Debug, ClapArgs)]
pub(crate) struct SweepArgs {
    /// Grid of scenarios, schemes and seeds (docs/reference/sweeps.md)
    #[arg(value_name = "GRID.toml", value_hint = ValueHint::FilePath)]
    pub(crate) grid: PathBuf,

    /// Directory of the results; stored runs are reused
    ///
    /// The same command resumes an interrupted sweep, and a changed grid runs only the new points. Several sweeps may
    /// write to one directory at once.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) store: PathBuf,

    /// Number of runs in parallel [default: one per core]
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_THREADS))]
    pub(crate) threads: Option<u16>,

    /// Hide the progress bar
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Print JSON instead of a table (fields: docs/reference/json.md)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Write the complete table as CSV: one row per run, in the order of the grid
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,

    /// Write the complete table as Parquet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) parquet: Option<PathBuf>,
}
