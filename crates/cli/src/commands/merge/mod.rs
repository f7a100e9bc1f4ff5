//! The command `gentle merge`.

pub(crate) mod analyses;
mod runs;

use super::record::ENDING;
use crate::args::MergeArgs;
use crate::usage::Usage;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<ExitCode> {
    let mut files = Vec::new();
    for path in &args.records {
        files.extend(records(path)?);
    }
    let (analyses, runs): (Vec<PathBuf>, Vec<PathBuf>) = files.into_iter().partition(|path| analyses::is_record(path));
    match (analyses.first(), runs.first()) {
        (Some(analysis), Some(run)) => Err(Usage(format!(
            "{} is a record of gentle analyze, and {} is none; merge them in two calls",
            analysis.display(),
            run.display(),
        ))
        .into()),
        (Some(_), None) => analyses::run(args, analyses),
        (None, _) => runs::run(args, runs),
    }
}

/// Records in a directory, sorted by name; for a file, the file itself.
fn records(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let name = path.display();
    let entries = std::fs::read_dir(path).with_context(|| format!("{name}: cannot be read"))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.with_context(|| format!("{name}: cannot be read"))?.path();
        if file.extension().is_some_and(|ending| ending == ENDING) || analyses::is_record(&file) {
            files.push(file);
        }
    }
    if files.is_empty() {
        bail!(
            "{name}: no records in this directory; expected files written by gentle compare --record or gentle analyze --record"
        );
    }
    files.sort();
    Ok(files)
}
