//! Tables with one row per connection: CSV and Parquet with the same columns.
//!
//! Both writers accept rows one at a time and buffer at most one row group, so the length of a capture is not limited.
//! [`COLUMNS`] describes each column. In CSV an empty field means "no observation", booleans are `true` and `false`,
//! and times are exact decimals. In Parquet the two points in time are timestamps (nanoseconds, UTC), so their names
//! have no unit: `start` and `end`.

mod columns;
mod csv;
mod parquet;

pub use self::columns::{COLUMNS, Column, Value};
pub use self::csv::CsvWriter;
pub use self::parquet::ParquetWriter;
