//! Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use std::fmt::Display;

create_exception!(
    gentle,
    Error,
    PyException,
    "A failure, such as a capture that is damaged."
);
create_exception!(
    gentle,
    InvalidInput,
    PyValueError,
    "An argument, scheme or scenario that is not valid."
);

/// Failure while doing what was asked.
pub(crate) fn failed(error: impl Display) -> PyErr {
    Error::new_err(without_error_numbers(&error.to_string()))
}

/// Mistake in what was asked.
pub(crate) fn invalid(error: impl Display) -> PyErr {
    InvalidInput::new_err(without_error_numbers(&error.to_string()))
}

/// Mistake in the argument `name`.
pub(crate) fn invalid_argument<T, E: Display>(name: &str, parsed: Result<T, E>) -> PyResult<T> {
    parsed.map_err(|error| invalid(format!("{name}: {error}")))
}

/// Text without the numbers that std appends to the system's messages, as the command prints it.
fn without_error_numbers(text: &str) -> String {
    let mut plain = text.to_owned();
    while let Some(start) = plain.find(" (os error ") {
        let Some(length) = plain[start..].find(')') else {
            break;
        };
        plain.replace_range(start..=start + length, "");
    }
    plain
}
