//! One row a connection, for notebooks: CSV and Parquet with the same columns.
//!
//! Both writers take rows one at a time and hold no more than a row group of them, so a capture of any length passes
//! through. [`COLUMNS`] says what each column is. In CSV an empty field is "no observation", `true` and `false` are
//! spelled out, and times are exact decimals. In Parquet the two points in time are timestamps (nanoseconds, UTC) and
//! so need no unit in their names: `start` and `end`.

mod columns;
mod csv;
mod parquet;

pub use self::columns::{COLUMNS, Column};
pub use self::csv::CsvWriter;
pub use self::parquet::ParquetWriter;
