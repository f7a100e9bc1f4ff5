//! Published papers, reproduced.

use crate::error::{failed, invalid};
use crate::work::interruptible;
use gentle_papers::{Lab, PAPERS, Paper, Progress, Selection};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Names of the papers.
#[pyfunction]
pub(crate) fn papers() -> Vec<&'static str> {
    PAPERS.iter().map(|paper| paper.name).collect()
}

/// Counts runs asked for so far and runs that have ended.
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
#[pyo3(signature = (paper, items, *, quick=false, progress=None))]
pub(crate) fn reproduce(
    py: Python<'_>,
    paper: &str,
    items: Vec<String>,
    quick: bool,
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
    let made = interruptible(py, progress, fraction, |stop| {
        let lab = Lab::new(quick, &runs, stop);
        gentle_papers::reproduce(paper, &selection, &lab)
    })?;
    serde_json::to_string(&made.map_err(failed)?).map_err(failed)
}
