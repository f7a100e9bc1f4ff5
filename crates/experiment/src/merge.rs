//! Records of runs from several calls or machines, put together to one comparison.

use crate::backend::Settings;
use crate::comparison::{put_together, summary};
use crate::direction::Direction;
use crate::metrics::record::{RECORD_VERSION, RunRecord};
use crate::results::{Comparison, ScenarioSummary};
use crate::scenario::Scenario;
use gentle_aqm::Spec;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use thiserror::Error;

/// Everything that the runs of one call have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Command that made the runs: `gentle compare`.
    pub tool: String,
    /// Command line that gives the same results again; `None`: the runs were not made by the command.
    pub command: Option<String>,
    /// The scenario as results describe it.
    pub scenario: ScenarioSummary,
    /// SHA-256 of everything in the scenario that decides what happens in a run.
    pub fingerprint: String,
    /// Groups of the scenario's workloads.
    pub groups: Vec<String>,
    /// Upper ends of the ranges of connection sizes.
    pub bins: Vec<u64>,
    /// All schemes of the call, in the order asked for.
    pub schemes: Vec<String>,
    /// Scheme that the others are compared with; `None`: the first.
    pub reference: Option<String>,
    /// Whether the scenario's assumptions are shown below the table: it was inferred from a capture, or measured.
    #[serde(rename = "shows_choices")]
    pub shows_assumptions: bool,
}

impl Experiment {
    /// The experiment in which `scenario` runs under `schemes`, made by the command `tool`.
    pub fn new(
        tool: &str,
        scenario: &Scenario,
        schemes: &[Spec],
        settings: &Settings,
    ) -> Experiment {
        Experiment {
            tool: tool.to_owned(),
            command: None,
            scenario: summary(scenario, &settings.seeds),
            fingerprint: fingerprint(scenario),
            groups: scenario.groups().into_iter().map(str::to_owned).collect(),
            bins: settings.bins.clone(),
            schemes: schemes.iter().map(ToString::to_string).collect(),
            reference: None,
            shows_assumptions: false,
        }
    }

    /// The scenario without what may differ between calls whose runs belong together.
    fn common(&self) -> ScenarioSummary {
        ScenarioSummary {
            seeds: Vec::new(),
            assumptions: Vec::new(),
            ..self.scenario.clone()
        }
    }
}

/// SHA-256, in hexadecimal, of what decides the runs of a scenario: the queue under test and what is only shown are left out.
fn fingerprint(scenario: &Scenario) -> String {
    struct Hashing(Sha256);
    impl Write for Hashing {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }
    let mut hashing = Hashing(Sha256::new());
    let links = scenario.links.iter().map(|link| {
        let (rate, delay, loss) = (link.rate, link.delay, link.loss);
        (rate, delay, loss, link.overhead, &link.changes)
    });
    let decisive = (
        (scenario.duration, scenario.warmup, scenario.drain),
        &scenario.profile,
        links.collect::<Vec<_>>(),
        scenario.link(Direction::Up).qdisc.to_string(),
        &scenario.access,
        &scenario.workloads,
    );
    write!(hashing, "{decisive:?}").expect("hashing takes any text");
    let mut hex = String::new();
    for byte in hashing.0.finalize() {
        write!(hex, "{byte:02x}").expect("a string takes any text");
    }
    hex
}

/// The record of one run with the experiment that it belongs to: a file that `gentle compare --record` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The experiment.
    pub experiment: Experiment,
    /// The run.
    pub run: RunRecord,
}

/// Why a text is no record of a run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordError {
    /// It is not the JSON of a record.
    #[error(
        "line {line}, column {column}: not the record of a run; expected a file that gentle compare --record wrote"
    )]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// It has another version.
    #[error("record version {0}; expected version {RECORD_VERSION}, which this gentle writes")]
    Version(u32),
    /// Its parts contradict each other.
    #[error(
        "the run does not fit its experiment; expected a file that gentle compare --record wrote, unchanged"
    )]
    Inconsistent,
}

impl Record {
    /// Reads the JSON of a record.
    ///
    /// # Errors
    /// It is not the JSON of a record of [`RECORD_VERSION`].
    pub fn from_json(text: &str) -> Result<Record, RecordError> {
        #[derive(Deserialize)]
        struct Versioned {
            run: Version,
        }
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let syntax = |error: serde_json::Error| RecordError::Syntax {
            line: error.line(),
            column: error.column(),
        };
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

    /// The JSON of the record, one line.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string(self).expect("records have text keys and finite numbers");
        json + "\n"
    }

