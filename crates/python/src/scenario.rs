//! Scenarios.

use crate::error::{invalid, invalid_argument};
use gentle_experiment::{BUILTIN, Direction, Flow, Initiator, LinkChange, ScenarioError, Traffic};
use gentle_units::Nanos;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A valid scenario.
#[pyclass(module = "gentle._core", frozen)]
#[derive(Clone)]
pub(crate) struct Scenario(pub(crate) Arc<gentle_experiment::Scenario>, Arc<Made>);

/// Source of a scenario, from which it can be made again.
enum Made {
    /// Name, text and folder of a scenario file.
    Toml(String, String, Option<PathBuf>),
    /// Name and text of a flow list, and whether it was made from a table.
    Flows(String, String, bool),
    /// Names of captures, and the scenario that replays them.
    Captures(String, Arc<gentle_experiment::Scenario>),
    /// Another scenario, and the arguments of [`Scenario::changed`].
    Changed(Scenario, Py<PyDict>),
}

impl Scenario {
    /// The scenario that replays captures with these names.
    pub(crate) fn of_captures(names: String, scenario: gentle_experiment::Scenario) -> Scenario {
        let scenario = Arc::new(scenario);
        let made = Made::Captures(names, Arc::clone(&scenario));
        Scenario(scenario, Arc::new(made))
    }
}

/// A flow in Python: start, bytes, round-trip time, whether it goes down, and whether the sender connects. Times are
/// nanoseconds.
type KeptFlow = (u64, u64, Option<u64>, Option<bool>, Option<bool>);

fn kept(flow: &Flow) -> KeptFlow {
    (
        flow.at.0,
        flow.bytes,
        flow.rtt.map(|rtt| rtt.0),
        flow.direction.map(|direction| direction == Direction::Down),
        flow.initiator.map(|initiator| initiator == Initiator::Sender),
    )
}

fn restored((at, bytes, rtt, is_down, sender_connects): KeptFlow) -> Flow {
    Flow {
        at: Nanos(at),
        bytes,
        rtt: rtt.map(Nanos),
        direction: is_down.map(|down| if down { Direction::Down } else { Direction::Up }),
        initiator: sender_connects.map(|sender| match sender {
            true => Initiator::Sender,
            false => Initiator::Receiver,
        }),
    }
}

/// Text of the file of a built-in scenario.
#[pyfunction]
pub(crate) fn builtin_toml(name: &str) -> PyResult<&'static str> {
    gentle_experiment::Scenario::builtin_toml(name).ok_or_else(|| {
        let known = BUILTIN.join(", ");
        invalid(format!("no built-in scenario '{name}'; expected one of: {known}"))
    })
}

/// Names of the built-in scenarios.
#[pyfunction]
pub(crate) fn builtin_names() -> Vec<&'static str> {
    BUILTIN.to_vec()
}

/// Parses a scenario file; files that it names are relative to `folder`.
fn parsed(file: &str, text: &str, folder: Option<PathBuf>) -> Result<Scenario, ScenarioError> {
    let read = |name: &str| match &folder {
        Some(folder) => std::fs::read_to_string(folder.join(name)),
        None => Err(io::Error::other("only scenario files can name other files")),
    };
    let scenario = gentle_experiment::Scenario::from_toml(file, text, &read)?;
    let made = Made::Toml(file.to_owned(), text.to_owned(), folder);
    Ok(Scenario(Arc::new(scenario), Arc::new(made)))
}

#[pymethods]
impl Scenario {
    /// Parses a scenario file. `file` is its name in messages; files that it names are relative to `folder`.
    #[staticmethod]
    #[pyo3(signature = (file, text, folder=None))]
    fn from_toml(file: &str, text: &str, folder: Option<PathBuf>) -> PyResult<Scenario> {
        parsed(file, text, folder).map_err(invalid)
    }

    /// Parses a scenario from the JSON of a dictionary with the keys of a scenario file.
    #[staticmethod]
    #[pyo3(signature = (file, json, folder=None))]
    fn from_json(file: &str, json: &str, folder: Option<PathBuf>) -> PyResult<Scenario> {
        let value: serde_json::Value = serde_json::from_str(json).map_err(invalid)?;
        let text = toml::to_string(&value).map_err(invalid)?;
        // The text has no lines that a user wrote.
        parsed(file, &text, folder).map_err(|error| invalid(ScenarioError { place: None, ..error }))
    }

