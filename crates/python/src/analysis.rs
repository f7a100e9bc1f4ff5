//! Analysis of captures.

use crate::error::{failed, invalid, invalid_argument, read_back};
use crate::scenario::Scenario;
use crate::table::{Column, Table};
use crate::work::interruptible;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, StringArray, TimestampNanosecondArray, UInt16Array, UInt64Array,
};
use gentle_capture::CaptureReader;
use gentle_report::Origin;
use gentle_report::analyze::{Detail, assumptions, put_into_words};
use gentle_report::connections::{COLUMNS, Value};
use gentle_trace::flows::Flows;
use gentle_trace::row::Row;
use gentle_trace::{Control, Options, results};
use ipnet::IpNet;
use pyo3::prelude::*;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Results of an analysis.
#[pyclass(module = "gentle._core", frozen)]
pub(crate) struct Analysis {
    analysis: results::Analysis,
    /// Values of each column of [`COLUMNS`]; `None` if connections were not requested.
    connections: Option<Vec<Vec<Value>>>,
}

/// Analyses captures as one trace.
#[pyfunction]
#[pyo3(signature = (paths, *, connections=true, local=None, interfaces=None, rate=None, inner=false, strict=false, memory_limit=None, progress=None))]
pub(crate) fn analyze(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    connections: bool,
    local: Option<Vec<String>>,
    interfaces: Option<Vec<String>>,
    rate: Option<&str>,
    inner: bool,
    strict: bool,
    memory_limit: Option<u64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Analysis> {
    let options = options(&local.unwrap_or_default(), interfaces.unwrap_or_default(), rate, inner, memory_limit)?;
    let mut values: Option<Vec<Vec<Value>>> = connections.then(|| vec![Vec::new(); COLUMNS.len()]);
    let mut sink = |row: &Row| {
        let columns = values.iter_mut().flatten();
        for (column, values) in COLUMNS.iter().zip(columns) {
            values.push(column.value(row));
        }
        Ok(())
    };
    let mut analysis = read(py, &paths, strict, &options, &mut sink, progress)?;
    put_into_words(&mut analysis);
    Ok(Analysis { analysis, connections: values })
}

/// Makes the scenario that replays the connections of captures, as `gentle compare --from` does.
#[pyfunction]
#[pyo3(signature = (paths, *, local=None, interfaces=None, inner=false, strict=false, progress=None))]
pub(crate) fn replay(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    local: Option<Vec<String>>,
    interfaces: Option<Vec<String>>,
    inner: bool,
    strict: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Scenario> {
    let options = Options {
        inner,
        local: prefixes(&local.unwrap_or_default())?,
        interfaces: interfaces.unwrap_or_default(),
        ..Options::default()
    };
    let mut flows = Flows::new(&options.local, None);
    let mut sink = |row: &Row| {
        flows.add(row);
        Ok(())
    };
    let mut analysis = read(py, &paths, strict, &options, &mut sink, progress)?;
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let names = names.join(", ");
    let flows = flows.finish(&mut analysis);
    put_into_words(&mut analysis);
    let scenario = gentle_replay::scenario(&names, &flows, assumptions(&analysis));
    let mut scenario = scenario.map_err(failed)?;
    let warnings = analysis.captures.iter().flat_map(|capture| &capture.warnings);
    scenario.warnings.extend(warnings.cloned());
    Ok(Scenario::of_captures(names, scenario))
}

/// Options of an analysis from arguments.
pub(crate) fn options(
    local: &[String],
    interfaces: Vec<String>,
    rate: Option<&str>,
    inner: bool,
    memory_limit: Option<u64>,
) -> PyResult<Options> {
    let defaults = Options::default();
    Ok(Options {
        inner,
        local: prefixes(local)?,
        interfaces,
        rate: rate.map(|rate| invalid_argument("rate", rate.parse())).transpose()?,
        memory_limit: memory_limit.unwrap_or(defaults.memory_limit),
        ..defaults
    })
}

fn prefixes(texts: &[String]) -> PyResult<Vec<IpNet>> {
    let parsed = texts.iter().map(|text| gentle_trace::prefix(text));
    invalid_argument("local", parsed.collect())
}

/// Reads captures as one trace; `sink` receives each connection.
fn read(
    py: Python<'_>,
    paths: &[PathBuf],
    strict: bool,
    options: &Options,
    sink: &mut (dyn FnMut(&Row) -> io::Result<()> + Send),
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<results::Analysis> {
    if paths.is_empty() {
        return Err(invalid("paths: expected one or more captures"));
    }
    let readers = paths.iter().map(|path| match std::fs::metadata(path) {
        Err(error) => Err(failed(format!("{}: cannot be read: {error}", path.display()))),
        Ok(found) if found.is_dir() => Err(failed(format!(
            "{}: is a directory; name the captures in it, such as {}",
            path.display(),
            path.join("*").display()
        ))),
        Ok(_) => CaptureReader::open(path).map(|reader| reader.strict(strict)).map_err(failed),
    });
    let readers: Vec<CaptureReader> = readers.collect::<PyResult<_>>()?;
    let size: u64 = readers.iter().filter_map(CaptureReader::size).sum();
    let control = Control::default();
    let fraction = || control.consumed.load(Ordering::Relaxed) as f64 / size.max(1) as f64;
    let outcome = interruptible(py, progress, fraction, |stop| {
        stopped_by(stop, &control, || gentle_trace::analyze(readers, options, None, Some(sink), &control))
    })?;
    outcome.map_err(failed)
}

/// Calls `work` while another thread passes `stop` on to `control`.
pub(crate) fn stopped_by<T>(stop: &AtomicBool, control: &Control, work: impl FnOnce() -> T) -> T {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    std::thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        scope.spawn(move || {
            let tick = std::time::Duration::from_millis(50);
            while ended.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
                control.stop.store(stop.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        });
        let result = work();
        drop(end);
        result
    })
}

impl Analysis {
    /// Results without the table of connections.
    pub(crate) fn without_connections(analysis: results::Analysis) -> Analysis {
        Analysis { analysis, connections: None }
    }
}

#[pymethods]
impl Analysis {
    /// Reads results back from JSON, without connections.
    #[staticmethod]
    fn from_json(json: &str) -> PyResult<Analysis> {
        read_back("analysis", json).map(Analysis::without_connections)
    }

    /// Results as JSON, as `gentle analyze --json` prints them.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.analysis).map_err(failed)
    }

    /// A row per connection, with the columns of `gentle analyze --connections`.
    fn connections(&self) -> PyResult<Table> {
        let Some(columns) = &self.connections else {
            return Err(invalid("the analysis was made without connections; expected connections=True"));
        };
        let columns = COLUMNS.iter().zip(columns).map(|(column, values)| {
            let (name, values) = arrow(column.name, values);
            Column { name, values }
        });
        Table::new(columns.collect())
    }

    /// The report that `gentle analyze` prints, `width` columns wide; all tables if `full`.
    #[pyo3(signature = (full=false, width=None))]
    fn text(&self, full: bool, width: Option<usize>) -> String {
        let detail = if full { Detail::Full } else { Detail::Brief };
        gentle_report::analyze::text(std::slice::from_ref(&self.analysis), detail, width, false)
    }

    /// The page that `gentle analyze --html` writes.
    fn html(&self) -> String {
        let origin = Origin { tool: "gentle.analyze".to_owned(), command: None, date: Some(jiff::Timestamp::now()) };
        gentle_report::analyze::html(std::slice::from_ref(&self.analysis), &origin)
    }
}

/// A column for Arrow. Points in time are timestamps, so their names lose the unit, as in Parquet.
fn arrow(name: &str, values: &[Value]) -> (String, ArrayRef) {
    let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    macro_rules! column {
        ($array:ty, $variant:ident, $value:ident => $take:expr) => {
            Arc::new(
                values
                    .iter()
                    .map(|value| match value {
                        Value::$variant($value) => $take,
                        _ => None,
                    })
                    .collect::<$array>(),
            ) as ArrayRef
        };
    }
    let is_time = matches!(values.first(), Some(Value::Time(_)));
    let array = match values.first() {
        Some(Value::Text(_)) | None => column!(StringArray, Text, text => Some(text.as_str())),
        Some(Value::Flag(_)) => column!(BooleanArray, Flag, flag => Some(*flag)),
        Some(Value::Port(_)) => column!(UInt16Array, Port, port => Some(*port)),
        Some(Value::Count(_)) => column!(UInt64Array, Count, count => Some(*count)),
        Some(Value::Span(_)) => {
            column!(Float64Array, Span, span => span.map(gentle_units::Nanos::as_secs_f64))
        }
        Some(Value::Time(_)) => {
            let times = values.iter().map(|value| match value {
                Value::Time(time) => Some(whole(time.0)),
                _ => None,
            });
            let times: TimestampNanosecondArray = times.collect();
            Arc::new(times.with_timezone("UTC")) as ArrayRef
        }
    };
    let name = if is_time { name.trim_end_matches("_s") } else { name };
    (name.to_owned(), array)
}
