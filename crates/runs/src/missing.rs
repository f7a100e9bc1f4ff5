//! Runs that a store lacks, as independent tasks for other processes or other machines.

use crate::execute::execute;
use crate::id::RunId;
use crate::plan::Plan;
use crate::record::Records;
use crate::store::Memory;
use gentle_aqm::Spec;
use gentle_experiment::{Backend, Observer, Part, Run, RunSpec, Scenario, Settings};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;
use thiserror::Error;

/// One run of a plan, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Part of the traffic that runs alone; `None`: the whole traffic.
    pub part: Option<String>,
    /// Scheme with its options.
    pub scheme: String,
    /// Seed.
    pub seed: u64,
}

/// Reason for which a task has no result.
#[derive(Debug, Error)]
pub enum TaskError {
    /// The scenario has no such part, or there is no such scheme.
    #[error("{0}")]
    Unknown(String),
    /// The backend failed.
    #[error("{0}")]
    Failed(String),
    /// The run was interrupted.
    #[error("the run was interrupted")]
    Stopped,
}

/// Runs of `plan` that `records` lacks, in the order of [`execute`]; queues that are code cannot be among its schemes.
///
/// # Errors
/// The backend failed.
pub fn missing<B: Backend>(plan: &Plan, backend: &B, records: &Records<'_>) -> Result<Vec<Task>, B::Error> {
    let mut tasks = Vec::new();
    let parts = plan.parts();
    for part in std::iter::once(None).chain(parts.iter().map(Some)) {
        let mut scenario = of_part(&plan.scenario, part);
        let schemes = backend.prepare(&mut scenario, &plan.schemes, &plan.settings)?;
        for &seed in &plan.settings.seeds {
            for scheme in &schemes {
                let bins = &plan.settings.bins;
                let run = RunSpec { scenario: &scenario.under(scheme), scheme, seed, bins, keep_connections: false };
                if records.load(RunId::of(&run, backend), &run).is_none() {
                    tasks.push(Task { part: part.map(|part| part.name.clone()), scheme: scheme.to_string(), seed });
                }
            }
        }
    }
    Ok(tasks)
}

fn of_part(scenario: &Scenario, part: Option<&Part>) -> Scenario {
    part.map_or_else(|| scenario.clone(), |part| scenario.alone(part))
}

/// No-op observer.
struct Unseen;

impl Observer for Unseen {
    fn started(&self, _: Run) {}
    fn reached(&self, _: Run, _: f64) {}
    fn finished(&self, _: Run) {}
}

impl Task {
    /// Makes the run, and returns the name and the content of its record's file.
    ///
    /// # Errors
    /// The task is of another scenario, the backend failed, or `stop` is true.
    pub fn make<B: Backend>(
        &self,
        scenario: &Scenario,
        bins: &[u64],
        backend: &B,
        stop: &AtomicBool,
    ) -> Result<(String, Vec<u8>), TaskError>
    where
        B::Error: std::fmt::Display,
    {
        let parts = scenario.parts();
        let part = self.part.as_ref().map(|name| {
            let known = parts.iter().find(|part| part.name == *name);
            known.ok_or_else(|| TaskError::Unknown(format!("the scenario has no part '{name}'")))
        });
        let scheme: Spec = self.scheme.parse().map_err(|error| TaskError::Unknown(format!("{error}")))?;
        let plan = Plan {
            scenario: of_part(scenario, part.transpose()?),
            schemes: vec![scheme],
            settings: Settings { seeds: vec![self.seed], bins: bins.to_vec() },
            reference: None,
            harm: false,
        };
        let store = Memory::default();
        let made = execute(&plan, backend, Some(&Records::new(&store)), |_| Unseen, stop);
        made.map_err(|error| TaskError::Failed(error.to_string()))?;
        store.into_files().pop_first().ok_or(TaskError::Stopped)
    }
}
