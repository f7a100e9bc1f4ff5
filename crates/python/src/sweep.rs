//! Sweeps: batches of runs, and the table of their results.

use crate::error::{failed, invalid};
use crate::table::{Column, Table};
use crate::work::interruptible;
use arrow_array::{ArrayRef, Float64Array, StringArray, UInt32Array, UInt64Array};
use gentle_experiment::ScenarioError;
use gentle_experiment::results::Better;
use gentle_sim::Simulator;
use gentle_sweep::{Batch, Batches, Grid, Inputs, Results, Sweep, SweepError, Values};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A grid, its runs in a store, and the missing batches.
#[pyclass(module = "gentle._core", frozen)]
pub(crate) struct SweepPlan {
    sweep: Sweep,
    batches: Mutex<Option<Batches>>,
    /// True if the grid was a file, whose lines messages name.
    is_file: bool,
    /// Name, text and folder of the grid.
    source: (String, String, PathBuf),
    machines: Option<Py<PyAny>>,
}

/// Flag that ends work under way.
#[pyclass(module = "gentle._core", frozen)]
#[derive(Default)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop::default()
    }

    /// Ends the work that has this flag.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A mistake in the grid is the caller's; anything else is a failure.
fn raised(error: SweepError, is_file: bool) -> PyErr {
    match error {
        SweepError::Grid(error) => mistaken(error, is_file),
        other => failed(other),
    }
}

fn mistaken(error: ScenarioError, is_file: bool) -> PyErr {
    invalid(match is_file {
        true => error,
        false => ScenarioError { place: None, ..error },
    })
}

/// Reads the text of a grid, of which lines are named if it is a file.
fn plan(
    py: Python<'_>,
    file: &str,
    text: &str,
    folder: Option<PathBuf>,
    machines: Option<&Bound<'_, PyAny>>,
    is_file: bool,
) -> PyResult<SweepPlan> {
    let folder = folder.unwrap_or_default();
    let source = (file.to_owned(), text.to_owned(), folder.clone());
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let grid = py.detach(|| Grid::from_toml(file, text, &read));
    let grid = grid.map_err(|error| mistaken(error, is_file))?;
    let sweep = match machines {
        None => py.detach(|| Sweep::new(grid, &Simulator)),
        Some(machines) => {
            let testbed = testbed(machines)?;
            py.detach(|| Sweep::new(grid, &testbed))
        }
    };
    Ok(SweepPlan {
        sweep: sweep.map_err(|error| raised(error, is_file))?,
        batches: Mutex::new(None),
        is_file,
        source,
        machines: machines.map(|machines| machines.clone().unbind()),
    })
}

/// The testbed with these machines.
#[cfg(target_os = "linux")]
pub(crate) fn testbed(machines: &Bound<'_, PyAny>) -> PyResult<gentle_testbed::runs::Testbed> {
    let settings: crate::testbed::Machines = machines.extract()?;
    interruptible(machines.py(), None, || 0.0, |stop| settings.testbed(None, stop))?
}

/// Error: other systems have no testbed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn testbed(_: &Bound<'_, PyAny>) -> PyResult<Simulator> {
    Err(failed("the testbed needs Linux"))
}

