//! Runs that a store has, and where.

use crate::error::SweepError;
use crate::key::Key;
use crate::metrics::is_of_application;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, Float64Array, RecordBatch};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Place of a row, and the value that decides on more seeds (NaN: no value).
#[derive(Debug, Clone, Copy)]
struct Place {
    file: u32,
    row: u32,
    value: f64,
}

/// Runs by key, in 32 bytes for each, whatever the number of columns.
#[derive(Debug, Default)]
pub(crate) struct Index {
    runs: HashMap<Key, Place>,
    files: Vec<Arc<str>>,
    known: HashSet<Arc<str>>,
}

impl Index {
    /// Adds the runs of a file, with the values of the column `metric`, if any; returns their number. Of rows with the
    /// same key, which are equal, the first counts.
    pub(crate) fn add(
        &mut self,
        file: &str,
        bytes: Bytes,
        metric: Option<&str>,
    ) -> Result<usize, SweepError> {
        if self.known.contains(file) {
            return Ok(0);
        }
        let name: Arc<str> = file.into();
        let columns: Vec<&str> = ["key"].into_iter().chain(metric).collect();
        let number = self.files.len() as u32;
        let mut row = 0;
        for table in read(file, bytes, &columns)? {
            let keys = text_column(file, &table, "key")?;
            let values = metric.and_then(|metric| {
                table
                    .column_by_name(metric)?
                    .as_primitive_opt::<Float64Type>()
            });
            for (index, key) in keys.iter().enumerate() {
                let key = key
                    .and_then(Key::parse)
                    .ok_or_else(|| damaged(file, "a key is malformed"))?;
                let value = values
                    .filter(|values| values.is_valid(index))
                    .map_or(f64::NAN, |values| values.value(index));
                self.runs.entry(key).or_insert(Place {
                    file: number,
                    row,
                    value,
                });
                row += 1;
            }
        }
        self.files.push(Arc::clone(&name));
        self.known.insert(name);
        Ok(row as usize)
    }

    pub(crate) fn has(&self, key: &Key) -> bool {
        self.runs.contains_key(key)
    }

    /// Value of the metric in a run; `None` if there is no such run.
    pub(crate) fn value(&self, key: &Key) -> Option<Option<f64>> {
        let place = self.runs.get(key)?;
        Some((!place.value.is_nan()).then_some(place.value))
    }

    pub(crate) fn place(&self, key: &Key) -> Option<(Arc<str>, usize)> {
        let place = self.runs.get(key)?;
        Some((
            Arc::clone(&self.files[place.file as usize]),
            place.row as usize,
        ))
    }
}

/// Metrics of files that were read last.
pub(crate) struct Cache<'a> {
    read: Read<'a>,
    metrics: &'a [String],
    files: VecDeque<(Arc<str>, Vec<Float64Array>)>,
}

/// Reads a file of a store by its name.
pub(crate) type Read<'a> = &'a dyn Fn(&str) -> std::io::Result<Vec<u8>>;

/// Number of files whose metrics are kept: neighbours in a grid are often in the same file.
const KEPT: usize = 64;

impl<'a> Cache<'a> {
    pub(crate) fn new(read: Read<'a>, metrics: &'a [String]) -> Self {
        Cache {
            read,
            metrics,
            files: VecDeque::new(),
        }
    }

    /// Metrics of a row of a file.
    pub(crate) fn row(
        &mut self,
        file: &Arc<str>,
        row: usize,
    ) -> Result<Vec<Option<f64>>, SweepError> {
        let at = match self.files.iter().position(|(name, _)| name == file) {
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
        let values = columns.map(|column| match row < column.len() {
            true => Ok(column.is_valid(row).then(|| column.value(row))),
            false => Err(damaged(file, "it has fewer rows than before")),
        });
        values.collect()
    }

    fn load(&self, file: &str) -> Result<Vec<Float64Array>, SweepError> {
        let bytes = (self.read)(file).map_err(|error| SweepError::Store {
            place: file.to_owned(),
            error,
        })?;
        let names: Vec<&str> = self.metrics.iter().map(String::as_str).collect();
        let mut tables = read(file, bytes.into(), &names)?;
        let (Some(table), true) = (tables.pop(), tables.is_empty()) else {
            return Err(damaged(file, "it has not one group of rows"));
        };
        let columns = names.iter().map(|name| {
            let column = table
                .column_by_name(name)
                .and_then(|column| column.as_primitive_opt::<Float64Type>());
            match column {
                Some(column) => Ok(column.clone()),
                // The scenarios of the file do not have this application.
                None if is_of_application(name) => Ok(Float64Array::new_null(table.num_rows())),
                None => Err(damaged(file, &format!("no column {name}"))),
            }
        });
        columns.collect()
    }
}

/// Maximum number of rows of a file of a store: batches are smaller by far.
const MOST_ROWS: usize = 1 << 20;

/// Columns of a file; those that it does not have are left out.
fn read(file: &str, bytes: Bytes, columns: &[&str]) -> Result<Vec<RecordBatch>, SweepError> {
    let failed = |error: &dyn std::fmt::Display| damaged(file, &error.to_string());
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|error| failed(&error))?;
    if builder.metadata().file_metadata().num_rows() > MOST_ROWS as i64 {
        return Err(damaged(file, "it has too many rows"));
    }
    // By position: the dots in names of columns would be taken for paths.
    let schema = builder.parquet_schema();
    let fields = schema.root_schema().get_fields().iter().enumerate();
    let wanted = fields.filter(|(_, field)| columns.contains(&field.name()));
    let mask = ProjectionMask::roots(schema, wanted.map(|(index, _)| index).collect::<Vec<_>>());
    let reader = builder
        .with_projection(mask)
        .with_batch_size(MOST_ROWS)
        .build();
    let reader = reader.map_err(|error| failed(&error))?;
    let tables: Result<Vec<RecordBatch>, _> = reader.collect();
    tables.map_err(|error| failed(&error))
}

fn text_column<'a>(
    file: &str,
    table: &'a RecordBatch,
    name: &str,
) -> Result<&'a arrow_array::StringArray, SweepError> {
    let column = table
        .column_by_name(name)
        .and_then(|column| column.as_string_opt::<i32>());
    column.ok_or_else(|| damaged(file, &format!("no column {name}")))
}

fn damaged(file: &str, problem: &str) -> SweepError {
    SweepError::File {
        file: file.to_owned(),
        problem: problem.to_owned(),
    }
}
