//! `gentle merge` of records of analyses.

use crate::args::{MergeArgs, MergedAnalysisArgs};
use crate::commands::analyze::{show, write_html};
use crate::files::FileClaims;
use crate::origin::origin;
use crate::output::{OutputFile, warn};
use crate::usage::Usage;
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

/// Whether `path` is named as the record of an analysis is.
pub(super) fn is_record(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().ends_with(&format!(".{ENDING}"))
}

/// Prints the analysis of the captures that `files`, all records of analyses, describe.
pub(super) fn run(args: &MergeArgs, mut files: Vec<PathBuf>) -> anyhow::Result<ExitCode> {
    let form = &args.form;
    let of_runs = [("--reference", args.reference.is_some()), ("--csv", form.csv.is_some())];
    if let Some((option, _)) = of_runs.into_iter().find(|(_, given)| *given) {
        return Err(Usage(format!(
            "{option} is for records of gentle compare; {} is a record of gentle analyze",
            files[0].display()
        ))
        .into());
    }
    let mut claims = FileClaims::default();
    for path in &files {
        claims.reads(path)?;
    }
    if form.json {
        claims.prints("--json")?;
    }
    if let Some(path) = &form.html {
        claims.writes("--html", path)?;
    }
    claims.redirected_stdout()?;
    let shown = form.json || !claims.stdout_is_taken();
    // The claims hold the files open.
    drop(claims);
    let html = OutputFile::create_if(form.html.as_deref())?;

    // The names of records are those of their tasks. If the memory limit is reached, the order matters.
    files.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    let mut merger = Merger::default();
    for path in &files {
        merger.add(&path.display().to_string(), read(path)?)?;
    }
    if let Some(overlap) = merger.overlap() {
        warn(&overlap.to_string());
    }
    let MergedAnalysisArgs { full, rate, top } = args.analysis;
    let mut analysis = merger.finish(&Showing { rate, top: top.map(usize::from), interrupted: false })?;
    put_into_words(&mut analysis);
    let analyses = [analysis];
    if form.json || !shown || crate::output::Terminal::of_stdout().width.is_none() {
        let captures = analyses.iter().flat_map(|analysis| &analysis.captures);
        captures.flat_map(|c| &c.warnings).for_each(|w| warn(w));
    }
    let mut outcome = match shown {
        true => show(form.json, full, &analyses),
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
