//! Records of runs in a store.

use crate::id::{RunId, hash};
use crate::store::{Folder, Store, StoreError};
use gentle_experiment::{RECORD_VERSION, RunRecord, RunSpec};
use gentle_units::text;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Content of a file of records (JSON): all measurements of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Identity of the run: 32 hexadecimal digits.
    pub id: String,
    /// Name of the scenario, for readers.
    pub scenario: String,
    /// SHA-256 of everything in the scenario that decides what happens in a run.
    pub fingerprint: String,
    /// Upper ends of the ranges of connection sizes, segments.
    pub bins: Vec<u64>,
    /// SHA-256 of the JSON of `run`, in hexadecimal: changed or damaged files are ignored.
    pub digest: String,
    /// The run.
    pub run: RunRecord,
}

impl Record {
    fn new(id: RunId, run: &RunSpec<'_>, made: &RunRecord) -> Record {
        Record {
            id: id.to_string(),
            scenario: run.scenario.name.clone(),
            fingerprint: run.scenario.fingerprint(),
            bins: run.bins.to_vec(),
            digest: digest(made),
            run: made.clone(),
        }
    }

    /// Reads the content of a file; `None` if it is not a record of this version, or damaged.
    pub fn from_json(content: &[u8]) -> Option<Record> {
        let record: Record = serde_json::from_slice(content).ok()?;
        (record.run.version == RECORD_VERSION && record.digest == digest(&record.run)).then_some(record)
    }

    /// Whether this is the record of a run.
    fn is_of(&self, id: RunId, run: &RunSpec<'_>) -> bool {
        let scenario = run.scenario;
        self.id == id.to_string()
            && self.run.scheme == run.scheme.to_string()
            && self.run.seed == run.seed
            && self.bins == run.bins
            && self.run.fits(scenario.groups().len(), scenario.applications().len(), run.bins)
    }
}

fn digest(run: &RunRecord) -> String {
    let json = serde_json::to_vec(run).expect("records have text keys and finite numbers");
    hash(&json)
}

/// Records of runs in a store, and counts of their use.
pub struct Records<'a> {
    store: &'a dyn Store,
    found: AtomicU64,
    made: AtomicU64,
    damaged: Mutex<Option<String>>,
    failed: Mutex<Option<StoreError>>,
}

/// Runs of a call with a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Runs that were in the store.
    pub found: u64,
    /// Runs that were made.
    pub made: u64,
    /// Place of the first record that could not be read, whose run was made again.
    pub damaged: Option<String>,
}

/// The store of records in a directory: `DIR/records/*.json`.
///
/// # Errors
/// The directory cannot be created.
pub fn records_in(directory: &Path) -> Result<Folder, StoreError> {
    Folder::open(directory, "records", "json")
}

impl<'a> Records<'a> {
    /// Records in `store`.
    pub fn new(store: &'a dyn Store) -> Records<'a> {
        Records {
            store,
            found: AtomicU64::new(0),
            made: AtomicU64::new(0),
            damaged: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    /// The runs so far.
    ///
    /// # Errors
    /// A record could not be written; the first such error. The other runs were made.
    pub fn finish(self) -> Result<Found, StoreError> {
        match self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(Found {
                found: self.found.into_inner(),
                made: self.made.into_inner(),
                damaged: self.damaged.into_inner().unwrap_or_else(PoisonError::into_inner),
            }),
        }
    }

    /// The record of a run, if the store has it.
    pub(crate) fn load(&self, id: RunId, run: &RunSpec<'_>) -> Option<RunRecord> {
        let name = name(id, run);
        let read = self.store.find(&name);
        let known = match &read {
            Ok(None) => return None,
            Ok(Some(content)) => Record::from_json(content),
            Err(_) => None,
        };
        match known.filter(|record| record.is_of(id, run)) {
            Some(record) => {
                self.found.fetch_add(1, Ordering::Relaxed);
                Some(record.run)
            }
            None => {
                let mut damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
                damaged.get_or_insert_with(|| self.store.place(&name));
                None
            }
        }
    }

    /// Stores the record of a run. After an error, other runs continue, so that their results are not lost.
    pub(crate) fn save(&self, id: RunId, run: &RunSpec<'_>, made: &RunRecord) {
        self.made.fetch_add(1, Ordering::Relaxed);
        let record = Record::new(id, run, made);
        let json = serde_json::to_vec(&record).expect("records have text keys and finite numbers");
        if let Err(error) = self.store.put(&name(id, run), &json) {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
        }
    }
}

/// Longest part of a file name that is made of the label of a scheme, bytes.
const LABEL: usize = 80;

/// Name of the record of a run: `codel-target-20ms-seed-1-0f1e….json`.
fn name(id: RunId, run: &RunSpec<'_>) -> String {
    let mut label = text::file_name_part(&run.scheme.to_string());
    label.truncate(LABEL);
    format!("{label}-seed-{}-{id}.json", run.seed)
}
