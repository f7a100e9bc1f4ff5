//! Tables as Parquet and CSV.

use crate::error::SweepError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::io::Write;
use std::sync::Arc;

fn properties() -> parquet::file::properties::WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("gentle version ", env!("CARGO_PKG_VERSION")).to_owned())
}

/// A few rows as a Parquet file, without what speeds up large files only: statistics of pages, the schema of Arrow.
pub(crate) fn small_file(rows: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let properties = properties()
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, rows.schema(), options)?;
    writer.write(rows)?;
    writer.close()?;
    Ok(bytes)
}

/// Rows as a Parquet file.
pub(crate) fn file(rows: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties().build()))?;
    writer.write(rows)?;
    writer.close()?;
    Ok(bytes)
}

/// Writes tables with the same columns, one after the other, as a Parquet file.
///
/// # Errors
/// Writing failed, or a table is an error.
pub fn parquet<W: Write + Send>(
    tables: impl Iterator<Item = Result<RecordBatch, SweepError>>,
    to: W,
) -> Result<(), SweepError> {
    let failed = |error: ParquetError| SweepError::Output(error.to_string());
    let mut to = Some(to);
    let mut writer = None;
    for table in tables {
        let table = table?;
        if let Some(to) = to.take() {
            let made = ArrowWriter::try_new(to, table.schema(), Some(properties().build()));
            writer = Some(made.map_err(failed)?);
        }
        if let Some(writer) = &mut writer {
            writer.write(&table).map_err(failed)?;
        }
    }
    match writer {
        Some(writer) => writer.close().map(|_| ()).map_err(failed),
        None => Ok(()),
    }
}

/// Tables with the same columns as one.
///
/// # Errors
/// A table is an error.
pub fn whole(
    tables: impl Iterator<Item = Result<RecordBatch, SweepError>>,
) -> Result<RecordBatch, SweepError> {
    let tables = tables.collect::<Result<Vec<_>, _>>()?;
    let schema = tables
        .first()
        .map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
    arrow_select::concat::concat_batches(&schema, &tables)
        .map_err(|error| SweepError::Output(error.to_string()))
}

/// Writes tables with the same columns, one after the other, as CSV. Missing values are empty; numbers have the
/// shortest text that reads back as the same number.
///
/// # Errors
/// Writing failed, or a table is an error.
pub fn csv<W: Write>(
    tables: impl Iterator<Item = Result<RecordBatch, SweepError>>,
    to: W,
) -> Result<(), SweepError> {
    let failed = |error: csv::Error| SweepError::Output(error.to_string());
    let mut writer = csv::Writer::from_writer(to);
    let mut begun = false;
    for table in tables {
        let table = table?;
        if !begun {
            let schema = table.schema();
            let names = schema.fields().iter().map(|field| field.name());
            writer.write_record(names).map_err(failed)?;
            begun = true;
        }
        for row in 0..table.num_rows() {
            let cells = table.columns().iter().map(|column| cell(column, row));
            writer.write_record(cells).map_err(failed)?;
        }
    }
    writer
        .flush()
        .map_err(|error| SweepError::Output(error.to_string()))
}

fn cell(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        _ => column.as_string::<i32>().value(row).to_owned(),
    }
}
