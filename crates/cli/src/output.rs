//! Files that are written whole or not at all, and a standard output that may go away.

use anyhow::Context;
use atomic_write_file::AtomicWriteFile;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// A file that appears under its name when it is committed, and never in part.
pub(crate) struct OutputFile {
    path: PathBuf,
    writer: BufWriter<AtomicWriteFile>,
}

impl OutputFile {
    pub(crate) fn create(path: &Path) -> anyhow::Result<OutputFile> {
        let file = AtomicWriteFile::open(path)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(OutputFile {
            path: path.to_owned(),
            writer: BufWriter::new(file),
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
        let name = self.path.display().to_string();
        let file = self
            .writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .with_context(|| name.clone())?;
        file.commit().with_context(|| name)
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

/// Writes to standard output. A reader that has seen enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("standard output"),
    }
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
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Terminal {
            width: terminal_size::terminal_size_of(&stdout).map(|(width, _)| width.0.into()),
            color: terminal && !no_color,
        }
    }
}
