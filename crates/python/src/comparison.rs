//! Comparisons of schemes in the simulator.

use crate::error::{failed, invalid, invalid_argument};
use crate::queue::{CustomQueue, WithQueues};
use crate::scenario::Scenario;
use crate::table::{Column, Table};
use crate::work::interruptible;
use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use gentle_aqm::Spec;
use gentle_experiment::{Observer, Run, RunRecord, Settings, results};
use gentle_report::Origin;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Results of a comparison.
#[pyclass(module = "gentle._core", frozen)]
pub(crate) struct Comparison(pub(crate) results::Comparison);

/// Completed fractions of runs.
#[derive(Default)]
pub(crate) struct Fractions(Mutex<BTreeMap<(usize, usize), f64>>);

impl Fractions {
    fn set(&self, run: Run, fraction: f64) {
        let mut of_runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        of_runs.insert((run.scheme, run.seed), fraction);
    }

    /// The completed fraction of all, `runs` in number.
    pub(crate) fn of(&self, runs: usize) -> f64 {
        let of_runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        of_runs.values().sum::<f64>() / runs.max(1) as f64
    }
}

impl Observer for Fractions {
    fn started(&self, _: Run) {}
    fn reached(&self, run: Run, fraction: f64) {
        self.set(run, fraction.clamp(0.0, 1.0));
    }
    fn finished(&self, run: Run) {
        self.set(run, 1.0);
    }
}

/// A scheme as Python names it.
#[derive(FromPyObject)]
pub(crate) enum Asked {
    /// A scheme of gentle with its options, such as `codel target=20ms`.
    Text(String),
    /// A queue in Python.
    Custom(Py<CustomQueue>),
}

/// Schemes, seeds and size ranges of a comparison.
pub(crate) struct Plan {
    pub(crate) specs: Vec<Spec>,
    /// The queues in Python among the schemes.
    pub(crate) queues: Vec<Py<CustomQueue>>,
    pub(crate) settings: Settings,
    /// Label of the scheme that the others are compared with.
    reference: Option<String>,
}

impl Plan {
    /// Parses arguments.
    pub(crate) fn new(
        scenario: &Scenario,
        schemes: Vec<Asked>,
        seeds: Vec<u64>,
        bins: Vec<u64>,
        reference: Option<&str>,
    ) -> PyResult<Plan> {
        let mut specs = Vec::new();
        let mut queues: Vec<Py<CustomQueue>> = Vec::new();
        for scheme in schemes {
            match scheme {
                Asked::Text(text) => specs.push(invalid_argument(&text, text.parse())?),
                Asked::Custom(queue) => {
                    let spec = queue.get().spec.clone();
                    if specs.contains(&spec) {
                        return Err(invalid(format!(
                            "two queues in Python are named '{spec}'; expected different names"
                        )));
                    }
                    specs.push(spec);
                    queues.push(queue);
                }
            }
        }
        if specs.is_empty() {
            specs = scenario.0.schemes_to_compare();
        }
        if seeds.is_empty() {
            return Err(invalid("seeds: expected one or more"));
        }
        if !bins.is_sorted_by(|a, b| a < b) || bins.first() == Some(&0) {
            return Err(invalid(
                "bins: expected sizes in segments of 1 or more, ascending",
            ));
        }
        let reference = reference.map(|label| known(&specs, label)).transpose()?;
        let settings = Settings { seeds, bins };
        Ok(Plan {
            specs,
            queues,
            settings,
            reference,
        })
    }

    pub(crate) fn runs(&self) -> usize {
        self.specs.len() * self.settings.seeds.len()
    }

    /// The results as Python gets them.
    pub(crate) fn results(&self, mut comparison: results::Comparison) -> Comparison {
        if let Some(reference) = &self.reference {
            comparison.set_reference(reference);
        }
        Comparison(comparison)
    }
}

/// Calls `work` with this number of threads, or one per core.
pub(crate) fn on_threads<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    match threads {
        Some(0) => Err(invalid("threads: expected one or more")),
        Some(number) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(number);
            Ok(pool.build().map_err(failed)?.install(work))
        }
        None => Ok(work()),
    }
}

/// Runs a scenario under each scheme with each seed.
#[pyfunction]
#[pyo3(signature = (scenario, schemes, seeds, bins, reference=None, threads=None, progress=None))]
pub(crate) fn compare(
    py: Python<'_>,
    scenario: &Scenario,
    schemes: Vec<Asked>,
    seeds: Vec<u64>,
    bins: Vec<u64>,
    reference: Option<&str>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    let plan = Plan::new(scenario, schemes, seeds, bins, reference)?;
    let fractions = Fractions::default();
    let fraction = || fractions.of(plan.runs());
    let backend = WithQueues(&plan.queues);
    let comparison = interruptible(py, progress, fraction, |stop| {
        on_threads(threads, || {
            gentle_experiment::compare(
                &backend,
                &scenario.0,
                &plan.specs,
                &plan.settings,
                &fractions,
                stop,
            )
        })
    })???;
    Ok(plan.results(comparison))
}

