//! Stores in Python, for records of runs.

use gentle_runs::{Store, StoreError};
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::io;

/// An object with the methods of `gentle.store.Store`.
pub(crate) struct PythonStore {
    object: Py<PyAny>,
    /// Files of the store at first: remote stores are listed once.
    names: BTreeSet<String>,
    place: String,
}

impl PythonStore {
    /// The store, with a list of its files.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<PythonStore> {
        let names: Vec<String> = object.call_method0("names")?.extract()?;
        let place = object.getattr_opt("place")?;
        let place = place.map(|place| place.extract()).transpose()?.unwrap_or_default();
        Ok(PythonStore { object: object.clone().unbind(), names: names.into_iter().collect(), place })
    }

    fn failed(&self, name: &str, error: &PyErr) -> StoreError {
        StoreError { place: self.place(name), error: io::Error::other(error.to_string()) }
    }
}

impl Store for PythonStore {
    fn names(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.names.iter().cloned().collect())
    }

    fn find(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        if !self.names.contains(name) {
            return Ok(None);
        }
        let content = Python::attach(|py| self.object.call_method1(py, "get", (name,))?.extract(py));
        content.map(Some).map_err(|error| self.failed(name, &error))
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let put = Python::attach(|py| self.object.call_method1(py, "put", (name, content)));
        put.map(|_| ()).map_err(|error| self.failed(name, &error))
    }

    fn place(&self, name: &str) -> String {
        format!("{}{name}", self.place)
    }
}