#[pymethods]
impl SweepPlan {
    /// Reads a grid (TOML). `file` is its name in messages; files that it names are relative to `folder`. With `machines`,
    /// the runs are on the testbed.
    #[staticmethod]
    #[pyo3(signature = (file, text, folder=None, machines=None))]
    fn from_toml(
        py: Python<'_>,
        file: &str,
        text: &str,
        folder: Option<PathBuf>,
        machines: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SweepPlan> {
        plan(py, file, text, folder, machines, true)
    }

    /// Reads a grid from the JSON of a dictionary with the keys of a grid file.
    #[staticmethod]
    #[pyo3(signature = (file, json, folder=None, machines=None))]
    fn from_json(
        py: Python<'_>,
        file: &str,
        json: &str,
        folder: Option<PathBuf>,
        machines: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SweepPlan> {
        let value: serde_json::Value = serde_json::from_str(json).map_err(invalid)?;
        let text = toml::to_string(&value).map_err(invalid)?;
        plan(py, file, &text, folder, machines, false)
    }

    /// Arguments with which [`SweepPlan::restored`] makes the same plan, without results.
    fn source(&self, py: Python<'_>) -> (String, String, PathBuf, Option<Py<PyAny>>, bool) {
        let (file, text, folder) = self.source.clone();
        let machines = self.machines.as_ref();
        let machines = machines.map(|machines| machines.clone_ref(py));
        (file, text, folder, machines, self.is_file)
    }

    /// Reads a grid again.
    #[staticmethod]
    fn restored(
        py: Python<'_>,
        file: &str,
        text: &str,
        folder: PathBuf,
        machines: Option<&Bound<'_, PyAny>>,
        is_file: bool,
    ) -> PyResult<SweepPlan> {
        plan(py, file, text, Some(folder), machines, is_file)
    }

    /// Adds the results in a file of the store.
    fn add(&self, py: Python<'_>, name: &str, content: &[u8]) -> PyResult<usize> {
        let content = content.to_vec();
        py.detach(|| self.sweep.add(name, content)).map_err(|error| raised(error, self.is_file))
    }

    /// Number of runs in the store made by other code, which are ignored.
    fn foreign(&self) -> u64 {
        self.sweep.foreign()
    }

    /// Points, runs, missing runs, and the estimated seconds of computing of these.
    fn survey(&self, py: Python<'_>) -> PyResult<(usize, u64, u64, f64)> {
        let survey = py.detach(|| self.sweep.survey()).map_err(|error| raised(error, self.is_file))?;
        Ok((survey.points, survey.runs, survey.missing, survey.seconds))
    }

    /// Begins a round of batches for the missing runs, given their estimated seconds and the number of workers.
    fn begin(&self, seconds: f64, workers: usize) {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        *batches = Some(self.sweep.batches(seconds, workers));
    }

    /// Name of the file of results, content and number of runs of the next batch of the round; `None` at its end.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Sent<'py>>> {
        let next = py.detach(|| {
            let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
            match batches.as_mut() {
                None => Ok(None),
                Some(batches) => batches.next(&self.sweep),
            }
        });
        Ok(next.map_err(|error| mistaken(error, self.is_file))?.map(|batch| sent(py, &batch)))
    }

    /// Texts that batches refer to, by their hash.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inputs = PyDict::new(py);
        for (hash, text) in self.sweep.inputs() {
            inputs.set_item(hash, text.as_ref())?;
        }
        Ok(inputs)
    }

    /// Number of points.
    #[getter]
    fn points(&self) -> usize {
        self.sweep.grid().len()
    }

    /// Columns of the axes.
    #[getter]
    fn axes(&self) -> Vec<String> {
        let axes = self.sweep.grid().axes();
        axes.into_iter().map(|(path, _)| path).collect()
    }

    /// True if a row per connection of each run is wanted.
    #[getter]
    fn connections(&self) -> bool {
        self.sweep.grid().connections
    }

    /// Differences of runs on the testbed from the scenarios, in sentences.
    #[getter]
    fn assumptions(&self) -> Vec<String> {
        self.sweep.assumptions().to_vec()
    }

    /// Warnings about values that are valid but possibly unintended.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.sweep.grid().warnings.clone()
    }

    /// The complete table in the order of the grid. `read` returns the content of a file of the store.
    fn table(&self, read: &Bound<'_, PyAny>) -> PyResult<Table> {
        let get = |name: &str| content(read, name);
        let whole = gentle_sweep::whole(self.sweep.rows(&get)).map_err(|error| raised(error, self.is_file))?;
        let columns =
            whole.columns().iter().map(|column| Column { name: column.name.clone(), values: array(&column.values) });
        Table::new(columns.collect())
    }

    /// Columns of the complete table as lists.
    fn columns<'py>(&self, read: &Bound<'py, PyAny>, names: Vec<String>) -> PyResult<Bound<'py, PyDict>> {
        let py = read.py();
        let get = |name: &str| content(read, name);
        let whole = gentle_sweep::whole(self.sweep.rows(&get)).map_err(|error| raised(error, self.is_file))?;
        let columns = PyDict::new(py);
        for name in names {
            match whole.column(&name) {
                Some(Values::Text(texts)) => columns.set_item(name, texts)?,
                Some(Values::Number(numbers)) => columns.set_item(name, numbers)?,
                Some(Values::Count(counts)) => columns.set_item(name, counts)?,
                Some(Values::Count32(counts)) => columns.set_item(name, counts)?,
                None => return Err(invalid(format!("no column '{name}'"))),
            }
        }
        Ok(columns)
    }

    /// The complete table as the file that `gentle sweep --csv` or `--parquet` writes, passed to `write` in pieces.
    fn export(&self, read: &Bound<'_, PyAny>, write: &Bound<'_, PyAny>, csv: bool) -> PyResult<()> {
        let get = |name: &str| content(read, name);
        let parts = self.sweep.rows(&get);
        // The Parquet writer requires `Send`, which Python objects are not: the file is kept until it is complete.
        let mut bytes = Vec::new();
        match csv {
            true => gentle_sweep::csv(parts, &mut bytes),
            false => gentle_sweep::parquet(parts, &mut bytes),
        }
        .map_err(|error| raised(error, self.is_file))?;
        write.call1((PyBytes::new(write.py(), &bytes),)).map(|_| ())
    }
}

