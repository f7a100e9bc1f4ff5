//! Runs of a command that simulates or emulates scenarios, and the outputs of their results.

use crate::args::ResultArgs;
use gentle_aqm::Spec;
use gentle_experiment::Scenario;
use gentle_experiment::results::Comparison;
use std::path::{Path, PathBuf};

/// Runs to make, and the outputs of their results.
pub(crate) struct Job<'a> {
    /// Name of the command, such as `gentle compare`, for pages.
    pub(crate) tool: &'static str,
    pub(crate) scenario: Scenario,
    /// Files of the scenario.
    pub(crate) inputs: Vec<PathBuf>,
    pub(crate) schemes: Vec<Spec>,
    pub(crate) seeds: u32,
    pub(crate) first_seed: u64,
    /// Reference scheme, if it is not the first one.
    pub(crate) reference: Option<&'a Spec>,
    /// Whether each part of the traffic also runs alone, to show the harm to it.
    pub(crate) harm: bool,
    pub(crate) output: &'a ResultArgs,
    /// Path for the packets of the first seed.
    pub(crate) pcap: Option<&'a Path>,
    /// Directory for a record of each run.
    pub(crate) record: Option<&'a Path>,
    /// Whether the table explains what the scenario was inferred from.
    pub(crate) shows_assumptions: bool,
    pub(crate) table: DrawTable,
}

/// Formats results for a terminal of the given width in columns, with or without colours.
pub(crate) type DrawTable = fn(&Comparison, Option<usize>, bool) -> String;
