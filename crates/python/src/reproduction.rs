//! Published papers, reproduced.

use crate::error::{failed, invalid};
use crate::store::PythonStore;
use crate::work::interruptible;
use gentle_papers::{Lab, PAPERS, Paper, Progress, Selection};
use gentle_runs::Records;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Names of the papers.
#[pyfunction]
pub(crate) fn papers() -> Vec<&'static str> {
    PAPERS.iter().map(|paper| paper.name).collect()
}

/// Counts requested and finished runs.
#[derive(Default)]
struct Runs {
    planned: AtomicUsize,
    finished: AtomicUsize,
}

impl Progress for Runs {
    fn planned(&self, runs: usize) {
        self.planned.fetch_add(runs, Ordering::Relaxed);
    }
    fn finished(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reproduces items of a paper; the result is JSON, as `gentle reproduce --json` prints it.
#[pyfunction]
#[pyo3(signature = (paper, items, *, quick=false, store=None, progress=None))]
pub(crate) fn reproduce(
    py: Python<'_>,
    paper: &str,
    items: Vec<String>,
    quick: bool,
    store: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let Some(paper) = Paper::by_name(paper) else {
        let known = papers().join(", ");
        return Err(invalid(format!("no paper '{paper}'; expected one of: {known}")));
    };
    let selection = Selection::named(paper, &items).map_err(invalid)?;
    let runs = Runs::default();
    let fraction = || {
        let planned = runs.planned.load(Ordering::Relaxed).max(1);
        runs.finished.load(Ordering::Relaxed) as f64 / planned as f64
    };
    let store = store.map(PythonStore::new).transpose()?;
    let records = store.as_ref().map(|store| Records::new(store));
    let made = interruptible(py, progress, fraction, |stop| {
        let mut lab = Lab::new(quick, &runs, stop);
        if let Some(records) = &records {
            lab = lab.with_records(records);
        }
        gentle_papers::reproduce(paper, &selection, &lab)
    })?;
    records.map(Records::finish).transpose().map_err(failed)?;
    serde_json::to_string(&made.map_err(failed)?).map_err(failed)
}
