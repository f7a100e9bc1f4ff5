//! Summary of a finished table.

use crate::error::SweepError;
use crate::row::FIXED;
use crate::table::{Table, Values};
use gentle_experiment::results::HEADLINE;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Metrics of a summary.
const METRICS: [&str; 4] = [HEADLINE, "response_time_s.mean", "queue_delay_s.mean", "loss.handshake"];

/// Extent and results of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Version of this JSON.
    pub version: u32,
    /// Version of gentle.
    pub gentle: String,
    /// True if runs are missing because the sweep was stopped.
    pub interrupted: bool,
    /// Points of the grid.
    pub points: u64,
    /// Columns of the axes.
    pub axes: Vec<String>,
    /// Runs in the finished table.
    pub runs: u64,
    /// Runs of these that the store had before.
    pub found: u64,
    /// Runs of these that were made.
    pub made: u64,
    /// How the backend differs from the scenarios, in sentences; empty in the simulator.
    pub assumptions: Vec<String>,
    /// Schemes in order of their labels.
    pub schemes: Vec<SchemeSummary>,
}

/// Results of the runs of a scheme, over all points and seeds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SchemeSummary {
    /// Label.
    pub scheme: String,
    /// Number of runs.
    pub runs: u64,
    /// Extremes and mean of metrics over the runs, by name.
    pub metrics: BTreeMap<String, Extent>,
}

/// Smallest and largest value and the mean of a metric over runs; `None` without an observation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Extent {
    /// Smallest value.
    pub min: Option<f64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

/// Sum of the values of a metric, with their extremes.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    n: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.min = if self.n == 0 { value } else { self.min.min(value) };
        self.max = if self.n == 0 { value } else { self.max.max(value) };
        self.n += 1;
        self.sum += value;
    }

    fn extent(&self) -> Extent {
        let some = |value| (self.n > 0).then_some(value);
        Extent { min: some(self.min), mean: some(self.sum / self.n as f64), max: some(self.max) }
    }
}

impl Summary {
    /// Summary of the parts of a finished table of so many points.
    ///
    /// # Errors
    /// A part is an error.
    pub fn of(
        points: usize,
        axes: &[(String, bool)],
        parts: impl Iterator<Item = Result<Table, SweepError>>,
    ) -> Result<Summary, SweepError> {
        debug_assert!(FIXED.contains(&"scheme"));
        let mut schemes: BTreeMap<String, (u64, [Sum; METRICS.len()])> = BTreeMap::new();
        for part in parts {
            let part = part?;
            let Some(Values::Text(labels)) = part.column("scheme") else {
                continue;
            };
            let columns = METRICS.map(|name| match part.column(name) {
                Some(Values::Number(values)) => Some(values),
                _ => None,
            });
            for (row, label) in labels.iter().enumerate() {
                let (runs, sums) = schemes.entry(label.clone().unwrap_or_default()).or_default();
                *runs += 1;
                for (sum, column) in sums.iter_mut().zip(columns) {
                    if let Some(value) = column.and_then(|values| values[row]) {
                        sum.add(value);
                    }
                }
            }
        }
        let runs = schemes.values().map(|(runs, _)| runs).sum();
        Ok(Summary {
            version: 1,
            gentle: env!("CARGO_PKG_VERSION").to_owned(),
            interrupted: false,
            points: points as u64,
            axes: axes.iter().map(|(path, _)| path.clone()).collect(),
            runs,
            found: 0,
            made: runs,
            assumptions: Vec::new(),
            schemes: schemes
                .into_iter()
                .map(|(scheme, (runs, sums))| SchemeSummary {
                    scheme,
                    runs,
                    metrics: METRICS.iter().zip(sums).map(|(name, sum)| ((*name).to_owned(), sum.extent())).collect(),
                })
                .collect(),
        })
    }
}
