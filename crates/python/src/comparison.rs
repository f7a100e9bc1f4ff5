//! Comparisons of schemes in the simulator.

use crate::error::{failed, invalid, invalid_argument, read_back};
use crate::queue::{CustomQueue, WithQueues};
use crate::scenario::Scenario;
use crate::table::{Column, Table};
use crate::work::{Callbacks, interruptible_with};
use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use gentle_aqm::Spec;
use gentle_experiment::{Backend, Observer, Part, Run, RunRecord, Settings, results};
use gentle_report::Origin;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Results of a comparison.
#[pyclass(module = "gentle._core", frozen)]
pub(crate) struct Comparison(pub(crate) results::Comparison);

/// Completed fractions of runs, by number of the comparison, scheme and seed.
#[derive(Default)]
pub(crate) struct Fractions(Mutex<BTreeMap<(usize, usize, usize), f64>>);

impl Fractions {
    /// The completed fraction of all, `runs` in number.
    pub(crate) fn of(&self, runs: usize) -> f64 {
        let of_runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        of_runs.values().sum::<f64>() / runs.max(1) as f64
    }
}

/// Observer of one of several comparisons.
struct Observed<'a> {
    fractions: &'a Fractions,
    comparison: usize,
}

impl Observer for Observed<'_> {
    fn started(&self, _: Run) {}
    fn reached(&self, run: Run, fraction: f64) {
        let of_runs = self.fractions.0.lock();
        of_runs
            .unwrap_or_else(PoisonError::into_inner)
            .insert((self.comparison, run.scheme, run.seed), fraction.clamp(0.0, 1.0));
    }
    fn finished(&self, run: Run) {
        self.reached(run, 1.0);
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
    /// Parts of the traffic that also run alone, for the harm that the others do to them.
    parts: Vec<Part>,
}

impl Plan {
    /// Parses arguments.
    pub(crate) fn new(
        scenario: &Scenario,
        schemes: Vec<Asked>,
        seeds: Vec<u64>,
        bins: Vec<u64>,
        reference: Option<&str>,
        harm: bool,
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
            return Err(invalid("bins: expected sizes in segments of 1 or more, ascending"));
        }
        let reference = reference.map(|label| known(&specs, label)).transpose()?;
        let settings = Settings { seeds, bins };
        let parts = match harm {
            true => scenario.0.parts(),
            false => Vec::new(),
        };
        Ok(Plan { specs, queues, settings, reference, parts })
    }

    /// Number of runs, those of parts included.
    pub(crate) fn runs(&self) -> usize {
        self.specs.len() * self.settings.seeds.len() * (1 + self.parts.len())
    }

    /// Makes the runs on `backend`.
    pub(crate) fn run<B: Backend>(
        &self,
        backend: &B,
        scenario: &gentle_experiment::Scenario,
        fractions: &Fractions,
        stop: &AtomicBool,
    ) -> Result<Comparison, B::Error> {
        let compared = |scenario: &gentle_experiment::Scenario, comparison| {
            let observed = Observed { fractions, comparison };
            let (specs, settings) = (&self.specs, &self.settings);
            gentle_experiment::compare(backend, scenario, specs, settings, &observed, stop)
        };
        let mut results = compared(scenario, 0)?;
        for (part, comparison) in self.parts.iter().zip(1..) {
            let alone = compared(&scenario.alone(part), comparison)?;
            results.add_harm(part, &alone);
        }
        if let Some(reference) = &self.reference {
            results.set_reference(reference);
        }
        Ok(Comparison(results))
    }
}

/// Calls `work` with this number of threads, or one per core.
pub(crate) fn on_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
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
#[pyo3(signature = (scenario, schemes, seeds, bins, reference=None, harm=false, threads=None, progress=None))]
pub(crate) fn compare(
    py: Python<'_>,
    scenario: &Scenario,
    schemes: Vec<Asked>,
    seeds: Vec<u64>,
    bins: Vec<u64>,
    reference: Option<&str>,
    harm: bool,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    let plan = Plan::new(scenario, schemes, seeds, bins, reference, harm)?;
    let fractions = Fractions::default();
    let fraction = || fractions.of(plan.runs());
    let callbacks = Callbacks::default();
    let backend = WithQueues { queues: &plan.queues, callbacks: &callbacks };
    interruptible_with(py, progress, fraction, &callbacks, |stop| {
        on_threads(threads, || plan.run(&backend, &scenario.0, &fractions, stop))
    })??
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
        _ => Err(invalid(format!("reference: '{wanted}' is not among the schemes compared"))),
    }
}

/// A row of a table.
struct Row<'a, T> {
    result: &'a results::SchemeResult,
    part: T,
    /// Index of the seed.
    seed: usize,
}

