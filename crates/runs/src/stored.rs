//! A backend that makes each run once.

use crate::id::RunId;
use crate::record::Records;
use gentle_aqm::Spec;
use gentle_experiment::{Aborted, Backend, RunRecord, RunSpec, Scenario, Settings, Watch};

/// A backend with a store: stored runs are reused.
pub struct Stored<'a, B> {
    backend: &'a B,
    records: Option<&'a Records<'a>>,
}

impl<'a, B: Backend> Stored<'a, B> {
    /// `backend` with the records of a store, if there is one.
    pub fn new(backend: &'a B, records: Option<&'a Records<'a>>) -> Stored<'a, B> {
        Stored { backend, records }
    }
}

impl<B: Backend> Backend for Stored<'_, B> {
    type Error = B::Error;

    fn name(&self) -> String {
        self.backend.name()
    }

    fn engine(&self) -> String {
        self.backend.engine()
    }

    fn cost(scenario: &Scenario) -> f64 {
        B::cost(scenario)
    }

    fn prepare(&self, scenario: &mut Scenario, schemes: &[Spec], settings: &Settings) -> Result<Vec<Spec>, B::Error> {
        self.backend.prepare(scenario, schemes, settings)
    }

    fn is_sequential(&self) -> bool {
        self.backend.is_sequential()
    }

    /// The run, from the store if it is there. Records have no rows of connections: runs that keep connections are
    /// made.
    fn run(&self, run: &RunSpec<'_>, watch: &Watch<'_>) -> Result<RunRecord, Aborted<B::Error>> {
        let Some(records) = self.records.filter(|_| !run.keep_connections) else {
            return self.backend.run(run, watch);
        };
        let id = RunId::of(run, self.backend);
        if let Some(known) = records.load(id, run) {
            return Ok(known);
        }
        let made = self.backend.run(run, watch)?;
        records.save(id, run, &made);
        Ok(made)
    }
}
