//! Runs of a command that simulates or emulates scenarios, and the outputs of their results.

use crate::args::ResultArgs;
use gentle_experiment::results::Comparison;
use gentle_runs::Plan;
use std::path::{Path, PathBuf};

/// Runs to make, and the outputs of their results.
pub(crate) struct Job<'a> {
    /// Name of the command, such as `gentle compare`, for pages.
    pub(crate) tool: &'static str,
    pub(crate) plan: Plan,
    /// Files of the scenario.
    pub(crate) inputs: Vec<PathBuf>,
    pub(crate) output: &'a ResultArgs,
    /// Path for the packets of the first seed.
    pub(crate) pcap: Option<&'a Path>,
    pub(crate) table: DrawTable,
}

/// Formats results for a terminal of the given width in columns, with or without colours.
pub(crate) type DrawTable = fn(&Comparison, Option<usize>, bool) -> String;
