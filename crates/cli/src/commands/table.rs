//! File of `--connections`: one row per connection, in the format given by the file's extension.

use crate::args::{TableFile, TableFormat};
use crate::output::OutputFile;
use anyhow::Context;
use gentle_report::connections::{CsvWriter, ParquetWriter};
use gentle_trace::row::Row;
use std::io;

/// Open output file.
pub(super) struct Table {
    file: OutputFile,
    format: TableFormat,
}

/// Writer of rows. A write error ends the file, not the analysis.
pub(super) struct Rows<'a> {
    name: String,
    writer: io::Result<Writer<'a>>,
}

enum Writer<'a> {
    Csv(CsvWriter<&'a mut OutputFile>),
    Parquet(ParquetWriter<&'a mut OutputFile>),
}

impl Table {
    pub(super) fn create(wanted: &TableFile) -> anyhow::Result<Table> {
        Ok(Table { file: OutputFile::create(&wanted.path)?, format: wanted.format })
    }

    pub(super) fn rows(&mut self) -> Rows<'_> {
        let name = self.file.name();
        let writer = match self.format {
            TableFormat::Csv => CsvWriter::new(&mut self.file).map(Writer::Csv),
            TableFormat::Parquet | TableFormat::Parts => ParquetWriter::new(&mut self.file).map(Writer::Parquet),
        };
        Rows { name, writer }
    }

    /// Moves the file to its name, after its rows have been finished.
    pub(super) fn commit(self) -> anyhow::Result<()> {
        self.file.commit()
    }
}

impl Rows<'_> {
    pub(super) fn write(&mut self, row: &Row) {
        let written = match &mut self.writer {
            Ok(Writer::Csv(writer)) => writer.write(row),
            Ok(Writer::Parquet(writer)) => writer.write(row),
            Err(_) => return,
        };
        if let Err(error) = written {
            self.writer = Err(error);
        }
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.writer
            .and_then(|writer| match writer {
                Writer::Csv(writer) => writer.finish(),
                Writer::Parquet(writer) => writer.finish(),
            })
            .with_context(|| self.name)
    }
}
