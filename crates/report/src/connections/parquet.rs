//! Parquet output of connections, with the crate's column writers: Arrow has no advantage for rows that arrive one at a
//! time.

use super::columns::{COLUMNS, Column, Read};
use crate::failure::of_parquet;
use gentle_trace::row::Row;
use gentle_units::Nanos;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows per row group. A row group is buffered in memory until it is full, some 20 MB; readers skip and parallelize by
/// row group.
const GROUP: usize = 1 << 16;

/// Writes connections as Parquet: the columns of [`COLUMNS`], compressed with Snappy.
///
/// Points in time are timestamps with nanoseconds in UTC, named `start` and `end`; durations are doubles in seconds,
/// null without an observation; counts are 64-bit integers.
pub struct ParquetWriter<W: Write + Send> {
    out: SerializedFileWriter<W>,
    columns: Vec<Buffer>,
    rows: usize,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Creates a writer on `to`.
    pub fn new(to: W) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("gentle version ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let schema = schema().map_err(of_parquet)?;
        let out = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties)).map_err(of_parquet)?;
        Ok(Self { out, columns: COLUMNS.iter().map(|column| Buffer::of(&column.read)).collect(), rows: 0 })
    }

    /// Writes a connection; writes a row group when it is full.
    pub fn write(&mut self, row: &Row) -> io::Result<()> {
        for (column, buffer) in COLUMNS.iter().zip(&mut self.columns) {
            buffer.push(column.read, row);
        }
        self.rows += 1;
        if self.rows == GROUP {
            self.write_group()?;
        }
        Ok(())
    }

    /// Writes the last row group and the footer, without which the file is unreadable.
    pub fn finish(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.write_group()?;
        }
        let mut to = self.out.into_inner().map_err(of_parquet)?;
        to.flush()
    }

    fn write_group(&mut self) -> io::Result<()> {
        let written = (|| {
            let mut group = self.out.next_row_group()?;
            for buffer in &mut self.columns {
                let Some(mut column) = group.next_column()? else {
                    break;
                };
                buffer.write(&mut column)?;
                column.close()?;
            }
            group.close().map(|_| ())
        })();
        self.rows = 0;
        written.map_err(of_parquet)
    }
}

/// Buffered values of one column.
enum Buffer {
    Text(Vec<ByteArray>),
    Flag(Vec<bool>),
    Port(Vec<i32>),
    Whole(Vec<i64>),
    /// Present values, and for each row its definition level: 1 if the value is present, else 0.
    Span(Vec<f64>, Vec<i16>),
}

impl Buffer {
    fn of(read: &Read) -> Self {
        match read {
            Read::Text(_) => Buffer::Text(Vec::new()),
            Read::Flag(_) => Buffer::Flag(Vec::new()),
            Read::Port(_) => Buffer::Port(Vec::new()),
            Read::Count(_) | Read::Time(_) => Buffer::Whole(Vec::new()),
            Read::Span(_) => Buffer::Span(Vec::new(), Vec::new()),
        }
    }

    fn push(&mut self, read: Read, row: &Row) {
        match (self, read) {
            (Buffer::Text(values), Read::Text(of)) => {
                values.push(ByteArray::from(of(row).into_bytes()));
            }
            (Buffer::Flag(values), Read::Flag(of)) => values.push(of(row)),
            (Buffer::Port(values), Read::Port(of)) => values.push(of(row).into()),
            (Buffer::Whole(values), Read::Count(of)) => values.push(whole(of(row))),
            (Buffer::Whole(values), Read::Time(of)) => values.push(whole(of(row).0)),
            (Buffer::Span(values, present), Read::Span(of)) => {
                let span = of(row).map(Nanos::as_secs_f64);
                present.push(span.is_some().into());
                values.extend(span);
            }
            _ => unreachable!("a buffer is made for its column"),
        }
    }

    fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Buffer::Text(values) => drain::<ByteArrayType>(column, values, None),
            Buffer::Flag(values) => drain::<BoolType>(column, values, None),
            Buffer::Port(values) => drain::<Int32Type>(column, values, None),
            Buffer::Whole(values) => drain::<Int64Type>(column, values, None),
            Buffer::Span(values, present) => {
                drain::<DoubleType>(column, values, Some(present))?;
                present.clear();
                Ok(())
            }
        }
    }
}

fn drain<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    present: Option<&[i16]>,
) -> Result<(), ParquetError> {
    column.typed::<T>().write_batch(values, present, None)?;
    values.clear();
    Ok(())
}

/// Conversion to Parquet's signed integers and timestamps, which saturates (the year 2262).
fn whole(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn schema() -> Result<Type, ParquetError> {
    let fields = COLUMNS.iter().map(|column| field(column).map(Arc::new));
    Type::group_type_builder("connection").with_fields(fields.collect::<Result<_, _>>()?).build()
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.read {
        Read::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Read::Flag(_) => (Physical::BOOLEAN, None),
        Read::Port(_) => (Physical::INT32, Some(LogicalType::integer(16, false))),
        Read::Count(_) => (Physical::INT64, None),
        Read::Time(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
        Read::Span(_) => (Physical::DOUBLE, None),
    };
    let (name, repetition) = match column.read {
        Read::Time(_) => (column.name.trim_end_matches("_s"), Repetition::REQUIRED),
        Read::Span(_) => (column.name, Repetition::OPTIONAL),
        _ => (column.name, Repetition::REQUIRED),
    };
    Type::primitive_type_builder(name, physical).with_logical_type(logical).with_repetition(repetition).build()
}
