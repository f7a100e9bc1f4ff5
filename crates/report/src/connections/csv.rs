//! CSV output of connections.

use super::columns::{COLUMNS, Read};
use crate::failure::of_csv;
use crate::format::{inert, seconds};
use gentle_trace::row::Row;
use std::io::{self, Write};

/// Writes connections as CSV: a header with the names of [`COLUMNS`], then one line per row.
pub struct CsvWriter<W: Write> {
    out: csv::Writer<W>,
}

impl<W: Write> CsvWriter<W> {
    /// Creates a writer and writes the header.
    pub fn new(to: W) -> io::Result<Self> {
        let mut out = csv::Writer::from_writer(to);
        out.write_record(COLUMNS.iter().map(|column| column.name)).map_err(of_csv)?;
        Ok(Self { out })
    }

    /// Writes one connection.
    pub fn write(&mut self, row: &Row) -> io::Result<()> {
        for column in COLUMNS {
            let field = match column.read {
                Read::Text(of) => inert(&of(row)),
                Read::Flag(of) => of(row).to_string(),
                Read::Port(of) => of(row).to_string(),
                Read::Count(of) => of(row).to_string(),
                Read::Time(of) => seconds(of(row).since_origin()),
                Read::Span(of) => of(row).map(seconds).unwrap_or_default(),
            };
            self.out.write_field(field).map_err(of_csv)?;
        }
        self.out.write_record(None::<&[u8]>).map_err(of_csv)
    }

    /// Flushes the buffer. Dropping the writer flushes it too, but ignores errors.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
