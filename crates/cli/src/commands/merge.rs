//! The command `gentle merge`.

use super::record::ENDING;
use super::{results, runs};
use crate::args::MergeArgs;
use crate::command_line::{command, merged_command};
use crate::files::FileClaims;
use crate::input::read_text;
use crate::origin::origin_of;
use crate::output::OutputFile;
use anyhow::{Context, bail};
use gentle_aqm::Spec;
use gentle_experiment::{Experiment, Merged, Record, merge};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Maximum size of a record, bytes: hundreds of times the usual size.
const MAX_RECORD: usize = 256 << 20;

pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<ExitCode> {
    let form = &args.form;
    let mut files = Vec::new();
    for path in &args.records {
        files.extend(records(path)?);
    }
    let mut claims = FileClaims::default();
    for path in &files {
        claims.reads(path)?;
    }
    results::claim_results(
        &mut claims,
        form.json,
        form.csv.as_deref(),
        form.html.as_deref(),
    )?;
    claims.redirected_stdout()?;
    let shown = form.json || !claims.stdout_is_taken();
    // The claims hold the files open.
    drop(claims);
    let read = files.iter().map(|path| read(path));
    let records = read.collect::<anyhow::Result<Vec<_>>>()?;
    let Merged {
        mut comparison,
        experiments,
    } = merge(records)?;
    let schemes: Vec<Spec> = {
        let all = experiments.iter().flat_map(|e| &e.schemes);
        all.filter_map(|label| label.parse().ok()).collect()
    };
    let reference = runs::reference(&schemes, args.reference.as_ref())?;
    comparison.command = match &reference {
        None => comparison.command.or_else(|| command_of_all(&experiments)),
        Some(reference) => {
            comparison.set_reference(reference);
            Some(command())
        }
    };
    // Outputs are opened before anything is printed, to fail early.
    let csv = OutputFile::create_if(form.csv.as_deref())?;
    let html = OutputFile::create_if(form.html.as_deref())?;
    let explained = experiments.iter().any(|e| e.shows_assumptions);
    let table = match explained {
        true => gentle_report::compare::table_with_assumptions,
        false => gentle_report::compare::table,
    };
    let mut outcome = match shown {
        true => results::show(form.json, table, &comparison),
        false => Ok(()),
    };
    outcome = outcome.and(results::write_csv(csv, &comparison));
    let tool = experiments.first().map_or("gentle merge", |e| &e.tool);
    let origin = || origin_of(tool, comparison.command.clone());
    outcome = outcome.and(results::write_html(html, &comparison, origin));
    outcome.map(|()| ExitCode::SUCCESS)
}

/// Command line of a single comparison with the runs of all experiments; if there is none, that of this process.
fn command_of_all(experiments: &[Experiment]) -> Option<String> {
    let commands: Option<Vec<&str>> = experiments.iter().map(|e| e.command.as_deref()).collect();
    let mut schemes: Vec<String> = Vec::new();
    let mut seeds: Vec<u64> = Vec::new();
    for experiment in experiments {
        for scheme in &experiment.schemes {
            if !schemes.contains(scheme) {
                schemes.push(scheme.clone());
            }
        }
        seeds.extend(&experiment.scenario.seeds);
    }
    seeds.sort_unstable();
    seeds.dedup();
    commands
        .and_then(|commands| merged_command(&commands, &schemes, &seeds))
        .or_else(|| Some(command()))
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
        let file = entry
            .with_context(|| format!("{name}: cannot be read"))?
            .path();
        if file.extension().is_some_and(|ending| ending == ENDING) {
            files.push(file);
        }
    }
    if files.is_empty() {
        bail!(
            "{name}: no run records in this directory; expected files written by gentle compare --record"
        );
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> anyhow::Result<(String, Record)> {
    let name = path.display().to_string();
    let text = read_text(path, MAX_RECORD).with_context(|| format!("{name}: cannot be read"))?;
    let record = Record::from_json(&text).with_context(|| name.clone())?;
    Ok((name, record))
}
