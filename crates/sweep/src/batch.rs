//! Batches: runs as bytes, and their results as bytes.

use crate::axis::Coordinate;
use crate::base::{Base, Inputs, Resolver, Setting};
use crate::key::{Key, hash};
use crate::origin::Origin;
use crate::row::{self, Common, Row};
use crate::table;
use gentle_aqm::Spec;
use gentle_experiment::{Aborted, Backend, RunRecord, RunSpec, Watch};
use gentle_sim::Simulator;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thiserror::Error;

/// Name of the simulator in [`Batch::backend`].
pub(crate) const SIMULATOR: &str = "simulator";

/// Runs that are made together, with everything they need except the texts of [`Inputs`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Version that made the batch, and has to run it.
    pub origin: Origin,
    /// What executes the runs: `simulator`.
    pub backend: String,
    /// Upper ends of the ranges of connection sizes, in segments.
    pub bins: Vec<u64>,
    pub(crate) bases: Vec<Base>,
    pub(crate) points: Vec<BatchPoint>,
}

/// Runs of a batch at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchPoint {
    /// Index in [`Batch::bases`].
    pub(crate) base: usize,
    pub(crate) settings: Vec<Setting>,
    pub(crate) coordinates: BTreeMap<String, Coordinate>,
    /// Fingerprint of the scenario, which the worker has to find as well.
    pub(crate) fingerprint: String,
    pub(crate) schemes: Vec<BatchScheme>,
}

/// Runs of a batch under one scheme.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchScheme {
    pub(crate) scheme: String,
    pub(crate) coordinates: BTreeMap<String, Coordinate>,
    pub(crate) seeds: Vec<u64>,
}

/// Reason for which a batch has no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BatchError {
    /// The run was cancelled.
    #[error("the batch was stopped")]
    Stopped,
    /// The bytes are no batch.
    #[error("not a batch of runs: {0}")]
    Syntax(String),
    /// Another version made the batch.
    #[error(
        "the batch was made by {made}, and this worker has {here}; expected the same gentle on the client and all workers: install one version everywhere"
    )]
    Version {
        /// Version that made the batch.
        made: String,
        /// Version of this process.
        here: String,
    },
    /// A run of the batch is not valid here.
    #[error("the batch does not fit this worker: {0}")]
    Content(String),
}

impl Batch {
    /// Reads a batch; refuses those of other versions.
    ///
    /// # Errors
    /// The bytes are no batch of this version.
    pub fn from_json(bytes: &[u8]) -> Result<Batch, BatchError> {
        #[derive(Deserialize)]
        struct Made {
            origin: Origin,
        }
        let syntax = |error: serde_json::Error| BatchError::Syntax(error.to_string());
        let made: Made = serde_json::from_slice(bytes).map_err(syntax)?;
        let here = Origin::here();
        if made.origin != here {
            return Err(BatchError::Version {
                made: made.origin.to_string(),
                here: here.to_string(),
            });
        }
        serde_json::from_slice(bytes).map_err(syntax)
    }

    /// Writes the batch; equal batches have equal bytes.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("batches have text keys")
    }

    /// Name of the file with the results of the batch with these bytes.
    pub fn file_name(bytes: &[u8]) -> String {
        format!("{}.parquet", &hash(bytes)[..32])
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        let schemes = self.points.iter().flat_map(|point| &point.schemes);
        schemes.map(|scheme| scheme.seeds.len()).sum()
    }
}

/// Makes the runs of the batch with these bytes in the simulator; the result is a Parquet file with a row per run. A
/// pure function: equal arguments have equal results on every machine. `inputs` has the texts that the batch refers
/// to. Runs end early when `stop` becomes true.
///
/// # Errors
/// The batch was made by another version or is damaged, or `stop` is true.
pub fn run_batch(bytes: &[u8], inputs: &Inputs, stop: &AtomicBool) -> Result<Vec<u8>, BatchError> {
    let batch = Batch::from_json(bytes)?;
    match batch.backend.as_str() {
        SIMULATOR => run_on(&Simulator, &batch, inputs, stop),
        other => Err(BatchError::Content(format!(
            "it needs the backend '{other}'; expected {SIMULATOR}"
        ))),
    }
}

fn run_on<B: Backend>(
    backend: &B,
    batch: &Batch,
    inputs: &Inputs,
    stop: &AtomicBool,
) -> Result<Vec<u8>, BatchError>
where
    B::Error: std::fmt::Display,
{
    let content = |problem: String| BatchError::Content(problem);
    let watch = Watch {
        stop,
        progress: &|_| {},
    };
    let mut resolver = Resolver::default();
    let mut rows = Vec::new();
    for point in &batch.points {
        let base = batch
            .bases
            .get(point.base)
            .ok_or_else(|| content(format!("no base {}", point.base)))?;
        let scenario = resolver.scenario(base, &point.settings, inputs);
        let scenario = scenario.map_err(|error| content(error.problem))?;
        let fingerprint = scenario.fingerprint();
        if fingerprint != point.fingerprint {
            return Err(content(format!(
                "it describes the scenario {fingerprint} here, and {} on the client",
                point.fingerprint
            )));
        }
        let common = Common::new(
            &scenario,
            fingerprint,
            batch.origin.clone(),
            &batch.backend,
            &batch.bins,
        );
        let common = Arc::new(common);
        for of_scheme in &point.schemes {
            let spec: Spec = of_scheme
                .scheme
                .parse()
                .map_err(|error| content(format!("{error}")))?;
            let mut coordinates = point.coordinates.clone();
            coordinates.extend(of_scheme.coordinates.clone());
            for seed in of_scheme.seeds.iter().copied() {
                let run = RunSpec {
                    scenario: &scenario,
                    scheme: &spec,
                    seed,
                    bins: &batch.bins,
                };
                let record = backend.run(&run, &watch).map_err(|error| match error {
                    Aborted::Stopped => BatchError::Stopped,
                    Aborted::Failed(error) => content(error.to_string()),
                })?;
                let scheme = spec.to_string();
                rows.push(Row {
                    key: Key::new(
                        &batch.origin,
                        &batch.backend,
                        &common.fingerprint,
                        &scheme,
                        seed,
                        &batch.bins,
                    ),
                    common: Arc::clone(&common),
                    scheme,
                    scheme_name: spec.scheme().name,
                    seed,
                    coordinates: coordinates.clone(),
                    metrics: record.metrics().collect(),
                });
            }
        }
    }
    let metrics: Vec<String> = RunRecord::metric_names(batch.bins.len() + 1).collect();
    let written = row::table(&rows, &row::axes_of(&rows), &metrics)
        .map_err(|error| content(error.to_string()))?;
    table::small_file(&written).map_err(|error| content(error.to_string()))
}
