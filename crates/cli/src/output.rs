//! Output files that are written atomically, and standard output, whose reader may close it.

use crate::files::{is_stdout, target_path};
use anyhow::Context;
use atomic_write_file::AtomicWriteFile;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use gentle_units::foreign::visible;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Output file that appears under its name on commit, always complete.
///
/// Devices and pipes (`/dev/null`, `>(wireshark -k -i -)`) cannot be replaced by a file, so they are written directly,
/// as is standard output (`-`).
pub(crate) struct OutputFile {
    path: PathBuf,
    writer: BufWriter<Target>,
}

enum Target {
    Whole(AtomicWriteFile),
    Stream(File),
    /// Standard output; `None` after its reader has closed it.
    Stdout(Option<Stdout>),
}

impl OutputFile {
    pub(crate) fn create(path: &Path) -> anyhow::Result<OutputFile> {
        let target = open(path).with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(OutputFile { path: path.to_owned(), writer: BufWriter::new(target) })
    }

    pub(crate) fn create_if(path: Option<&Path>) -> anyhow::Result<Option<OutputFile>> {
        path.map(OutputFile::create).transpose()
    }

    /// Name of the file, for messages.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes bytes; the error names the file.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.writer.write_all(bytes).with_context(|| self.name())
    }

    /// Moves the completed file to its name.
    pub(crate) fn commit(self) -> anyhow::Result<()> {
        let name = self.name();
        let outcome = match self.writer.into_inner() {
            Ok(Target::Whole(file)) => file.commit(),
            Ok(Target::Stream(_) | Target::Stdout(None)) => Ok(()),
            Ok(Target::Stdout(Some(mut stdout))) => ignore_broken_pipe(stdout.flush()),
            Err(error) => Err(error.into_error()),
        };
        outcome.with_context(|| name)
    }
}

fn open(path: &Path) -> io::Result<Target> {
    if is_stdout(path) {
        return Ok(Target::Stdout(Some(io::stdout())));
    }
    match std::fs::metadata(path) {
        Ok(existing) if existing.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(existing) if !existing.is_file() => OpenOptions::new().write(true).open(path).map(Target::Stream),
        // The target of a symbolic link is replaced, not the link.
        _ => AtomicWriteFile::open(target_path(path)).map(Target::Whole),
    }
}

/// Ignores a broken pipe: a reader may stop early (`| head`).
fn ignore_broken_pipe(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Whole(file) => file.write(bytes),
            Target::Stream(file) => file.write(bytes),
            Target::Stdout(None) => Ok(bytes.len()),
            Target::Stdout(Some(stdout)) => match stdout.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    *self = Target::Stdout(None);
                    Ok(bytes.len())
                }
                written => written,
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Whole(file) => file.flush(),
            Target::Stream(file) => file.flush(),
            Target::Stdout(None) => Ok(()),
            Target::Stdout(Some(stdout)) => ignore_broken_pipe(stdout.flush()),
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

/// Writes text to standard output. A reader that stops early (`| head`) is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output. A reader that stops early (`| head`) is not an error.
pub(crate) fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    ignore_broken_pipe(written).context("standard output")
}

/// Writes text to standard output; returns whether there is still a reader, for commands that end without one.
pub(crate) fn print_while_read(text: &str) -> anyhow::Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true).context("standard output"),
    }
}

/// Writes an error to standard error, in the format of clap.
pub(crate) fn print_error(text: &str) {
    print_message("error", text);
}

/// Writes a warning to standard error.
pub(crate) fn warn(text: &str) {
    print_message("warning", text);
}

/// Writes a remark to standard error.
pub(crate) fn note(text: &str) {
    print_message("note", text);
}

/// Writes a message, which may contain the text and the names of files, to standard error.
fn print_message(kind: &str, text: &str) {
    let text = visible(&without_error_numbers(text));
    // A failure of standard error cannot be reported.
    let _ = writeln!(io::stderr().lock(), "{kind}: {text}");
}

/// Ends the program with a message of clap: an error, help or the version. An error repeats arguments, which may be names of files.
pub(crate) fn exit_with(error: &clap::Error) -> ! {
    let mut arguments = std::env::args_os();
    let harmless = |argument: OsString| {
        let argument = argument.to_string_lossy();
        visible(&argument) == argument
    };
    if !error.use_stderr() || arguments.all(harmless) {
        error.exit();
    }
    // As text, a message has no colours.
    let _ = write!(io::stderr().lock(), "{}", visible(&error.to_string()));
    std::process::exit(error.exit_code());
}

/// Error with its causes, in one line.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        // Some errors include their cause.
        if text.ends_with(&cause) {
            continue;
        }
        if !text.is_empty() {
            text += ": ";
        }
        text += &cause;
    }
    text
}

/// Text without the numbers that std appends to the system's messages: `Permission denied (os error 13)`.
fn without_error_numbers(text: &str) -> String {
    const BEFORE: &str = " (os error ";
    let mut parts = text.split(BEFORE);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                plain += rest;
            }
            _ => plain.extend([BEFORE, part]),
        }
    }
    plain
}

/// Capabilities of standard output.
pub(crate) struct Terminal {
    /// Width in columns: the terminal's, else the variable `COLUMNS`, as for help; `None` without either: unlimited.
    pub(crate) width: Option<usize>,
    pub(crate) color: bool,
}

impl Terminal {
    pub(crate) fn of_stdout() -> Terminal {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        // Convention of https://no-color.org.
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
        Terminal {
            width: terminal_size::terminal_size_of(&stdout).map(|(width, _)| width.0.into()).or_else(columns),
            color: terminal && !no_color,
        }
    }
}

/// Table without lines, wrapped to `width`.
pub(crate) fn borderless_table(width: Option<usize>) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).force_no_tty();
    match width.and_then(|width| u16::try_from(width).ok()) {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table
}

/// Table with a rule below its head; the columns `numbers` are right-aligned.
pub(crate) fn ruled_table<const N: usize>(head: [&str; N], numbers: Range<usize>) -> Table {
    let mut table = borderless_table(None);
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─'))).set_header(head);
    for number in numbers {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Rows of names, optional values and descriptions; the descriptions are wrapped to `width`.
pub(crate) fn definitions<const N: usize>(rows: Vec<[String; N]>, width: Option<usize>) -> String {
    let mut table = borderless_table(width);
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

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn an_error_is_told_once_and_without_numbers() {
        let denied = io::Error::from_raw_os_error(13);
        let repeated = anyhow!("x: {denied}");
        let error = anyhow::Error::new(denied).context("x: cannot be read");
        assert_eq!(without_error_numbers(&one_line(&error)), "x: cannot be read: Permission denied");
        assert_eq!(without_error_numbers(&one_line(&repeated)), "x: Permission denied");
        let error = anyhow!("root").context("x: root").context("y");
        assert_eq!(one_line(&error), "y: x: root");
        for text in ["a (os error x)", "a (os error 1", ""] {
            assert_eq!(without_error_numbers(text), text);
        }
    }
}
