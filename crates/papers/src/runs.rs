//! Runs that are made once: figures share them, and records of earlier calls or other machines replace them.

use crate::memo::Memo;
use gentle_aqm::Spec;
use gentle_experiment::{Aborted, Backend, RunRecord, RunSpec, Scenario, Settings, Watch};
use gentle_runs::{Records, RunId, Stored};

/// A backend that makes each run once.
pub(crate) struct Cached<'a, B> {
    backend: Stored<'a, B>,
    known: Memo,
}

impl<'a, B: Backend> Cached<'a, B> {
    pub(crate) fn new(backend: &'a B, records: Option<&'a Records<'a>>) -> Self {
        Cached { backend: Stored::new(backend, records), known: Memo::default() }
    }
}

impl<B: Backend> Backend for Cached<'_, B> {
    type Error = B::Error;

    fn name(&self) -> String {
        self.backend.name()
    }

    fn engine(&self) -> String {
        self.backend.engine()
    }

    fn prepare(&self, scenario: &mut Scenario, schemes: &[Spec], settings: &Settings) -> Result<Vec<Spec>, B::Error> {
        self.backend.prepare(scenario, schemes, settings)
    }

    fn is_sequential(&self) -> bool {
        self.backend.is_sequential()
    }

    fn run(&self, run: &RunSpec<'_>, watch: &Watch<'_>) -> Result<RunRecord, Aborted<B::Error>> {
        let id = RunId::of(run, &self.backend).to_string();
        let record = self.known.once(id, || self.backend.run(run, watch))?;
        Ok(RunRecord::clone(&record))
    }
}