    /// Parses a flow list (CSV) to the scenario that replays it. With `is_table`, the list was made from a table, and
    /// messages name its rows, from 0.
    #[staticmethod]
    #[pyo3(signature = (file, csv, is_table=false))]
    fn from_flows(file: &str, csv: &str, is_table: bool) -> PyResult<Scenario> {
        let scenario = gentle_experiment::Scenario::from_flows(file, csv);
        let scenario = scenario.map_err(|error| match error.place {
            Some((line, _)) if is_table => {
                let row = line.checked_sub(2).map(|row| format!("row {row}: "));
                let row = row.unwrap_or_default();
                invalid(format!("{}: {row}{}", error.file, error.problem))
            }
            _ => invalid(error),
        })?;
        let made = Made::Flows(file.to_owned(), csv.to_owned(), is_table);
        Ok(Scenario(Arc::new(scenario), Arc::new(made)))
    }

    /// Restores the scenario of captures from [`Scenario::__reduce__`].
    #[staticmethod]
    fn from_captures(
        captures: String,
        flows: Vec<KeptFlow>,
        assumptions: Vec<String>,
        warnings: Vec<String>,
    ) -> Scenario {
        let flows = flows.into_iter().map(restored).collect();
        let mut scenario = gentle_experiment::Scenario::replay(&captures, flows);
        scenario.assumptions = assumptions;
        scenario.warnings = warnings;
        Scenario::of_captures(captures, scenario)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let restore = py.import("gentle._restore")?.getattr("scenario")?;
        let arguments = match &*self.1 {
            Made::Toml(file, text, folder) => ("from_toml", (file, text, folder)).into_bound_py_any(py),
            Made::Flows(file, csv, is_table) => ("from_flows", (file, csv, is_table)).into_bound_py_any(py),
            Made::Captures(captures, scenario) => {
                let flows: Vec<KeptFlow> = scenario
                    .workloads
                    .iter()
                    .flat_map(|workload| match &workload.traffic {
                        Traffic::Replay(list) => list.flows.iter().map(kept).collect(),
                        _ => Vec::new(),
                    })
                    .collect();
                let (assumptions, warnings) = (&scenario.assumptions, &scenario.warnings);
                ("from_captures", (captures, flows, assumptions, warnings)).into_bound_py_any(py)
            }
            Made::Changed(before, changes) => {
                ("changed", (before.clone(), changes.clone_ref(py))).into_bound_py_any(py)
            }
        };
        Ok((restore, arguments?))
    }

    /// The scenario with other links, another load or length, or other hosts, as the options of `gentle compare` change
    /// it.
    #[pyo3(signature = (*, rate=None, up_rate=None, load=None, duration=None, profile=None, tcp=None))]
    fn changed(
        &self,
        py: Python<'_>,
        rate: Option<&str>,
        up_rate: Option<&str>,
        load: Option<f64>,
        duration: Option<&str>,
        profile: Option<&str>,
        tcp: Option<BTreeMap<String, String>>,
    ) -> PyResult<Scenario> {
        let changes = PyDict::new(py);
        for (name, value) in [("rate", rate), ("up_rate", up_rate), ("duration", duration), ("profile", profile)] {
            changes.set_item(name, value)?;
        }
        changes.set_item("load", load)?;
        changes.set_item("tcp", &tcp)?;
        let mut scenario = gentle_experiment::Scenario::clone(&self.0);
        if let Some(duration) = duration {
            scenario.set_duration(invalid_argument("duration", duration.parse())?);
        }
        if let Some(profile) = profile {
            invalid_argument("profile", scenario.set_profile(profile))?;
        }
        for (knob, value) in tcp.unwrap_or_default() {
            invalid_argument("tcp", scenario.set_knob(&knob, &value))?;
        }
        let rate_of = |name, rate: Option<&str>| {
            let parsed = rate.map(|rate| invalid_argument(name, rate.parse()));
            parsed.transpose()
        };
        if load.is_some_and(|load| !(load > 0.0 && load.is_finite())) {
            return Err(invalid("load: expected a fraction of the rate above 0, such as 0.9"));
        }
        let change = LinkChange { down: rate_of("rate", rate)?, up: rate_of("up_rate", up_rate)?, load };
        invalid_argument("load", scenario.change_links(&change))?;
        let made = Made::Changed(self.clone(), changes.unbind());
        Ok(Scenario(Arc::new(scenario), Arc::new(made)))
    }

    fn __repr__(&self) -> String {
        format!("<gentle scenario {}>", self.0.name)
    }

    /// Short name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Values that are valid but possibly unintended.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    /// Assumptions where the source of the scenario is silent.
    #[getter]
    fn assumptions(&self) -> Vec<String> {
        self.0.assumptions.clone()
    }

    /// Default schemes of a comparison.
    #[getter]
    fn schemes(&self) -> Vec<String> {
        let schemes = self.0.schemes_to_compare();
        schemes.iter().map(ToString::to_string).collect()
    }

    /// Names of the applications and groups that others can harm.
    #[getter]
    fn parts(&self) -> Vec<String> {
        let parts = self.0.parts();
        parts.into_iter().map(|part| part.name).collect()
    }
}
