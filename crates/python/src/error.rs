//! Python exceptions.

use gentle_units::foreign::visible;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use serde::de::DeserializeOwned;
use std::fmt::Display;

create_exception!(gentle, Error, PyException, "A failure, such as a damaged capture; `InvalidInput` is a subclass.");

/// The exception `InvalidInput`: an [`Error`] and a `ValueError`.
pub(crate) fn invalid_input(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static INVALID_INPUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = INVALID_INPUT.get_or_try_init(py, || {
        let members = PyDict::new(py);
        members.set_item("__module__", "gentle")?;
        members.set_item("__doc__", "An invalid argument, scheme or scenario.")?;
        let bases = (py.get_type::<Error>(), py.get_type::<PyValueError>());
        let class = py.get_type::<PyType>().call1(("InvalidInput", bases, members))?;
        Ok::<_, PyErr>(class.cast_into::<PyType>()?.unbind())
    })?;
    Ok(made.bind(py))
}

/// Failure of the work itself.
pub(crate) fn failed(error: impl Display) -> PyErr {
    Error::new_err(shown(&error.to_string()))
}

/// Mistake in the arguments.
pub(crate) fn invalid(error: impl Display) -> PyErr {
    let text = shown(&error.to_string());
    Python::attach(|py| match invalid_input(py) {
        Ok(class) => PyErr::from_type(class.clone(), text),
        Err(error) => error,
    })
}

/// Mistake in the argument `name`.
pub(crate) fn invalid_argument<T, E: Display>(name: &str, parsed: Result<T, E>) -> PyResult<T> {
    parsed.map_err(|error| invalid(format!("{name}: {error}")))
}

/// Results from the JSON that they were written as; `kind` names them in messages.
pub(crate) fn read_back<T: DeserializeOwned>(kind: &str, json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| invalid(format!("not the JSON of a {kind} of this version: {error}")))
}

/// Text as the command prints it: foreign text neutralised, without the numbers that std appends to the system's messages.
fn shown(text: &str) -> String {
    let mut plain = text.to_owned();
    while let Some(start) = plain.find(" (os error ") {
        let Some(length) = plain[start..].find(')') else {
            break;
        };
        plain.replace_range(start..=start + length, "");
    }
    visible(&plain)
}
