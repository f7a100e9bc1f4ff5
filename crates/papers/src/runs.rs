//! Runs that are made once: figures share them, and records of earlier calls or other machines replace them.

use gentle_aqm::Spec;
use gentle_experiment::{Aborted, Backend, Experiment, Record, RunRecord, RunSpec, Scenario, Settings, Watch};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Storage of run records between calls.
pub trait Store: Sync {
    /// The JSON stored under `name`, which is fit for a file name; `None` if there is none.
    fn load(&self, name: &str) -> Option<String>;
    /// Stores JSON under `name`. Errors are the implementation's to report: the runs continue.
    fn save(&self, name: &str, json: &str);
    /// Called before a run is made whose stored record does not count: other code made it, or it is damaged.
    fn outdated(&self, name: &str);
}

/// A backend that makes each run once.
pub(crate) struct Cached<'a, B> {
    backend: B,
    store: Option<&'a dyn Store>,
    known: Mutex<HashMap<String, RunRecord>>,
}

impl<'a, B: Backend> Cached<'a, B> {
    pub(crate) fn new(backend: B, store: Option<&'a dyn Store>) -> Self {
        Cached { backend, store, known: Mutex::default() }
    }

    fn remember(&self, name: String, record: &RunRecord) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name, record.clone());
    }

    fn known(&self, name: &str) -> Option<RunRecord> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(name).cloned()
    }
}

fn experiment(run: &RunSpec<'_>) -> Experiment {
    let settings = Settings { seeds: vec![run.seed], bins: run.bins.to_vec() };
    let schemes = [run.scheme.clone()];
    Experiment::new("gentle reproduce", run.scenario, &schemes, &settings)
}

/// Name of a run that differs from those of all other runs: `a1b2c3d4e5f60718-codel-target-20ms-3-10-100-seed-1`.
fn name(experiment: &Experiment, run: &RunSpec<'_>) -> String {
    let bins: String = run.bins.iter().map(|bin| format!("-{bin}")).collect();
    let label = run.scheme.to_string();
    let label = label.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_', "-");
    let fingerprint = experiment.fingerprint.get(..16).unwrap_or_default();
    format!("{fingerprint}-{label}{bins}-seed-{}", run.seed)
}

impl<B: Backend> Backend for Cached<'_, B> {
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

    fn run(&self, run: &RunSpec<'_>, watch: &Watch<'_>) -> Result<RunRecord, Aborted<B::Error>> {
        let experiment = experiment(run);
        let name = name(&experiment, run);
        if let Some(record) = self.known(&name) {
            return Ok(record);
        }
        if let Some(store) = self.store
            && let Some(json) = store.load(&name)
        {
            if let Ok(stored) = Record::from_json(&json)
                && stored.run.engine == self.engine()
                && stored.experiment.fingerprint == experiment.fingerprint
                && stored.experiment.bins == run.bins
                && (stored.run.seed, &stored.run.scheme) == (run.seed, &run.scheme.to_string())
            {
                self.remember(name, &stored.run);
                return Ok(stored.run);
            }
            store.outdated(&name);
        }
        let made = self.backend.run(run, watch)?;
        if let Some(store) = self.store {
            let record = Record { experiment, run: made.clone() };
            store.save(&name, &record.to_json());
        }
        self.remember(name, &made);
        Ok(made)
    }
}
