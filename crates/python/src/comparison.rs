//! Comparisons of schemes in the simulator.

use crate::error::{failed, invalid, invalid_argument, read_back};
use crate::queue::{CustomQueue, WithQueues};
use crate::scenario::Scenario;
use crate::store::PythonStore;
use crate::sweep::{Stop, testbed};
use crate::table::{Column, Table};
use crate::work::{Callbacks, interruptible_with};
use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use gentle_aqm::Spec;
use gentle_experiment::{Backend, Observer, Part, Run, RunRecord, Settings, results};
use gentle_report::Origin;
use gentle_runs::{Memory, Plan, Records, Store, Task, execute, missing};
use gentle_sim::Simulator;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
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

/// A scheme named in Python.
#[derive(FromPyObject)]
pub(crate) enum Asked {
    /// A scheme of gentle with its options, such as `codel target=20ms`.
    Text(String),
    /// A queue in Python.
    Custom(Py<CustomQueue>),
}

/// A comparison requested in Python.
pub(crate) struct Wanted {
    pub(crate) plan: Plan,
    /// The queues in Python among the schemes.
    pub(crate) queues: Vec<Py<CustomQueue>>,
    store: Option<PythonStore>,
}

impl Wanted {
    /// Parses arguments.
    pub(crate) fn new(
        scenario: &Scenario,
        schemes: Vec<Asked>,
        seeds: Vec<u64>,
        bins: Vec<u64>,
        reference: Option<&str>,
        harm: bool,
        store: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Wanted> {
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
        if let Some(queue) = queues.first()
            && store.is_some()
        {
            return Err(invalid(format!(
                "store: '{}' is a queue in Python, whose runs a store cannot identify; expected schemes of gentle, or \
                 no store",
                queue.get().spec
            )));
        }
        let reference = reference.map(|label| known(&specs, label)).transpose()?;
        let settings = Settings { seeds, bins };
        let plan = Plan { scenario: (*scenario.0).clone(), schemes: specs, settings, reference, harm };
        Ok(Wanted { plan, queues, store: store.map(PythonStore::new).transpose()? })
    }

    /// Makes the runs on `backend`.
    pub(crate) fn run<B: Backend>(
        &self,
        backend: &B,
        fractions: &Fractions,
        stop: &AtomicBool,
    ) -> Result<PyResult<Comparison>, B::Error> {
        let parts = self.plan.parts();
        let observer = |part: Option<&Part>| Observed {
            fractions,
            comparison: part.map_or(0, |part| 1 + parts.iter().take_while(|other| other.name != part.name).count()),
        };
        let records = self.store.as_ref().map(|store| Records::new(store));
        let made = execute(&self.plan, backend, records.as_ref(), observer, stop)?;
        let kept = records.map(Records::finish).transpose();
        Ok(kept.map(|_| Comparison(made.comparison)).map_err(failed))
    }
}

impl Wanted {
    /// Tasks for the runs that the store lacks.
    pub(crate) fn missing<B: Backend>(&self, backend: &B) -> Result<Vec<Vec<u8>>, B::Error> {
        let nothing = Memory::default();
        let store: &dyn Store = self.store.as_ref().map_or(&nothing, |store| store);
        let tasks = missing(&self.plan, backend, &Records::new(store))?;
        Ok(tasks.iter().map(|task| serde_json::to_vec(task).expect("tasks are text")).collect())
    }
}

/// Tasks for the runs of a comparison that a store lacks, of the testbed if there are `machines`.
#[pyfunction]
#[pyo3(signature = (scenario, schemes, seeds, bins, harm=false, store=None, machines=None))]
pub(crate) fn missing_runs<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    schemes: Vec<Asked>,
    seeds: Vec<u64>,
    bins: Vec<u64>,
    harm: bool,
    store: Option<&Bound<'_, PyAny>>,
    machines: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let queue = schemes.iter().find_map(|scheme| match scheme {
        Asked::Custom(queue) => Some(queue),
        Asked::Text(_) => None,
    });
    if let Some(queue) = queue {
        return Err(invalid(format!(
            "executor: '{}' is a queue in Python, which runs in this process only; expected schemes of gentle, or no executor",
            queue.get().spec
        )));
    }
    let wanted = Wanted::new(scenario, schemes, seeds, bins, None, harm, store)?;
    let tasks = match machines {
        None => {
            let Ok(tasks) = py.detach(|| wanted.missing(&Simulator));
            tasks
        }
        Some(machines) => {
            let testbed = testbed(machines)?;
            py.detach(|| wanted.missing(&testbed)).map_err(failed)?
        }
    };
    Ok(tasks.iter().map(|task| PyBytes::new(py, task)).collect())
}

/// Makes the run of a task: name and content of its record.
#[pyfunction]
#[pyo3(signature = (task, scenario, bins, stop=None, machines=None))]
pub(crate) fn make_run<'py>(
    py: Python<'py>,
    task: &[u8],
    scenario: &Scenario,
    bins: Vec<u64>,
    stop: Option<&Bound<'_, Stop>>,
    machines: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let task: Task = serde_json::from_slice(task).map_err(failed)?;
    let never = AtomicBool::new(false);
    let flag = stop.map_or(&never, |stop| stop.get().flag());
    let scenario = &*scenario.0;
    let made = match machines {
        None => py.detach(|| task.make(scenario, &bins, &Simulator, flag)),
        Some(machines) => {
            let testbed = testbed(machines)?;
            py.detach(|| task.make(scenario, &bins, &testbed, flag))
        }
    };
    let (name, content) = made.map_err(failed)?;
    Ok((name, PyBytes::new(py, &content)))
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
#[pyo3(signature = (scenario, schemes, seeds, bins, reference=None, harm=false, threads=None, store=None, progress=None))]
pub(crate) fn compare(
    py: Python<'_>,
    scenario: &Scenario,
    schemes: Vec<Asked>,
    seeds: Vec<u64>,
    bins: Vec<u64>,
    reference: Option<&str>,
    harm: bool,
    threads: Option<usize>,
    store: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    let wanted = Wanted::new(scenario, schemes, seeds, bins, reference, harm, store)?;
    let fractions = Fractions::default();
    let fraction = || fractions.of(wanted.plan.runs());
    let callbacks = Callbacks::default();
    let backend = WithQueues { queues: &wanted.queues, callbacks: &callbacks };
    interruptible_with(py, progress, fraction, &callbacks, |stop| {
        on_threads(threads, || wanted.run(&backend, &fractions, stop))
    })???
}

/// Label of the scheme `wanted` among `specs`: with its options, its name if it is the only one of that name, or the
/// name of a queue in Python.
fn known(specs: &[Spec], wanted: &str) -> PyResult<String> {
    if let Some(spec) = specs.iter().find(|spec| spec.to_string() == wanted) {
        return Ok(spec.to_string());
    }
    let spec: Spec = invalid_argument("reference", wanted.parse())?;
    invalid_argument("reference", gentle_runs::reference(specs, &spec))
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

    /// A row per scheme, part of the traffic, number and seed; empty unless harm was requested.
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
