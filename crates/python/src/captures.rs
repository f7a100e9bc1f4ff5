//! Captures as tasks for executors: the record of each task, and the merged analysis of records.

use crate::analysis::{Analysis, options};
use crate::error::{failed, invalid};
use crate::sweep::Stop;
use gentle_report::analyze::put_into_words;
use gentle_report::connections::ParquetWriter;
use gentle_trace::continuing::{Continuing, runs};
use gentle_trace::record::{ENGINE, Merger, Record, Recorder, Showing};
use gentle_trace::row::Row;
use gentle_trace::{AnalysisError, Control, RowSink};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

/// Captures that a worker reads as one trace.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Captures {
    /// Identity of the code that made the task.
    engine: String,
    paths: Vec<PathBuf>,
    local: Vec<String>,
    interfaces: Vec<String>,
    rate: Option<String>,
    inner: bool,
    strict: bool,
    memory_limit: Option<u64>,
    /// Whether the connections are wanted as well.
    connections: bool,
}

/// Tasks for captures, each as the bytes sent to a worker; captures that continue one another are one task.
#[pyfunction]
#[pyo3(signature = (paths, *, continuing="name", connections=false, local=None, interfaces=None, rate=None, inner=false, strict=false, memory_limit=None))]
pub(crate) fn capture_tasks<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    continuing: &str,
    connections: bool,
    local: Option<Vec<String>>,
    interfaces: Option<Vec<String>>,
    rate: Option<String>,
    inner: bool,
    strict: bool,
    memory_limit: Option<u64>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    if paths.is_empty() {
        return Err(invalid("paths: expected one or more captures"));
    }
    let continuing = match continuing {
        "name" => Continuing::ByName,
        "directory" => Continuing::Directory,
        "all" => Continuing::All,
        "none" => Continuing::None,
        other => {
            return Err(invalid(format!("continuing: '{other}'; expected name, directory, all or none")));
        }
    };
    let local = local.unwrap_or_default();
    let interfaces = interfaces.unwrap_or_default();
    options(&local, interfaces.clone(), rate.as_deref(), inner, memory_limit)?;
    let tasks = runs(&paths, continuing).into_iter().map(|paths| Captures {
        engine: ENGINE.to_owned(),
        paths,
        local: local.clone(),
        interfaces: interfaces.clone(),
        rate: rate.clone(),
        inner,
        strict,
        memory_limit,
        connections,
    });
    tasks
        .map(|task| {
            let bytes = serde_json::to_vec(&task).map_err(failed)?;
            Ok(PyBytes::new(py, &bytes))
        })
        .collect()
}

/// A record, and the connections as Parquet.
type Contents<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Analyses the captures of a task. Returns its identity, and its record and connections (Parquet) unless it is among
/// `known`; connections are empty unless the task requests them.
#[pyfunction]
#[pyo3(signature = (task, known, stop=None))]
pub(crate) fn record_captures<'py>(
    py: Python<'py>,
    task: &[u8],
    known: HashSet<String>,
    stop: Option<&Bound<'_, Stop>>,
) -> PyResult<(String, Option<Contents<'py>>)> {
    let never = AtomicBool::new(false);
    let stop = stop.map_or(&never, |stop| stop.get().flag());
    let captures: Captures = serde_json::from_slice(task).map_err(failed)?;
    if captures.engine != ENGINE {
        return Err(failed(format!(
            "the task was made by another build of gentle (engine {:.8}) than this worker's (engine {ENGINE:.8}); install one build everywhere",
            captures.engine
        )));
    }
    let options = options(
        &captures.local,
        captures.interfaces.clone(),
        captures.rate.as_deref(),
        captures.inner,
        captures.memory_limit,
    )?;
    let recorder = Recorder { options: &options, strict: captures.strict, anonymizer: None };
    let made = py.detach(|| make(&recorder, &captures, &known, stop));
    let (id, made) = made.map_err(failed)?;
    let made = made.map(|(record, connections)| (PyBytes::new(py, &record), PyBytes::new(py, &connections)));
    Ok((id, made))
}

type Made = (String, Option<(Vec<u8>, Vec<u8>)>);

fn make(
    recorder: &Recorder<'_>,
    captures: &Captures,
    known: &HashSet<String>,
    stop: &AtomicBool,
) -> Result<Made, AnalysisError> {
    let task = recorder.task(&captures.paths, stop)?;
    if known.contains(task.id()) {
        return Ok((task.id().to_owned(), None));
    }
    let mut connections = Vec::new();
    let mut writer = match captures.connections {
        true => Some(ParquetWriter::new(&mut connections).map_err(AnalysisError::Rows)?),
        false => None,
    };
    let mut write = |row: &Row| writer.as_mut().map_or(Ok(()), |writer| writer.write(row));
    let rows: Option<&mut RowSink<'_>> = match captures.connections {
        true => Some(&mut write),
        false => None,
    };
    let control = Control::default();
    let record = crate::analysis::stopped_by(stop, &control, || recorder.record(&task, rows, &control))?;
    writer.map_or(Ok(()), ParquetWriter::finish).map_err(AnalysisError::Rows)?;
    Ok((task.id().to_owned(), Some((record.to_bytes(), connections))))
}

/// Merges records.
// Boxed: Python aligns objects to 16 bytes, and the sum needs more.
#[pyclass(module = "gentle._core", frozen)]
#[derive(Default)]
pub(crate) struct RecordSum(Mutex<Box<Merger>>);

#[pymethods]
impl RecordSum {
    #[new]
    fn new() -> RecordSum {
        RecordSum::default()
    }

    /// Adds a record; `name` stands for it in messages.
    fn add(&self, py: Python<'_>, name: &str, record: &[u8]) -> PyResult<()> {
        let record = record.to_vec();
        py.detach(|| {
            let record = Record::from_bytes(&record).map_err(|error| format!("{name}: {error}"))?;
            let mut merger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            merger.add(name, record).map_err(|error| error.to_string())
        })
        .map_err(failed)
    }

    /// Warning about two records that have connections in common; else `None`.
    fn warning(&self) -> Option<String> {
        let merger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        merger.overlap().map(ToString::to_string)
    }

    /// The analysis of all captures. The sum is empty afterwards.
    fn finish(&self) -> PyResult<Analysis> {
        let mut merger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = std::mem::take(&mut **merger);
        let mut analysis = sum.finish(&Showing::default()).map_err(failed)?;
        put_into_words(&mut analysis);
        Ok(Analysis::without_connections(analysis))
    }
}
