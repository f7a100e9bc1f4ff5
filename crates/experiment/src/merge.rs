//! Merging of run records from several calls or machines into one comparison.

use crate::backend::Settings;
use crate::comparison::{assemble, summary};
use crate::measure::over_seeds::Parts;
use crate::metrics::record::{RECORD_VERSION, RunRecord};
use crate::results::{Comparison, ScenarioSummary};
use crate::scenario::{Application, Scenario};
use gentle_aqm::Spec;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Common properties of the runs of one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Command that made the runs: `gentle compare`.
    pub tool: String,
    /// Command line that reproduces the results; `None` if the runs were not made by the command.
    pub command: Option<String>,
    /// Summary of the scenario.
    pub scenario: ScenarioSummary,
    /// SHA-256 of everything in the scenario that decides what happens in a run.
    pub fingerprint: String,
    /// Groups of the scenario's workloads.
    pub groups: Vec<String>,
    /// Applications among the scenario's workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<Application>,
    /// Upper ends of the ranges of connection sizes.
    pub bins: Vec<u64>,
    /// All schemes of the call, in the order asked for.
    pub schemes: Vec<String>,
    /// Scheme that the others are compared with; `None`: the first.
    pub reference: Option<String>,
    /// True if the scenario's assumptions are shown below the table: it was inferred from a capture, or measured.
    #[serde(rename = "shows_choices")]
    pub shows_assumptions: bool,
}

impl Experiment {
    /// The experiment that runs `scenario` under `schemes`, made by the command `tool`.
    pub fn new(tool: &str, scenario: &Scenario, schemes: &[Spec], settings: &Settings) -> Experiment {
        Experiment {
            tool: tool.to_owned(),
            command: None,
            scenario: summary(scenario, &settings.seeds),
            fingerprint: scenario.fingerprint(),
            groups: scenario.groups().into_iter().map(str::to_owned).collect(),
            applications: scenario.applications(),
            bins: settings.bins.clone(),
            schemes: schemes.iter().map(ToString::to_string).collect(),
            reference: None,
            shows_assumptions: false,
        }
    }

    /// The scenario without the fields that may differ between calls whose runs can be merged.
    fn common(&self) -> ScenarioSummary {
        ScenarioSummary { seeds: Vec::new(), assumptions: Vec::new(), ..self.scenario.clone() }
    }
}

/// The record of a run with its experiment: the content of a file that `gentle compare --record` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The experiment.
    pub experiment: Experiment,
    /// The run.
    pub run: RunRecord,
}

/// Error from reading the record of a run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The text is not the JSON of a record.
    #[error(
        "line {line}, column {column}: not the record of a run; expected a file that gentle compare --record wrote"
    )]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// The record has another version.
    #[error("record version {0}; expected version {RECORD_VERSION}, which this gentle writes")]
    Version(u32),
    /// The parts of the record contradict each other.
    #[error("the run does not fit its experiment; expected a file that gentle compare --record wrote, unchanged")]
    Inconsistent,
}

impl Record {
    /// Parses the JSON of a record.
    ///
    /// # Errors
    /// The text is not the JSON of a consistent record of version [`RECORD_VERSION`].
    pub fn from_json(text: &str) -> Result<Record, RecordError> {
        #[derive(Deserialize)]
        struct Versioned {
            run: Version,
        }
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let syntax = |error: serde_json::Error| RecordError::Syntax { line: error.line(), column: error.column() };
        let versioned: Versioned = serde_json::from_str(text).map_err(syntax)?;
        if versioned.run.version != RECORD_VERSION {
            return Err(RecordError::Version(versioned.run.version));
        }
        let record: Record = serde_json::from_str(text).map_err(syntax)?;
        match record.is_consistent() {
            true => Ok(record),
            false => Err(RecordError::Inconsistent),
        }
    }

    /// Writes the record as JSON on one line.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string(self).expect("records have text keys and finite numbers");
        json + "\n"
    }

    fn is_consistent(&self) -> bool {
        let Record { experiment, run } = self;
        let is_scheme = |label: &String| label.parse::<Spec>().is_ok_and(|s| s.to_string() == *label);
        experiment.schemes.contains(&run.scheme)
            && experiment.schemes.iter().all(is_scheme)
            && experiment.scenario.seeds.contains(&run.seed)
            && experiment.bins.is_sorted_by(|a, b| a < b)
            && run.fits(experiment.groups.len(), experiment.applications.len(), &experiment.bins)
    }
}

/// Error from [`merge`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeError {
    /// The list of records is empty.
    #[error("no records of runs; expected files that gentle compare --record wrote")]
    Empty,
    /// Two records belong to different experiments.
    #[error("{first} and {second} do not belong together: {difference}")]
    Different {
        /// Name of the first record.
        first: String,
        /// Name of the second record.
        second: String,
        /// The difference, as a clause.
        difference: String,
    },
    /// Two records of the same run are not equal.
    #[error(
        "{first} and {second} are both the run of {scheme} with seed {seed}, and differ; expected equal records of one run"
    )]
    Contradiction {
        /// Name of the first record.
        first: String,
        /// Name of the second record.
        second: String,
        /// Scheme of the run.
        scheme: String,
        /// Seed of the run.
        seed: u64,
    },
}

