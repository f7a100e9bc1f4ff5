//! Batches: runs as bytes, and their results as bytes.

use crate::axis::Coordinate;
use crate::base::{Base, Inputs, Resolver, Setting};
use crate::connection::Connections;
use crate::metrics::Metrics;
use crate::row::{self, Common, Row};
use crate::write;
use gentle_aqm::Spec;
use gentle_experiment::{Aborted, Backend, RunSpec, Watch};
use gentle_runs::hash;
use gentle_runs::{Origin, RunId};
use gentle_units::text;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thiserror::Error;

/// Runs that are made together, with everything they need except the texts of [`Inputs`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Version that made the batch, and has to run it.
    pub origin: Origin,
    /// Backend that executes the runs, by its [name](Backend::name).
    pub backend: String,
    /// Upper ends of the ranges of connection sizes, in segments.
    pub bins: Vec<u64>,
    /// True if the connections are wanted one by one.
    pub connections: bool,
    pub(crate) bases: Vec<Base>,
    pub(crate) points: Vec<BatchPoint>,
}

/// Results of a batch, as Parquet files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Results {
    /// A row per run.
    pub runs: Vec<u8>,
    /// A row per connection, if the batch requests it.
    pub connections: Option<Vec<u8>>,
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
    #[error("the batch was interrupted")]
    Stopped,
    /// The bytes are not a batch.
    #[error("not a batch of runs: {0}")]
    Syntax(String),
    /// Another version made the batch.
    #[error(
        "the batch was made by {made}, but this worker has {here}; expected the same gentle on the client and all \
         workers: install one version everywhere"
    )]
    Version {
        /// Version that made the batch.
        made: String,
        /// Version of this process.
        here: String,
    },
    /// The runs are of another backend.
    #[error(
        "the batch requires {made}, but this worker has {here}; expected the same on the client and all workers: build \
         one kernel everywhere (gentle testbed build)"
    )]
    Backend {
        /// Backend of the batch.
        made: String,
        /// Backend of this process.
        here: String,
    },
    /// A run of the batch is not valid here.
    #[error("the batch cannot be run: {0}")]
    Content(String),
}

impl Batch {
    /// Reads a batch.
    ///
    /// # Errors
    /// The bytes are no batch of this version.
    pub fn from_json(bytes: &[u8]) -> Result<Batch, BatchError> {
        serde_json::from_slice(bytes).map_err(|error| BatchError::Syntax(error.to_string()))
    }

    /// Writes the batch; equal batches have equal bytes.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("batches have text keys")
    }

    /// Name of the file with the results of the batch with these bytes.
    pub fn file_name(bytes: &[u8]) -> String {
        format!("{}.parquet", &hash(bytes)[..32])
    }

    /// Each run as a batch.
    pub fn split(&self) -> Vec<Batch> {
        let empty = Batch { bases: Vec::new(), points: Vec::new(), ..self.clone() };
        let mut parts = Vec::new();
        for point in &self.points {
            for scheme in &point.schemes {
                for seed in &scheme.seeds {
                    let scheme = BatchScheme { seeds: vec![*seed], ..scheme.clone() };
                    let base = self.bases.get(point.base).cloned();
                    parts.push(Batch {
                        bases: base.into_iter().collect(),
                        points: vec![BatchPoint { base: 0, schemes: vec![scheme], ..point.clone() }],
                        ..empty.clone()
                    });
                }
            }
        }
        parts
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        let schemes = self.points.iter().flat_map(|point| &point.schemes);
        schemes.map(|scheme| scheme.seeds.len()).sum()
    }
}

/// The first run, and the number of all.
impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.points.first();
        let Some((point, scheme)) = first.and_then(|point| Some((point, point.schemes.first()?))) else {
            return f.write_str("a batch without runs");
        };
        f.write_str(&run_name(point, scheme, scheme.seeds.first().copied().unwrap_or_default()))?;
        match self.runs() {
            0 | 1 => Ok(()),
            runs => write!(f, " and {}", text::plural(runs as u64 - 1, "more run", "more runs")),
        }
    }
}