impl<T> Row<'_, T> {
    /// The scalar result `name` of the seed.
    fn of_seed(&self, name: &str) -> Option<f64> {
        let series = self.result.by_seed.iter().find(|series| series.name == name)?;
        series.values.get(self.seed).copied().flatten()
    }
}

/// Rows of a table by scheme, part of its results, and seed.
struct Rows<'a, T> {
    comparison: &'a results::Comparison,
    rows: Vec<Row<'a, T>>,
}

impl Comparison {
    /// A row for each scheme, each of the `parts` of its results, and each seed.
    fn rows<'a, T: Copy>(&'a self, parts: impl Fn(&'a results::SchemeResult) -> Vec<T>) -> Rows<'a, T> {
        let mut rows = Vec::new();
        for result in &self.0.results {
            for part in parts(result) {
                let seeds = 0..self.0.seeds.len();
                rows.extend(seeds.map(|seed| Row { result, part, seed }));
            }
        }
        let comparison = &self.0;
        Rows { comparison, rows }
    }
}

impl<'a, T> Rows<'a, T> {
    fn texts<'s>(&'s self, name: &str, of: impl Fn(&'s Row<'a, T>) -> Option<&'s str>) -> Column {
        let texts: StringArray = self.rows.iter().map(of).collect();
        column(name, Arc::new(texts))
    }

    fn numbers(&self, name: &str, of: impl Fn(&Row<'a, T>) -> Option<f64>) -> Column {
        let numbers: Float64Array = self.rows.iter().map(of).collect();
        column(name, Arc::new(numbers))
    }

    fn of_schemes(&self) -> Vec<Column> {
        vec![
            self.texts("scheme", |row| Some(&row.result.label)),
            self.texts("scheme_name", |row| Some(&row.result.scheme)),
        ]
    }

    fn seeds(&self) -> Column {
        let seeds = self.rows.iter().map(|row| self.comparison.seeds[row.seed]);
        column("seed", Arc::new(seeds.collect::<UInt64Array>()))
    }
}

fn column(name: &str, values: ArrayRef) -> Column {
    let name = name.to_owned();
    Column { name, values }
}

#[pymethods]
impl Comparison {
    /// Reads results back from JSON.
    #[staticmethod]
    fn from_json(json: &str) -> PyResult<Comparison> {
        read_back("comparison", json).map(Comparison)
    }

    /// Results as JSON, as `gentle compare --json` prints them.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(failed)
    }

    /// A row per scheme and seed with all scalar results.
    fn runs(&self) -> PyResult<Table> {
        let rows = self.rows(|_| vec![()]);
        let mut columns = rows.of_schemes();
        columns.push(rows.seeds());
        let first = self.0.results.first();
        let names = first.map_or(&[][..], |result| &result.by_seed);
        columns.extend(names.iter().map(|series| rows.numbers(&series.name, |row| row.of_seed(&series.name))));
        Table::new(columns)
    }

    /// A row per scheme, application and seed with the scalar results of the application; empty without applications.
    fn applications(&self) -> PyResult<Table> {
        let rows = self.rows(|result| result.applications.iter().enumerate().collect());
        let mut columns = rows.of_schemes();
        columns.push(rows.texts("application", |row| Some(&row.part.1.application)));
        columns.push(rows.texts("kind", |row| Some(&row.part.1.kind)));
        columns.push(rows.seeds());
        columns.extend(
            RunRecord::application_metric_names().map(|metric| {
                rows.numbers(metric, |row| row.of_seed(&format!("applications.{}.{metric}", row.part.0)))
            }),
        );
        Table::new(columns)
    }

    /// A row per scheme, part of the traffic, number and seed; empty unless harm was asked for.
    fn harm(&self) -> PyResult<Table> {
        let rows = self.rows(|result| result.harm.iter().collect());
        let mut columns = rows.of_schemes();
        columns.push(rows.texts("part", |row| Some(&row.part.part)));
        columns.push(rows.texts("kind", |row| row.part.kind.as_deref()));
        columns.push(rows.texts("number", |row| Some(&row.part.number)));
        columns.push(rows.seeds());
        columns.push(rows.numbers("harm", |row| row.part.values.get(row.seed).copied().flatten()));
        Table::new(columns)
    }

    /// The table that `gentle compare` prints, `width` columns wide.
    #[pyo3(signature = (width=None))]
    fn text(&self, width: Option<usize>) -> String {
        gentle_report::compare::table(&self.0, width, false)
    }

    /// The page that `gentle compare --html` writes.
    fn html(&self) -> String {
        let origin = Origin { tool: "gentle.compare".to_owned(), command: None, date: Some(jiff::Timestamp::now()) };
        gentle_report::compare::html(&self.0, &origin)
    }
}
