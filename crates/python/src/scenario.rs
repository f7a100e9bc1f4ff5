//! Scenarios.

use crate::error::{invalid, invalid_argument};
use gentle_experiment::{BUILTIN, LinkChange};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A valid scenario.
#[pyclass(module = "gentle._core", frozen)]
#[derive(Clone)]
pub(crate) struct Scenario(pub(crate) Arc<gentle_experiment::Scenario>);

/// Text of the file of a built-in scenario.
#[pyfunction]
pub(crate) fn builtin_toml(name: &str) -> PyResult<&'static str> {
    gentle_experiment::Scenario::builtin_toml(name).ok_or_else(|| {
        let known = BUILTIN.join(", ");
        invalid(format!(
            "no built-in scenario '{name}'; expected one of: {known}"
        ))
    })
}

/// Names of the built-in scenarios.
#[pyfunction]
pub(crate) fn builtin_names() -> Vec<&'static str> {
    BUILTIN.to_vec()
}

#[pymethods]
impl Scenario {
    /// Parses a scenario file. `file` is its name in messages; files that it names are relative to `folder`.
    #[staticmethod]
    #[pyo3(signature = (file, text, folder=None))]
    fn from_toml(file: &str, text: &str, folder: Option<PathBuf>) -> PyResult<Scenario> {
        let read = |name: &str| match &folder {
            Some(folder) => std::fs::read_to_string(folder.join(name)),
            None => Err(io::Error::other(
                "files can be named in scenario files only",
            )),
        };
        let scenario = gentle_experiment::Scenario::from_toml(file, text, &read);
        Ok(Scenario(Arc::new(scenario.map_err(invalid)?)))
    }

    /// Parses a scenario from the JSON of a dictionary with the keys of a scenario file.
    #[staticmethod]
    #[pyo3(signature = (file, json, folder=None))]
    fn from_json(file: &str, json: &str, folder: Option<PathBuf>) -> PyResult<Scenario> {
        let value: serde_json::Value = serde_json::from_str(json).map_err(invalid)?;
        let text = toml::to_string(&value).map_err(invalid)?;
        Scenario::from_toml(file, &text, folder)
    }

    /// Parses a flow list (CSV) to the scenario that replays it.
    #[staticmethod]
    fn from_flows(file: &str, csv: &str) -> PyResult<Scenario> {
        let scenario = gentle_experiment::Scenario::from_flows(file, csv).map_err(invalid)?;
        Ok(Scenario(Arc::new(scenario)))
    }

    /// The scenario with other links, another load or length, or other hosts, as the options of `gentle compare` change
    /// it.
    #[pyo3(signature = (*, rate=None, up_rate=None, load=None, duration=None, profile=None, tcp=None))]
    fn changed(
        &self,
        rate: Option<&str>,
        up_rate: Option<&str>,
        load: Option<f64>,
        duration: Option<&str>,
        profile: Option<&str>,
        tcp: Option<BTreeMap<String, String>>,
    ) -> PyResult<Scenario> {
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
            return Err(invalid(
                "load: expected a fraction of the rate above 0, such as 0.9",
            ));
        }
        let change = LinkChange {
            down: rate_of("rate", rate)?,
            up: rate_of("up_rate", up_rate)?,
            load,
        };
        invalid_argument("load", scenario.change_links(&change))?;
        Ok(Scenario(Arc::new(scenario)))
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

    /// Schemes that are compared if none are given.
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
