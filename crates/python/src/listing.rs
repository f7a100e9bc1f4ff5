//! Lists of schemes and profiles.

use gentle_aqm::registry;
use gentle_tcp::Profile;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Queue schemes: a dictionary per scheme with `name`, `summary`, `source` and `options` (each with `name`, `default`,
/// `accepts`, `help`).
#[pyfunction]
pub(crate) fn schemes(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let described = registry::listed().map(|scheme| {
        let options = scheme.options.iter().map(|option| {
            let described = PyDict::new(py);
            described.set_item("name", option.name)?;
            described.set_item("default", option.default)?;
            described.set_item("accepts", option.kind.to_string())?;
            described.set_item("help", option.help)?;
            Ok(described)
        });
        let described = PyDict::new(py);
        described.set_item("name", scheme.name)?;
        described.set_item("summary", scheme.summary)?;
        described.set_item("source", scheme.source)?;
        described.set_item("options", options.collect::<PyResult<Vec<_>>>()?)?;
        Ok(described)
    });
    described.collect()
}

/// TCP profiles of end hosts: a dictionary per profile with `name`, `summary` and `knobs` (name to value).
#[pyfunction]
pub(crate) fn profiles(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let described = Profile::NAMES.iter().map(|name| {
        let knobs = PyDict::new(py);
        if let Ok(profile) = Profile::by_name(name) {
            for knob in Profile::knobs() {
                if let Ok(value) = profile.get(knob.name) {
                    knobs.set_item(knob.name, value)?;
                }
            }
        }
        let described = PyDict::new(py);
        described.set_item("name", *name)?;
        described.set_item("summary", Profile::summary(name).unwrap_or_default())?;
        described.set_item("knobs", knobs)?;
        Ok(described)
    });
    described.collect()
}
