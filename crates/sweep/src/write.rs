//! Tables as Parquet files, with the column writers of the library: its feature `arrow` would bring 12 crates, which take
//! two minutes of one core to compile.

use crate::error::SweepError;
use crate::seal;
use crate::table::{Column, Table, Values};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// Rows from which on a row group of a finished table is written. Until then they are in memory: some 40 MB for 150
/// columns.
const GROUP: usize = 1 << 14;

pub(crate) fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("gentle version ", env!("CARGO_PKG_VERSION")).to_owned())
}

/// A few rows as a Parquet file, without statistics of pages, which speed up large files only.
pub(crate) fn small_file(rows: &Table) -> Result<Vec<u8>, ParquetError> {
    in_memory(rows, properties().set_statistics_enabled(EnabledStatistics::None))
}

/// Rows as a Parquet file.
pub(crate) fn file(rows: &Table) -> Result<Vec<u8>, ParquetError> {
    in_memory(rows, properties())
}

/// Rows as a Parquet file of a store with certain properties: it carries its [digest](seal::digest).
pub(crate) fn in_memory(rows: &Table, properties: WriterPropertiesBuilder) -> Result<Vec<u8>, ParquetError> {
    let mut bytes = Vec::new();
    let properties = properties.set_key_value_metadata(Some(seal::unsealed()));
    let mut writer = open(&mut bytes, rows, properties)?;
    group(&mut writer, rows)?;
    writer.close()?;
    Ok(seal::sealed(bytes))
}

/// Writes tables with the same columns, one after the other, as a Parquet file.
///
/// # Errors
/// Writing failed, a table is an error, or the columns of two tables differ.
pub fn parquet<W: Write + Send>(
    mut tables: impl Iterator<Item = Result<Table, SweepError>>,
    to: W,
) -> Result<(), SweepError> {
    let failed = |error: ParquetError| SweepError::Output(error.to_string());
    let Some(first) = tables.next() else {
        return Ok(());
    };
    let mut rows = first?;
    let mut writer = open(to, &rows, properties()).map_err(failed)?;
    for table in tables {
        let table = table?;
        if rows.rows() < GROUP {
            rows.append(table)?;
        } else {
            group(&mut writer, &rows).map_err(failed)?;
            rows = table;
        }
    }
    group(&mut writer, &rows).map_err(failed)?;
    writer.close().map(|_| ()).map_err(failed)
}

/// Begins a file for tables with the columns of `table`.
fn open<W: Write + Send>(
    to: W,
    table: &Table,
    properties: WriterPropertiesBuilder,
) -> Result<SerializedFileWriter<W>, ParquetError> {
    let fields = table.columns().iter().map(|column| field(column).map(Arc::new));
    let schema = Type::group_type_builder("table").with_fields(fields.collect::<Result<_, _>>()?).build()?;
    SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties.build()))
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.values {
        Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Number(_) => (Physical::DOUBLE, None),
        Values::Count(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Values::Count32(_) => (Physical::INT32, Some(LogicalType::integer(32, false))),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(match column.is_nullable {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        })
        .build()
}

/// Writes rows, if any, as a row group.
fn group<W: Write + Send>(writer: &mut SerializedFileWriter<W>, rows: &Table) -> Result<(), ParquetError> {
    if rows.rows() == 0 {
        return Ok(());
    }
    let mut group = writer.next_row_group()?;
    for column in rows.columns() {
        let Some(mut to) = group.next_column()? else {
            break;
        };
        match &column.values {
            Values::Text(values) => {
                let texts = values.iter().map(|text| Some(text.as_deref()?.into()));
                write::<ByteArrayType>(&mut to, texts)?;
            }
            Values::Number(values) => write::<DoubleType>(&mut to, values.iter().copied())?,
            Values::Count(values) => {
                let bits = values.iter().map(|count| Some(count.cast_signed()));
                write::<Int64Type>(&mut to, bits)?;
            }
            Values::Count32(values) => {
                let bits = values.iter().map(|count| Some(count.cast_signed()));
                write::<Int32Type>(&mut to, bits)?;
            }
        }
        to.close()?;
    }
    group.close().map(|_| ())
}

fn write<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    rows: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for value in rows {
        levels.push(value.is_some().into());
        values.extend(value);
    }
    let column = column.typed::<T>();
    column.write_batch(&values, Some(&levels), None).map(|_| ())
}
