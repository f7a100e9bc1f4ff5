//! Runs of a scenario on a backend, with results in every requested format.

use super::captures::Captures;
use super::job::Job;
use super::record::{self, Recording};
use super::results::{claim_results, show, write_csv, write_html};
use crate::command_line::command;
use crate::files::FileClaims;
use crate::interrupt;
use crate::origin::origin;
use crate::output::{OutputFile, print_error, warn};
use crate::progress::Progress;
use crate::usage::Usage;
use anyhow::Context;
use gentle_aqm::Spec;
use gentle_experiment::results::Comparison;
use gentle_experiment::{Backend, Settings, compare};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes the runs of a job on `backend`, until they end or `stop` is set, and writes the results to the job's outputs.
pub(crate) fn run<B: Backend>(job: &Job<'_>, backend: &B, stop: &AtomicBool) -> anyhow::Result<ExitCode>
where
    anyhow::Error: From<B::Error>,
{
    let output = job.output;
    let reference = reference(&job.schemes, job.reference)?;
    let captures = Captures::of(job)?;
    let claims = claims(job, &captures)?;
    let shown = output.form.json || !claims.stdout_is_taken();
    // The claims hold the files open.
    drop(claims);
    let settings = Settings { seeds: seeds(job.first_seed, job.seeds), bins: output.bins.0.clone() };
    record::prepare(job, &settings.seeds)?;
    // Outputs are opened first, to fail before the work rather than after it.
    let csv = OutputFile::create_if(output.form.csv.as_deref())?;
    let html = OutputFile::create_if(output.form.html.as_deref())?;
    let captures = captures.create()?;

    let threads = threads(output.threads)?;
    let runs = job.schemes.len() * settings.seeds.len();
    let progress = Progress::new(runs, output.quiet);
    let labels = job.schemes.iter().map(ToString::to_string).collect();
    let observer = Recording::new(job, &settings, reference.clone(), progress.observer(labels));
    let comparison = threads.install(|| {
        let (scenario, schemes) = (&job.scenario, &job.schemes);
        compare(backend, scenario, schemes, &settings, &observer, stop)
    });
    progress.clear();
    let recorded = observer.finish();
    let mut comparison = comparison?;
    comparison.command = Some(command());
    if job.harm && !comparison.results.is_empty() {
        threads.install(|| add_harm(&mut comparison, job, backend, &settings, stop))?;
    }
    if let Some(reference) = reference {
        // A scheme without a finished run cannot be the reference; the first scheme then remains it.
        comparison.set_reference(&reference);
    }

    // Printed at once: an error with a file must not lose the computed results.
    let mut outcome = match shown {
        true => show(output.form.json, job.table, &comparison),
        false => Ok(()),
    };
    if comparison.results.is_empty() {
        print_error("stopped before the first run had finished; no files were written");
        return outcome.and(recorded).map(|()| interrupt::exit_code());
    }
    outcome = outcome.and(write_csv(csv, &comparison));
    outcome = outcome.and(write_html(html, &comparison, || origin(job.tool)));
    outcome = outcome.and(recorded);
    outcome = outcome.and(threads.install(|| captures.write(job, output.quiet, stop)));
    outcome.map(|()| if stop.load(Ordering::Relaxed) { interrupt::exit_code() } else { ExitCode::SUCCESS })
}

/// Runs each part of the traffic alone, and adds the harm that the others do to it.
fn add_harm<B: Backend>(
    comparison: &mut Comparison,
    job: &Job<'_>,
    backend: &B,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<(), B::Error> {
    let parts = job.scenario.parts();
    if parts.is_empty() {
        warn("--harm: the scenario has neither applications nor groups, so there is no part to run alone");
    }
    for part in &parts {
        let progress = Progress::new(job.schemes.len() * settings.seeds.len(), job.output.quiet);
        let label = |scheme: &Spec| format!("{} alone, {scheme}", part.name);
        let observer = progress.observer(job.schemes.iter().map(label).collect());
        let scenario = job.scenario.alone(part);
        let alone = compare(backend, &scenario, &job.schemes, settings, &observer, stop);
        progress.clear();
        let alone = alone?;
        if alone.interrupted {
            print_error("stopped before every part had run alone; the harm to the others is shown");
            return Ok(());
        }
        comparison.add_harm(part, &alone);
    }
    Ok(())
}

fn claims(job: &Job<'_>, captures: &Captures<'_>) -> Result<FileClaims, Usage> {
    let mut claims = FileClaims::default();
    for path in &job.inputs {
        claims.reads(path)?;
    }
    let form = &job.output.form;
    claim_results(&mut claims, form.json, form.csv.as_deref(), form.html.as_deref())?;
    for path in captures.paths() {
        claims.writes_binary("--pcap", path)?;
    }
    claims.redirected_stdout()?;
    Ok(claims)
}

/// Label of the reference scheme: the one with the options of `wanted`, or the only one with its name.
pub(crate) fn reference(schemes: &[Spec], wanted: Option<&Spec>) -> Result<Option<String>, Usage> {
    let Some(wanted) = wanted.map(Spec::to_string) else {
        return Ok(None);
    };
    if schemes.iter().any(|scheme| scheme.to_string() == wanted) {
        return Ok(Some(wanted));
    }
    let mut named = schemes.iter().filter(|scheme| scheme.scheme().name == wanted);
    match (named.next(), named.next()) {
        (Some(scheme), None) => Ok(Some(scheme.to_string())),
        _ => {
            let labels: Vec<String> = schemes.iter().map(Spec::to_string).collect();
            Err(Usage(format!(
                "--reference: '{wanted}' is not among the schemes compared; expected one of: {}",
                labels.join(", ")
            )))
        }
    }
}

/// Thread pool of the given size, or with one thread per core.
pub(crate) fn threads(number: Option<u16>) -> anyhow::Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(number.map_or(0, usize::from))
        .build()
        .context("the threads could not be started")
}

/// Given number of consecutive seeds.
pub(crate) fn seeds(first: u64, number: u32) -> Vec<u64> {
    (0..u64::from(number)).map(|n| first.wrapping_add(n)).collect()
}
