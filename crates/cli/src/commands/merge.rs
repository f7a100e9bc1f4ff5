//! The command `gentle merge`.

use crate::args::MergeArgs;
use crate::commands::analyze::{show, write_html};
use crate::files::FileClaims;
use crate::names;
use crate::origin::origin;
use crate::output::{OutputFile, warn};
use anyhow::{Context, bail};
use gentle_report::analyze::put_into_words;
use gentle_trace::record::{Merger, Record, Showing};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// End of the names of records.
pub(crate) const ENDING: &str = "json.zst";

/// Largest size of a record, bytes.
const MAX_RECORD: u64 = 1 << 30;

/// Prints the analysis of the captures that all records describe.
pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<ExitCode> {
    let mut files = Vec::new();
    for path in &args.records {
        files.extend(records(path)?);
    }
    let mut claims = FileClaims::default();
    for path in &files {
        claims.reads(path)?;
    }
    for path in &args.names.files {
        claims.reads_once(path)?;
    }
    if args.json {
        claims.prints("--json")?;
    }
    if let Some(path) = &args.html {
        claims.writes("--html", path)?;
    }
    claims.redirected_stdout()?;
    let shown = args.json || !claims.stdout_is_taken();
    // The claims hold the files open.
    drop(claims);
    let html = OutputFile::create_if(args.html.as_deref())?;
    let names = names::read(&args.names.files)?;

    // Records have the names of their tasks. If the memory limit is reached, the order matters.
    files.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    let mut merger = Merger::default();
    for path in &files {
        merger.add(&path.display().to_string(), read(path)?)?;
    }
    if let Some(overlap) = merger.overlap() {
        warn(&overlap.to_string());
    }
    let MergeArgs { full, rate, top, .. } = *args;
    let mut analysis = merger.finish(&Showing { rate, top: top.map(usize::from), interrupted: false, names })?;
    put_into_words(&mut analysis);
    let analyses = [analysis];
    if args.json || !shown || crate::output::Terminal::of_stdout().width.is_none() {
        let captures = analyses.iter().flat_map(|analysis| &analysis.captures);
        captures.flat_map(|c| &c.warnings).for_each(|w| warn(w));
    }
    let mut outcome = match shown {
        true => show(args.json, full, &analyses),
        false => Ok(()),
    };
    let origin = || origin("gentle merge");
    outcome = outcome.and(write_html(html, &analyses, origin));
    outcome.map(|()| ExitCode::SUCCESS)
}

/// Reads the record of an analysis.
pub(crate) fn read(path: &Path) -> anyhow::Result<Record> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(|| format!("{name}: cannot be read"))?;
    file.take(MAX_RECORD + 1).read_to_end(&mut bytes).with_context(|| format!("{name}: cannot be read"))?;
    if bytes.len() as u64 > MAX_RECORD {
        bail!("{name}: longer than 1 GiB; expected a file that gentle analyze --record wrote");
    }
    Record::from_bytes(&bytes).context(name)
}

/// Records in a directory; for a file, the file itself.
fn records(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let name = path.display();
    let entries = std::fs::read_dir(path).with_context(|| format!("{name}: cannot be read"))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.with_context(|| format!("{name}: cannot be read"))?.path();
        if file.file_name().unwrap_or_default().to_string_lossy().ends_with(&format!(".{ENDING}")) {
            files.push(file);
        }
    }
    if files.is_empty() {
        bail!("{name}: no records in this directory; expected files that gentle analyze --record wrote");
    }
    Ok(files)
}
