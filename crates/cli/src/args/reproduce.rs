//! Options of `gentle reproduce`.

use super::MAX_THREADS;
use super::values::whole;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args as ClapArgs, ValueHint};
use gentle_papers::PAPERS;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gentle reproduce
  gentle reproduce spa-2018 fig5
  gentle reproduce all --quick --html pages
  gentle reproduce redfavor-2012 table2 --json | jq '.items[] | {id, ours, verdict}'
  gentle reproduce gsp-2015 --figures figures
  gentle reproduce spa-2018 assumption/fifo-limits
  gentle reproduce spa-2018 --coverage";

/// Name that stands for all papers.
pub(crate) const ALL: &str = "all";

#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// Paper to reproduce, or all [default: list papers and their figures]
    #[arg(value_name = "PAPER", value_parser = papers(), hide_possible_values = true)]
    pub(crate) paper: Option<String>,

    /// Figures, tables, claims or assumptions of the paper [default: everything]
    #[arg(value_name = "ITEM")]
    pub(crate) items: Vec<String>,

    /// Make fewer and shorter runs, and skip the assumptions: everything in a minute on two cores
    #[arg(long)]
    pub(crate) quick: bool,

    /// Also run on a Linux kernel in virtual time, for figures that support it (see gentle testbed build)
    #[cfg(target_os = "linux")]
    #[arg(long)]
    pub(crate) kernel: bool,

    /// List the statements of the paper and the items that cover each; run nothing
    #[arg(long, requires = "paper", conflicts_with_all = ["items", "quick", "html", "figures", "store"])]
    pub(crate) coverage: bool,

    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_THREADS))]
    pub(crate) threads: Option<u16>,

    /// Hide progress bars
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Print JSON instead of tables, one line per paper (fields: docs/reference/json.md)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Write a self-contained HTML page per paper into this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,

    /// Write each chart as SVG into this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(crate) figures: Option<PathBuf>,

    /// Directory that stores all simulated runs; stored runs are reused
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(crate) store: Option<PathBuf>,
}

fn papers() -> PossibleValuesParser {
    let names = PAPERS.iter().map(|paper| paper.name).chain([ALL]);
    PossibleValuesParser::new(names.map(PossibleValue::new))
}