/// A run by its coordinates, for messages.
fn run_name(point: &BatchPoint, scheme: &BatchScheme, seed: u64) -> String {
    let mut name = String::new();
    for (axis, value) in point.coordinates.iter().chain(&scheme.coordinates) {
        match value {
            Coordinate::Text(text) => name += &format!("{axis} = {text}, "),
            Coordinate::Number(number) => name += &format!("{axis} = {number}, "),
        }
    }
    format!("{name}{}, seed {seed}", scheme.scheme)
}

/// Refuses a batch for another backend than `backend`, and one that other code made, of which only this much is known.
fn check_origin(bytes: &[u8], backend: &impl Backend) -> Result<(), BatchError> {
    #[derive(Deserialize)]
    struct Made {
        origin: Origin,
        backend: String,
    }
    let made: Made = serde_json::from_slice(bytes).map_err(|error| BatchError::Syntax(error.to_string()))?;
    if made.backend != backend.name() {
        return Err(BatchError::Backend { made: made.backend, here: backend.name() });
    }
    let here = Origin::of(backend);
    match made.origin == here {
        true => Ok(()),
        false => Err(BatchError::Version { made: made.origin.to_string(), here: here.to_string() }),
    }
}

/// Makes the runs of the batch with these bytes on `backend`. In the simulator this is a pure function: equal arguments
/// have equal results on every machine. `inputs` has the texts that the batch refers to. Runs end early when `stop`
/// becomes true.
///
/// # Errors
/// The batch was made by another version or for another backend, or is damaged; or `stop` is true.
pub fn run_batch<B: Backend>(
    backend: &B,
    bytes: &[u8],
    inputs: &Inputs,
    stop: &AtomicBool,
) -> Result<Results, BatchError>
where
    B::Error: std::fmt::Display,
{
    check_origin(bytes, backend)?;
    let batch = Batch::from_json(bytes)?;
    let content = |problem: String| BatchError::Content(problem);
    let watch = Watch { stop, progress: &|_| {} };
    let mut resolver = Resolver::default();
    let mut rows = Vec::new();
    let mut metrics = Metrics::default();
    let mut connections = Connections::default();
    for point in &batch.points {
        let base = batch.bases.get(point.base).ok_or_else(|| content(format!("no base {}", point.base)))?;
        let scenario = resolver.scenario(base, &point.settings, inputs);
        let scenario = scenario.map_err(|error| content(error.problem))?;
        let fingerprint = scenario.fingerprint();
        if fingerprint != point.fingerprint {
            return Err(content(format!(
                "it describes the scenario {fingerprint} here, and {} on the client",
                point.fingerprint
            )));
        }
        let common = Common::new(&scenario, fingerprint, batch.origin.clone(), &batch.backend, &batch.bins);
        let common = Arc::new(common);
        let names = scenario.metric_names(batch.bins.len() + 1);
        metrics.add(&names);
        for of_scheme in &point.schemes {
            let spec: Spec = of_scheme.scheme.parse().map_err(|error| content(format!("{error}")))?;
            let mut coordinates = point.coordinates.clone();
            coordinates.extend(of_scheme.coordinates.clone());
            let scenario = scenario.under(&spec);
            for seed in of_scheme.seeds.iter().copied() {
                let run = RunSpec {
                    scenario: &scenario,
                    scheme: &spec,
                    seed,
                    bins: &batch.bins,
                    keep_connections: batch.connections,
                };
                let record = backend.run(&run, &watch).map_err(|error| match error {
                    Aborted::Stopped => BatchError::Stopped,
                    Aborted::Failed(error) => content(format!("{}: {error}", run_name(point, of_scheme, seed))),
                })?;
                let scheme = spec.to_string();
                let key = RunId::new(&batch.origin, &batch.backend, &common.fingerprint, &scheme, seed, &batch.bins);
                rows.push(Row {
                    key,
                    common: Arc::clone(&common),
                    scheme,
                    scheme_name: spec.scheme().name,
                    seed,
                    coordinates: coordinates.clone(),
                    metrics: metrics.row(&names, record.metrics()),
                });
                connections.add(&key, &scenario, record.connections);
            }
        }
    }
    let runs = row::table(&rows, &row::axes_of(&rows), metrics.names());
    let small = write::small_file(&runs).map_err(|error| content(error.to_string()))?;
    let connections = batch.connections.then(|| connections.parquet());
    let connections = connections.transpose();
    Ok(Results { runs: small, connections: connections.map_err(|error| content(error.to_string()))? })
}
