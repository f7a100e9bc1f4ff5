//! Runs that a store has, and where.

use crate::error::SweepError;
use crate::metrics::is_of_application;
use crate::read::{Cells, damaged, intact};
use bytes::Bytes;
use gentle_runs::{RunId, StoreError};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Place of a row, and the value that decides on more seeds (NaN: no value).
#[derive(Debug, Clone, Copy)]
struct Place {
    file: u32,
    row: u32,
    value: f64,
}

/// A file of a store as it was when it was added.
#[derive(Debug)]
pub(crate) struct Added {
    name: String,
    /// Digest of its contents.
    digest: String,
}

/// Runs by key, in 32 bytes for each, whatever the number of columns.
#[derive(Debug, Default)]
pub(crate) struct Index {
    runs: HashMap<RunId, Place>,
    files: Vec<Arc<Added>>,
    known: HashSet<String>,
    /// Runs on the backend that other code made.
    pub(crate) foreign: u64,
}

impl Index {
    /// Adds the runs of a file, with the values of the column `metric`, if any; returns their number. Of rows with the
    /// same key, which are equal, the first counts. Runs on the backend that another engine made are counted.
    pub(crate) fn add(
        &mut self,
        file: &str,
        bytes: Bytes,
        metric: Option<&str>,
        (backend, engine): (&str, &str),
    ) -> Result<usize, SweepError> {
        if self.known.contains(file) {
            return Ok(0);
        }
        let number = self.files.len() as u32;
        let (content, digest) = intact(file, bytes)?;
        let keys = content.column::<ByteArrayType>("key")?;
        let keys = keys.ok_or_else(|| damaged(file, "no column key"))?;
        let values = metric.map(|metric| content.column::<DoubleType>(metric));
        let values = values.transpose()?.flatten();
        // The rows of a file are made by one program on one backend.
        let first = |name: &str| -> Result<Option<ByteArray>, SweepError> {
            let column = content.column::<ByteArrayType>(name)?;
            Ok(column.and_then(|cells| cells.into_iter().next().flatten()))
        };
        let is = |cell: Option<ByteArray>, text: &str| cell.is_some_and(|cell| cell.data() == text.as_bytes());
        if is(first("backend")?, backend) && !is(first("engine")?, engine) {
            self.foreign += content.rows as u64;
        }
        for (row, key) in keys.into_iter().enumerate() {
            let key = key
                .and_then(|key| RunId::parse(key.as_utf8().ok()?))
                .ok_or_else(|| damaged(file, "a key is malformed"))?;
            let value = values.as_ref().and_then(|values| values[row]);
            self.runs.entry(key).or_insert(Place { file: number, row: row as u32, value: value.unwrap_or(f64::NAN) });
        }
        let name = file.to_owned();
        self.known.insert(name.clone());
        self.files.push(Arc::new(Added { name, digest }));
        Ok(content.rows)
    }

    pub(crate) fn has(&self, key: &RunId) -> bool {
        self.runs.contains_key(key)
    }

    /// Value of the metric in a run; `None` if there is no such run.
    pub(crate) fn value(&self, key: &RunId) -> Option<Option<f64>> {
        let place = self.runs.get(key)?;
        Some((!place.value.is_nan()).then_some(place.value))
    }

    pub(crate) fn place(&self, key: &RunId) -> Option<(Arc<Added>, usize)> {
        let place = self.runs.get(key)?;
        Some((Arc::clone(&self.files[place.file as usize]), place.row as usize))
    }
}

/// Metrics of files that were read last.
pub(crate) struct Cache<'a> {
    read: Read<'a>,
    metrics: &'a [String],
    files: VecDeque<(Arc<Added>, Vec<Cells<DoubleType>>)>,
}

/// Reads a file of a store by its name.
pub(crate) type Read<'a> = &'a dyn Fn(&str) -> std::io::Result<Vec<u8>>;

/// Number of files whose metrics are kept: neighbours in a grid are often in the same file.
const KEPT: usize = 64;

impl<'a> Cache<'a> {
    pub(crate) fn new(read: Read<'a>, metrics: &'a [String]) -> Self {
        Cache { read, metrics, files: VecDeque::new() }
    }

    /// Metrics of a row of a file.
    pub(crate) fn row(&mut self, file: &Arc<Added>, row: usize) -> Result<Vec<Option<f64>>, SweepError> {
        let at = match self.files.iter().position(|(known, _)| Arc::ptr_eq(known, file)) {
            Some(at) => at,
            None => {
                if self.files.len() == KEPT {
                    self.files.pop_back();
                }
                self.files.push_front((Arc::clone(file), self.load(file)?));
                0
            }
        };
        let columns = self.files[at].1.iter();
        let values = columns.map(|column| {
            let value = column.get(row).copied();
            value.ok_or_else(|| damaged(&file.name, "it has fewer rows than before"))
        });
        values.collect()
    }

    fn load(&self, added: &Added) -> Result<Vec<Cells<DoubleType>>, SweepError> {
        let file = &added.name;
        let bytes = (self.read)(file).map_err(|error| StoreError { place: file.clone(), error })?;
        let (content, digest) = intact(file, bytes.into())?;
        if digest != added.digest {
            return Err(damaged(file, "it was replaced during the sweep"));
        }
        let columns = self.metrics.iter().map(|name| {
            match content.column::<DoubleType>(name)? {
                Some(column) => Ok(column),
                // The scenarios of the file do not have this application.
                None if is_of_application(name) => Ok(vec![None; content.rows]),
                None => Err(damaged(file, format!("no column {name}"))),
            }
        });
        columns.collect()
    }
}
