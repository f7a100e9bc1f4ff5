//! `gentle merge` of records of runs.

use crate::args::MergeArgs;
use crate::command_line::{command, merged_command};
use crate::commands::{results, runs};
use crate::files::FileClaims;
use crate::input::read_text;
use crate::origin::origin_of;
use crate::output::OutputFile;
use crate::usage::Usage;
use anyhow::Context;
use gentle_aqm::Spec;
use gentle_experiment::{Backend, Experiment, Merged, Record, merge};
use gentle_sim::Simulator;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Maximum size of a record, bytes: hundreds of times the usual size.
const MAX_RECORD: usize = 256 << 20;

/// Prints the comparison of the runs that `files` describe.
pub(super) fn run(args: &MergeArgs, files: Vec<PathBuf>) -> anyhow::Result<ExitCode> {
    let form = &args.form;
    let analysis = &args.analysis;
    let of_analyses =
        [("--full", analysis.full), ("--rate", analysis.rate.is_some()), ("--top", analysis.top.is_some())];
    if let Some((option, _)) = of_analyses.into_iter().find(|(_, given)| *given) {
        return Err(Usage(format!("{option} is for records of gentle analyze")).into());
    }
    let mut claims = FileClaims::default();
    for path in &files {
        claims.reads(path)?;
    }
    results::claim_results(&mut claims, form.json, form.csv.as_deref(), form.html.as_deref())?;
    claims.redirected_stdout()?;
    let shown = form.json || !claims.stdout_is_taken();
    // The claims hold the files open.
    drop(claims);
    let read = files.iter().map(|path| read(path));
    let records = read.collect::<anyhow::Result<Vec<_>>>()?;
    let Merged { mut comparison, experiments } = merge(records)?;
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
    commands.and_then(|commands| merged_command(&commands, &schemes, &seeds)).or_else(|| Some(command()))
}

fn read(path: &Path) -> anyhow::Result<(String, Record)> {
    let name = path.display().to_string();
    let text = read_text(path, MAX_RECORD).with_context(|| format!("{name}: cannot be read"))?;
    let record = Record::from_json(&text).with_context(|| name.clone())?;
    let (made, here) = (&record.run.engine, Simulator.engine());
    // Records of a kernel name an engine that depends on the kernel, which this call does not have.
    if record.run.backend == Simulator.name() && *made != here {
        anyhow::bail!(
            "{name}: made by another build of gentle (engine {:.8}); expected this one's (engine {here:.8}): make the run again, with --record and a new directory",
            made
        );
    }
    Ok((name, record))
}