/// Values of a column as Arrow.
fn array(values: &Values) -> ArrayRef {
    match values {
        Values::Text(texts) => Arc::new(texts.iter().collect::<StringArray>()),
        Values::Number(numbers) => Arc::new(Float64Array::from(numbers.clone())),
        Values::Count(counts) => Arc::new(UInt64Array::from(counts.clone())),
        Values::Count32(counts) => Arc::new(UInt32Array::from(counts.clone())),
    }
}

fn content(read: &Bound<'_, PyAny>, name: &str) -> io::Result<Vec<u8>> {
    let read = || read.call1((name,))?.extract::<Vec<u8>>();
    read().map_err(|error: PyErr| io::Error::other(error.to_string()))
}

/// Name of the file of results, content and number of runs of a batch.
type Sent<'py> = (String, Bound<'py, PyBytes>, usize);

fn sent<'py>(py: Python<'py>, batch: &Batch) -> Sent<'py> {
    let bytes = batch.to_json();
    let name = Batch::file_name(&bytes);
    (name, PyBytes::new(py, &bytes), batch.runs())
}

/// Name of the file of results of a batch.
#[pyfunction]
pub(crate) fn batch_name(batch: &[u8]) -> String {
    Batch::file_name(batch)
}

/// Each run of a batch as a batch.
#[pyfunction]
pub(crate) fn split_batch<'py>(py: Python<'py>, batch: &[u8]) -> PyResult<Vec<Sent<'py>>> {
    let batch = Batch::from_json(batch).map_err(failed)?;
    Ok(batch.split().iter().map(|part| sent(py, part)).collect())
}

/// The runs of a batch, for messages.
#[pyfunction]
pub(crate) fn describe_batch(batch: &[u8]) -> PyResult<String> {
    Ok(Batch::from_json(batch).map_err(failed)?.to_string())
}

/// Index of the scheme that is the best one by the values of its seeds, where NaN stands for none.
#[pyfunction]
pub(crate) fn only_best(schemes: Vec<Vec<f64>>, higher: bool) -> Option<usize> {
    let known = |value: f64| (!value.is_nan()).then_some(value);
    let schemes = schemes.into_iter().map(|values| values.into_iter().map(known).collect());
    let better = if higher { Better::Higher } else { Better::Lower };
    gentle_experiment::only_best(&schemes.collect::<Vec<Vec<Option<f64>>>>(), better)
}

/// Results of a batch: a Parquet file with a row per run, and one with a row per connection or nothing.
type Files<'py> = (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

/// Makes the runs of a batch, on the testbed if there are `machines`.
#[pyfunction]
#[pyo3(signature = (batch, inputs=None, stop=None, machines=None))]
pub(crate) fn run_batch<'py>(
    py: Python<'py>,
    batch: &[u8],
    inputs: Option<&Bound<'_, PyDict>>,
    stop: Option<&Bound<'_, Stop>>,
    machines: Option<&Bound<'_, PyAny>>,
) -> PyResult<Files<'py>> {
    let mut texts = Inputs::new();
    for (hash, text) in inputs.into_iter().flatten() {
        texts.insert(hash.extract()?, text.extract::<&str>()?.into());
    }
    let never = AtomicBool::new(false);
    let flag = stop.map_or(&never, |stop| stop.get().flag());
    let batch = batch.to_vec();
    let results = match machines {
        None => py.detach(|| gentle_sweep::run_batch(&Simulator, &batch, &texts, flag)),
        Some(machines) => {
            let testbed = testbed(machines)?;
            py.detach(|| gentle_sweep::run_batch(&testbed, &batch, &texts, flag))
        }
    };
    let Results { runs, connections } = results.map_err(failed)?;
    let connections = connections.map(|connections| PyBytes::new(py, &connections));
    Ok((PyBytes::new(py, &runs), connections))
}
