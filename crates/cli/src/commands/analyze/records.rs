//! `gentle analyze --record`: the captures as tasks on all cores, each with a record, and the sum of the records.

use super::{Job, finish};
use crate::args::{AnalyzeArgs, TableFile, TableFormat};
use crate::commands::merge::{ENDING, read};
use crate::commands::runs::threads;
use crate::commands::table::Table;
use crate::commands::trace::with_control;
use crate::files::is_stdin;
use crate::output::{OutputFile, note, one_line, print_error, warn};
use crate::progress::Progress;
use crate::usage::Usage;
use anyhow::Context;
use gentle_trace::continuing::{Continuing, runs};
use gentle_trace::record::{Merger, Recorder, Showing, Task};
use gentle_trace::row::Row;
use gentle_trace::{AnalysisError, RowSink};
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Checks that the outputs fit the tasks, before any is opened.
pub(super) fn check(args: &AnalyzeArgs) -> Result<(), Usage> {
    let format = args.report.connections.as_ref().map(|table| table.format);
    match (&args.tasks.record, format) {
        (None, Some(TableFormat::Parts)) => Err(Usage(
            "--connections: a directory gets a file for each task of --record; name a .csv or .parquet file, or give \
             --record"
                .to_owned(),
        )),
        (Some(_), Some(TableFormat::Csv | TableFormat::Parquet)) => Err(Usage(
            "--connections: with --record every task writes a separate Parquet file; name a directory, with / at the \
             end"
            .to_owned(),
        )),
        (Some(_), _) if args.captures.iter().any(|path| is_stdin(path)) => Err(Usage(
            "--record needs captures that can be read twice, and standard input cannot; save it to a file".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Analyses the tasks that have no record in `directory`, and reports the merged analysis.
pub(super) fn run(
    job: &Job<'_>,
    directory: &Path,
    html: Option<OutputFile>,
    stdout_is_taken: bool,
) -> anyhow::Result<ExitCode> {
    let args = job.args;
    create(directory)?;
    let tasks = runs(&args.captures, args.tasks.continuing);
    say(&tasks, args.tasks.continuing);
    let recorder = Recorder { options: &job.options, strict: args.reading.strict, anonymizer: job.anonymizer.as_ref() };
    let maker = Maker { job, recorder, directory, progress: Progress::new(tasks.len(), args.report.quiet) };
    let pool = threads(args.tasks.threads)?;
    let made: Vec<anyhow::Result<Option<PathBuf>>> =
        pool.install(|| tasks.par_iter().map(|paths| maker.make(paths)).collect());
    maker.progress.clear();

    let (mut records, mut outcome) = (Vec::new(), Ok(()));
    for made in made {
        match made {
            Ok(record) => records.extend(record),
            Err(error) => {
                if let Err(earlier) = std::mem::replace(&mut outcome, Err(error)) {
                    print_error(&one_line(&earlier));
                }
            }
        }
    }
    let stopped = job.is_stopped();
    if stopped {
        print_error(&format!(
            "interrupted: {} of {} are in {}; run the same command again to resume",
            records.len(),
            gentle_units::text::plural(tasks.len() as u64, "task", "tasks"),
            directory.display(),
        ));
    }
    if records.is_empty() {
        return job.exit_code(&[], outcome);
    }
    records.sort();
    records.dedup();
    let mut merger = Merger::default();
    for path in &records {
        merger.add(&path.display().to_string(), read(path)?)?;
    }
    if let Some(overlap) = merger.overlap() {
        warn(&overlap.to_string());
    }
    let names = Arc::clone(&job.options.names);
    let showing = Showing { interrupted: stopped, names, ..Showing::default() };
    let analysis = merger.finish(&showing)?;
    finish(job, vec![analysis], outcome, html, stdout_is_taken)
}

fn create(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("{}: cannot be created", directory.display()))
}

/// Reports captures that are read as one trace by default.
fn say(tasks: &[Vec<PathBuf>], continuing: Continuing) {
    let several: Vec<usize> = tasks.iter().map(Vec::len).filter(|&n| n > 1).collect();
    if continuing == Continuing::ByName && !several.is_empty() {
        note(&format!(
            "by their names, {} are parts of {} and are read one after the other; --continue none reads each \
             separately",
            gentle_units::text::plural(several.iter().sum::<usize>() as u64, "capture", "captures"),
            gentle_units::text::plural(several.len() as u64, "longer one", "longer ones"),
        ));
    }
}

/// Makes the records of tasks.
struct Maker<'a> {
    job: &'a Job<'a>,
    recorder: Recorder<'a>,
    directory: &'a Path,
    progress: Progress,
}

impl Maker<'_> {
    /// Path of the record of a task, which is made if missing; `None` if the job was interrupted before.
    fn make(&self, paths: &[PathBuf]) -> anyhow::Result<Option<PathBuf>> {
        let label = match paths {
            [one] => one.display().to_string(),
            [first, .., last] => format!("{} … {}", first.display(), last.display()),
            [] => String::new(),
        };
        let bar = self.progress.begin(label);
        let made = match self.job.is_stopped() {
            true => Ok(None),
            false => self.make_in_parts(paths, |fraction| self.progress.reached(&bar, fraction)),
        };
        self.progress.end(&bar);
        match made {
            Err(error) if self.job.is_stopped() && is_stop(&error) => Ok(None),
            made => made,
        }
    }

    fn make_in_parts(&self, paths: &[PathBuf], reached: impl Fn(f64) + Sync) -> anyhow::Result<Option<PathBuf>> {
        let task = self.recorder.task(paths, &self.job.stop)?;
        let path = self.directory.join(format!("{}.{ENDING}", task.id()));
        let rows = self.rows(&task)?;
        let has_rows = rows.as_ref().is_none_or(|rows| rows.path.exists());
        if path.exists() && has_rows {
            return Ok(Some(path));
        }
        let mut table = rows.as_ref().map(Table::create).transpose()?;
        let mut writer = table.as_mut().map(Table::rows);
        let mut write = |row: &Row| {
            if let Some(writer) = &mut writer {
                writer.write(row);
            }
            Ok(())
        };
        let sink: Option<&mut RowSink<'_>> = match rows {
            Some(_) => Some(&mut write),
            None => None,
        };
        let of_bytes = task.bytes().max(1) as f64;
        let record = with_control(
            &self.job.stop,
            |bytes| reached((bytes as f64 / of_bytes).min(1.0)),
            |control| self.recorder.record(&task, sink, control),
        )?;
        // The rows first: a record means that its whole task is complete.
        writer.map_or(Ok(()), |writer| writer.finish())?;
        if let Some(table) = table {
            table.commit()?;
        }
        let mut file = OutputFile::create(&path)?;
        file.write(&record.to_bytes())?;
        file.commit()?;
        Ok(Some(path))
    }

    /// Parquet file of a task, in a directory named like a Hive partition.
    fn rows(&self, task: &Task) -> anyhow::Result<Option<TableFile>> {
        let Some(table) = &self.job.args.report.connections else {
            return Ok(None);
        };
        let directory = table.path.join(format!("task={}", task.id()));
        create(&directory)?;
        Ok(Some(TableFile { path: directory.join("connections.parquet"), format: TableFormat::Parquet }))
    }
}

fn is_stop(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<AnalysisError>(), Some(AnalysisError::Stopped))
}