/// Result of [`merge`].
#[derive(Debug, Clone)]
pub struct Merged {
    /// The comparison over all runs.
    pub comparison: Comparison,
    /// The experiments of the runs without duplicates, in an order that does not depend on that of the records.
    pub experiments: Vec<Experiment>,
}

/// Merges named records of runs into the comparison that a single call for all runs gives. The result does not depend
/// on the order of the records; equal records of the same run count once.
///
/// Schemes are in the order asked for. If calls asked for different schemes, the call whose list of schemes is first in
/// alphabetical order leads. If calls asked for different seeds, seeds are in ascending order. If runs that a call
/// asked for are missing, the comparison is marked `interrupted`.
///
/// # Errors
/// There are no records, they belong to different scenarios, or two records of one run differ.
pub fn merge(records: Vec<(String, Record)>) -> Result<Merged, MergeError> {
    let mut experiments: Vec<Experiment> = Vec::new();
    let mut runs: BTreeMap<(String, u64), (String, RunRecord)> = BTreeMap::new();
    let mut first: Option<(String, Experiment, RunRecord)> = None;
    for (name, Record { experiment, run }) in records {
        if let Some((first, other, other_run)) = &first {
            if let Some(difference) = difference((other, other_run), (&experiment, &run)) {
                return Err(MergeError::Different { first: first.clone(), second: name, difference });
            }
        } else {
            first = Some((name.clone(), experiment.clone(), run.clone()));
        }
        if !experiments.contains(&experiment) {
            experiments.push(experiment);
        }
        let key = (run.scheme.clone(), run.seed);
        match runs.get(&key) {
            None => {
                runs.insert(key, (name, run));
            }
            Some((_, known)) if *known == run => {}
            Some((first, _)) => {
                return Err(MergeError::Contradiction {
                    first: first.clone(),
                    second: name,
                    scheme: run.scheme,
                    seed: run.seed,
                });
            }
        }
    }
    experiments.sort_by_cached_key(|experiment| {
        let json = serde_json::to_string(experiment).expect("records have text keys");
        (experiment.schemes.clone(), experiment.scenario.seeds.clone(), json)
    });
    let Some(leading) = experiments.first() else {
        return Err(MergeError::Empty);
    };
    let labels = unique(experiments.iter().flat_map(|e| e.schemes.clone()));
    let schemes: Vec<Spec> = labels.iter().filter_map(|label| label.parse().ok()).collect();
    let asked = |experiment: &Experiment| experiment.scenario.seeds == leading.scenario.seeds;
    let seeds: Vec<u64> = match experiments.iter().all(asked) {
        true => leading.scenario.seeds.clone(),
        false => {
            let all = experiments.iter().flat_map(|e| e.scenario.seeds.clone());
            all.collect::<BTreeSet<u64>>().into_iter().collect()
        }
    };
    let by_scheme = labels.iter().map(|label| {
        let of_seed = |seed: &u64| Some(runs.remove(&(label.clone(), *seed))?.1);
        seeds.iter().map(of_seed).collect()
    });
    let by_scheme = by_scheme.collect();
    let scenario = ScenarioSummary {
        seeds,
        assumptions: unique((experiments.iter()).flat_map(|e| e.scenario.assumptions.clone())),
        ..leading.scenario.clone()
    };
    let parts = Parts { groups: &leading.groups, applications: &leading.applications };
    let mut comparison = assemble(scenario, parts, &schemes, by_scheme);
    let same_command = experiments.iter().all(|e| e.command == leading.command);
    comparison.command = leading.command.clone().filter(|_| same_command);
    let references = unique(experiments.iter().map(|e| e.reference.clone()));
    if let [Some(reference)] = &references[..] {
        // The first scheme stays the reference if this one has no finished run.
        comparison.set_reference(reference);
    }
    Ok(Merged { comparison, experiments })
}

/// Removes duplicates; the first of equal values stays.
fn unique<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

/// The difference between two runs that rules out a common comparison; `None`: there is none.
fn difference(a: (&Experiment, &RunRecord), b: (&Experiment, &RunRecord)) -> Option<String> {
    let ((a, a_run), (b, b_run)) = (a, b);
    if a_run.gentle != b_run.gentle {
        let (a, b) = (&a_run.gentle, &b_run.gentle);
        return Some(format!("made by gentle {a} and gentle {b}"));
    }
    if a_run.backend == b_run.backend && a_run.engine != b_run.engine {
        let [a, b] = [a_run, b_run].map(|run| run.engine.get(..8).unwrap_or(&run.engine));
        return Some(format!("made by different builds of gentle (engine {a} and {b}); expected runs of one build"));
    }
    if a_run.backend != b_run.backend {
        let (a, b) = (&a_run.backend, &b_run.backend);
        return Some(format!("one was run by {a}, the other by {b}"));
    }
    if a.bins != b.bins {
        return Some("they have different ranges of connection sizes (--bins)".to_owned());
    }
    if (&a.fingerprint, &a.groups) == (&b.fingerprint, &b.groups) && a.common() == b.common() {
        return None;
    }
    let (a, b) = (&a.scenario.name, &b.scenario.name);
    Some(match a == b {
        true => format!("both scenarios are named '{a}', but differ in links, hosts, traffic or duration"),
        false => format!("one is of the scenario '{a}', the other of '{b}'"),
    })
}