    fn is_consistent(&self) -> bool {
        let Record { experiment, run } = self;
        let is_scheme =
            |label: &String| label.parse::<Spec>().is_ok_and(|s| s.to_string() == *label);
        experiment.schemes.contains(&run.scheme)
            && experiment.schemes.iter().all(is_scheme)
            && experiment.scenario.seeds.contains(&run.seed)
            && experiment.bins.is_sorted_by(|a, b| a < b)
            && run.fits(experiment.groups.len(), &experiment.bins)
    }
}

/// Why records cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeError {
    /// There are none.
    #[error("no records of runs; expected files that gentle compare --record wrote")]
    Empty,
    /// Two are not of the same experiment.
    #[error("{first} and {second} do not belong together: {difference}")]
    Different {
        /// Name of a record.
        first: String,
        /// Name of another.
        second: String,
        /// What differs.
        difference: String,
    },
    /// Two are of the same run and not equal.
    #[error(
        "{first} and {second} are both the run of {scheme} with seed {seed}, and differ; expected equal records of one run"
    )]
    Contradiction {
        /// Name of a record.
        first: String,
        /// Name of another.
        second: String,
        /// The scheme.
        scheme: String,
        /// The seed.
        seed: u64,
    },
}

/// Outcome of [`merge`].
#[derive(Debug, Clone)]
pub struct Merged {
    /// The comparison over all runs.
    pub comparison: Comparison,
    /// The experiments that the runs belong to, each once, in an order that does not depend on that of the records.
    pub experiments: Vec<Experiment>,
}

/// Puts named records of runs together, to the comparison that one call for all of them gives. The outcome does not depend
/// on the order of the records; equal records of the same run count once.
///
/// Schemes are in the order asked for. Where several calls asked for different ones, those of the call come first that has
/// the least list of schemes in alphabetical order. Seeds then are in ascending order. Runs that a call asked for and that are
/// missing make the comparison `interrupted`.
///
/// # Errors
/// There are no records, or they are of different scenarios, or two of one run differ.
pub fn merge(records: Vec<(String, Record)>) -> Result<Merged, MergeError> {
    let mut experiments: Vec<Experiment> = Vec::new();
    let mut runs: BTreeMap<(String, u64), (String, RunRecord)> = BTreeMap::new();
    let mut first: Option<(String, Experiment, RunRecord)> = None;
    for (name, Record { experiment, run }) in records {
        if let Some((first, other, other_run)) = &first {
            if let Some(difference) = difference((other, other_run), (&experiment, &run)) {
                return Err(MergeError::Different {
                    first: first.clone(),
                    second: name,
                    difference,
                });
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
        (
            experiment.schemes.clone(),
            experiment.scenario.seeds.clone(),
            json,
        )
    });
    let Some(leading) = experiments.first() else {
        return Err(MergeError::Empty);
    };
    let labels = unique(experiments.iter().flat_map(|e| e.schemes.clone()));
    let schemes: Vec<Spec> = labels
        .iter()
        .filter_map(|label| label.parse().ok())
        .collect();
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
        assumptions: unique(
            experiments
                .iter()
                .flat_map(|e| e.scenario.assumptions.clone()),
        ),
        ..leading.scenario.clone()
    };
    let mut comparison = put_together(scenario, &leading.groups, &schemes, by_scheme);
    let same_command = experiments.iter().all(|e| e.command == leading.command);
    comparison.command = leading.command.clone().filter(|_| same_command);
    let references = unique(experiments.iter().map(|e| e.reference.clone()));
    if let [Some(reference)] = &references[..] {
        // Without a finished run of it, the first scheme stays the reference.
        comparison.refer_to(reference);
    }
    Ok(Merged {
        comparison,
        experiments,
    })
}

/// Each value once, at its first place.
fn unique<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

/// Why two runs do not belong to one comparison; `None`: they do.
fn difference(a: (&Experiment, &RunRecord), b: (&Experiment, &RunRecord)) -> Option<String> {
    let ((a, a_run), (b, b_run)) = (a, b);
    if a_run.gentle != b_run.gentle {
        let (a, b) = (&a_run.gentle, &b_run.gentle);
        return Some(format!("made by gentle {a} and gentle {b}"));
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
        true => format!(
            "both scenarios are named '{a}', but differ in links, hosts, traffic or duration"
        ),
        false => format!("one is of the scenario '{a}', the other of '{b}'"),
    })
}