/// Label of the scheme `wanted` among `specs`: with its options, or its name if it is the only one of that name.
fn known(specs: &[Spec], wanted: &str) -> PyResult<String> {
    if let Some(spec) = specs.iter().find(|spec| spec.to_string() == wanted) {
        return Ok(spec.to_string());
    }
    let spec: Spec = invalid_argument("reference", wanted.parse())?;
    if specs.contains(&spec) {
        return Ok(spec.to_string());
    }
    let mut named = specs.iter().filter(|known| known.scheme().name == wanted);
    match (named.next(), named.next()) {
        (Some(known), None) => Ok(known.to_string()),
        _ => Err(invalid(format!(
            "reference: '{wanted}' is not among the schemes compared"
        ))),
    }
}

#[pymethods]
impl Comparison {
    /// Results as JSON, as `gentle compare --json` prints them.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(failed)
    }

    /// A row per scheme and seed with all scalar results.
    fn runs(&self) -> PyResult<Table> {
        let seeds = self.0.seeds.len();
        let of_results = |label: fn(&results::SchemeResult) -> &String| {
            let labels = self.0.results.iter();
            let labels =
                labels.flat_map(|result| std::iter::repeat_n(label(result).as_str(), seeds));
            Arc::new(labels.map(Some).collect::<StringArray>()) as ArrayRef
        };
        let seed: UInt64Array = (self.0.results.iter())
            .flat_map(|_| self.0.seeds.iter().copied())
            .collect();
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            values,
        };
        let mut columns = vec![
            column("scheme", of_results(|result| &result.label)),
            column("scheme_name", of_results(|result| &result.scheme)),
            column("seed", Arc::new(seed)),
        ];
        let names = self
            .0
            .results
            .first()
            .map_or(&[][..], |result| &result.by_seed);
        for (index, series) in names.iter().enumerate() {
            let results = self.0.results.iter();
            let values = results.flat_map(|result| result.by_seed[index].values.iter().copied());
            let values: Float64Array = values.collect();
            columns.push(column(&series.name, Arc::new(values)));
        }
        Table::new(columns)
    }

    /// A row per scheme, application and seed with the scalar results of the application; empty without applications.
    fn applications(&self) -> PyResult<Table> {
        struct Row<'a> {
            result: &'a results::SchemeResult,
            application: &'a results::ApplicationResult,
            index: usize,
            seed: usize,
        }
        let mut rows = Vec::new();
        for result in &self.0.results {
            for (index, application) in result.applications.iter().enumerate() {
                let seeds = 0..self.0.seeds.len();
                rows.extend(seeds.map(|seed| Row {
                    result,
                    application,
                    index,
                    seed,
                }));
            }
        }
        let text = |of: &dyn Fn(&Row<'_>) -> String| {
            Arc::new(
                rows.iter()
                    .map(|row| Some(of(row)))
                    .collect::<StringArray>(),
            ) as ArrayRef
        };
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            values,
        };
        let seed: UInt64Array = rows.iter().map(|row| self.0.seeds[row.seed]).collect();
        let mut columns = vec![
            column("scheme", text(&|row| row.result.label.clone())),
            column("scheme_name", text(&|row| row.result.scheme.clone())),
            column(
                "application",
                text(&|row| row.application.application.clone()),
            ),
            column("kind", text(&|row| row.application.kind.clone())),
            column("seed", Arc::new(seed)),
        ];
        for metric in RunRecord::application_metric_names() {
            let values: Float64Array = rows
                .iter()
                .map(|row| {
                    let name = format!("applications.{}.{metric}", row.index);
                    let series = row
                        .result
                        .by_seed
                        .iter()
                        .find(|series| series.name == name)?;
                    series.values.get(row.seed).copied().flatten()
                })
                .collect();
            columns.push(column(metric, Arc::new(values)));
        }
        Table::new(columns)
    }

    /// The table that `gentle compare` prints, `width` columns wide.
    #[pyo3(signature = (width=None))]
    fn text(&self, width: Option<usize>) -> String {
        gentle_report::compare::table(&self.0, width, false)
    }

    /// The page that `gentle compare --html` writes.
    fn html(&self) -> String {
        let origin = Origin {
            tool: "gentle.compare".to_owned(),
            command: None,
            date: Some(jiff::Timestamp::now()),
        };
        gentle_report::compare::html(&self.0, &origin)
    }
}
