//! Columns of scalar results. Scenarios of one grid may have different applications.

use crate::error::SweepError;
use gentle_experiment::RunRecord;
use gentle_units::suggestion;

/// Names of columns in order of first use.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Vec<String>);

impl Metrics {
    /// Adds the names of a scenario's results.
    pub(crate) fn add(&mut self, names: &[String]) {
        for name in names {
            if !self.0.contains(name) {
                self.0.push(name.clone());
            }
        }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// Values of a run under all names added so far, given the values of its scenario in the order of `names`.
    pub(crate) fn row(&self, names: &[String], values: impl Iterator<Item = Option<f64>>) -> Vec<Option<f64>> {
        let mut row = vec![None; self.0.len()];
        for (name, value) in names.iter().zip(values) {
            if let Some(column) = self.0.iter().position(|known| known == name) {
                row[column] = value;
            }
        }
        row
    }

    /// An error unless `metric` is the name of a column.
    pub(crate) fn check(&self, metric: &str) -> Result<(), SweepError> {
        match self.0.iter().any(|known| known == metric) {
            true => Ok(()),
            false => Err(SweepError::Backend(format!(
                "metric: no scenario of the grid has '{metric}'{}; expected one of {}",
                suggestion(metric, self.0.iter().map(String::as_str)),
                self.0.join(", ")
            ))),
        }
    }
}

/// Whether a column can be that of an application: `voice.delay_s.p99`.
pub(crate) fn is_of_application(column: &str) -> bool {
    RunRecord::application_metric_names().any(|name| {
        let application = column.strip_suffix(name);
        application.is_some_and(|start| start.len() > 1 && start.ends_with('.'))
    })
}
