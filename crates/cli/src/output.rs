//! Files that are written whole or not at all, and a standard output that may go away.

use crate::usage::Usage;
use anyhow::Context;
use atomic_write_file::AtomicWriteFile;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A file that appears under its name when it is committed, and never in part.
///
/// Devices and pipes (`/dev/null`, `>(wireshark -k -i -)`) cannot be replaced by a file and are written to as it comes.
pub(crate) struct OutputFile {
    path: PathBuf,
    writer: BufWriter<Target>,
}

enum Target {
    Whole(AtomicWriteFile),
    Stream(File),
}

impl OutputFile {
    pub(crate) fn create(path: &Path) -> anyhow::Result<OutputFile> {
        let target =
            open(path).with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(OutputFile {
            path: path.to_owned(),
            writer: BufWriter::new(target),
        })
    }

    pub(crate) fn create_if(path: Option<&Path>) -> anyhow::Result<Option<OutputFile>> {
        path.map(OutputFile::create).transpose()
    }

    /// Its name, for messages.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Adds bytes; the error names the file.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.writer.write_all(bytes).with_context(|| self.name())
    }

    /// Puts the file in its place.
    pub(crate) fn commit(self) -> anyhow::Result<()> {
        let name = self.name();
        let outcome = match self.writer.into_inner() {
            Ok(Target::Whole(file)) => file.commit(),
            Ok(Target::Stream(_)) => Ok(()),
            Err(error) => Err(error.into_error()),
        };
        outcome.with_context(|| name)
    }
}

fn open(path: &Path) -> io::Result<Target> {
    match std::fs::metadata(path) {
        Ok(existing) if existing.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(existing) if !existing.is_file() => OpenOptions::new()
            .write(true)
            .open(path)
            .map(Target::Stream),
        // The file that a link points to is replaced, not the link.
        Ok(_) => AtomicWriteFile::open(std::fs::canonicalize(path)?).map(Target::Whole),
        Err(_) => AtomicWriteFile::open(path).map(Target::Whole),
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Whole(file) => file.write(bytes),
            Target::Stream(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Whole(file) => file.flush(),
            Target::Stream(file) => file.flush(),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// No output may take the place of another, or of an input.
pub(crate) fn each_file_once<'a>(
    files: impl Iterator<Item = &'a Path>,
    rule: &str,
) -> Result<(), Usage> {
    let mut seen: Vec<&Path> = Vec::new();
    for path in files {
        if seen.contains(&path) {
            return Err(Usage(format!("{} is named twice; {rule}", path.display())));
        }
        seen.push(path);
    }
    Ok(())
}

/// Writes to standard output. A reader that has seen enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    print_bytes(text.as_bytes())
}

/// The same for what may not be text.
pub(crate) fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("standard output"),
    }
}

/// Writes a line to standard error, in the form that clap gives its own.
pub(crate) fn complain(text: &str) {
    // Nobody is left to tell if that fails.
    let _ = writeln!(io::stderr().lock(), "error: {text}");
}

/// Writes a line to standard error about what was not as it should be but could be worked with.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(io::stderr().lock(), "warning: {text}");
}

/// What standard output can show.
pub(crate) struct Terminal {
    /// In columns; `None`: not a terminal, as wide as needed.
    pub(crate) width: Option<usize>,
    pub(crate) color: bool,
}

impl Terminal {
    pub(crate) fn of_stdout() -> Terminal {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        // https://no-color.org
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Terminal {
            width: terminal_size::terminal_size_of(&stdout).map(|(width, _)| width.0.into()),
            color: terminal && !no_color,
        }
    }
}

/// A table without lines, wrapped to `width`.
pub(crate) fn bare_table(width: Option<usize>) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).force_no_tty();
    match width.and_then(|width| u16::try_from(width).ok()) {
        Some(width) => table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table
}

/// A table with a line below its head; the columns `numbers` stand to the right.
pub(crate) fn ruled_table<const N: usize>(head: [&str; N], numbers: Range<usize>) -> Table {
    let mut table = bare_table(None);
    table
        .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')))
        .set_header(head);
    for number in numbers {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Names, values and what they mean, one below the other; the meaning is wrapped to `width`.
pub(crate) fn definitions(rows: Vec<[String; 3]>, width: Option<usize>) -> String {
    let mut table = bare_table(width);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((2, 0));
    }
    if table.is_empty() {
        return String::new();
    }
    table.trim_fmt() + "\n"
}
