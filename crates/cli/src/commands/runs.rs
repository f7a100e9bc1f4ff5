//! Runs of a scenario on a backend, with results in every requested format.

use super::captures::Captures;
use super::job::Job;
use super::results::{claim_results, show, write_csv, write_html};
use crate::command_line::command;
use crate::files::FileClaims;
use crate::interrupt;
use crate::origin::origin;
use crate::output::{OutputFile, note, print_error, warn};
use crate::progress::Runs;
use crate::usage::Usage;
use anyhow::Context;
use gentle_aqm::Spec;
use gentle_experiment::{Backend, Scenario, Settings};
use gentle_runs::{Executed, Found, Plan, Records, execute, records_in, reference};
use gentle_units::text;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes the runs of a job on `backend`, until they end or `stop` is set, and writes the results to the job's outputs.
pub(crate) fn run<B: Backend>(job: &Job<'_>, backend: &B, stop: &AtomicBool) -> anyhow::Result<ExitCode>
where
    anyhow::Error: From<B::Error>,
{
    let Job { plan, output, .. } = job;
    let captures = Captures::of(job)?;
    let claims = claims(job, &captures)?;
    let shown = output.json || !claims.stdout_is_taken();
    // The claims hold the files open.
    drop(claims);
    // Outputs are opened first, to fail before the work rather than after it.
    let store = output.store.as_deref().map(records_in).transpose()?;
    let csv = OutputFile::create_if(output.csv.as_deref())?;
    let html = OutputFile::create_if(output.html.as_deref())?;
    let captures = captures.create()?;

    if plan.harm && plan.parts().is_empty() {
        warn("--harm: the scenario has neither applications nor groups, so there is no part to run alone");
    }
    let threads = threads(output.threads)?;
    let records = store.as_ref().map(|store| Records::new(store));
    let executed =
        threads.install(|| execute(plan, backend, records.as_ref(), |part| Runs::new(plan, part, output.quiet), stop));
    let found = records.map(Records::finish).transpose();
    let Executed { mut comparison, parts_are_missing } = executed?;
    if parts_are_missing {
        print_error("interrupted before all solo runs finished; harm is shown for the finished parts");
    }
    comparison.command = Some(command());

    // Printed first: an error with a file must not lose the computed results.
    let mut outcome = match shown {
        true => show(output.json, job.table, &comparison),
        false => Ok(()),
    };
    let found = found.map(|found| {
        if let Some(found) = found {
            tell(&found);
        }
    });
    let found = found.map_err(Into::into);
    if comparison.results.is_empty() {
        print_error("interrupted before the first run finished; no files were written");
        return outcome.and(found).map(|()| interrupt::exit_code());
    }
    outcome = outcome.and(write_csv(csv, &comparison));
    outcome = outcome.and(write_html(html, &comparison, || origin(job.tool)));
    outcome = outcome.and(found);
    outcome = outcome.and(threads.install(|| captures.write(job, output.quiet, stop)));
    outcome.map(|()| if stop.load(Ordering::Relaxed) { interrupt::exit_code() } else { ExitCode::SUCCESS })
}

/// Reports runs that were taken from a store, and records that are damaged.
pub(crate) fn tell(found: &Found) {
    if let Some(place) = &found.damaged {
        warn(&format!("{place}: damaged, or not the record of this run; such runs were made again"));
    }
    if found.found > 0 {
        note(&format!(
            "{} of {} runs were in the store",
            text::count(found.found),
            text::count(found.found + found.made)
        ));
    }
}

fn claims(job: &Job<'_>, captures: &Captures<'_>) -> Result<FileClaims, Usage> {
    let mut claims = FileClaims::default();
    for path in &job.inputs {
        claims.reads(path)?;
    }
    let output = job.output;
    claim_results(&mut claims, output.json, output.csv.as_deref(), output.html.as_deref())?;
    for path in captures.paths() {
        claims.writes_binary("--pcap", path)?;
    }
    claims.redirected_stdout()?;
    Ok(claims)
}

/// The plan of a command.
pub(crate) fn plan(
    scenario: Scenario,
    schemes: Vec<Spec>,
    seeds: (u64, u32),
    wanted: Option<&Spec>,
    harm: bool,
    bins: &[u64],
) -> Result<Plan, Usage> {
    let reference = wanted.map(|wanted| reference(&schemes, wanted)).transpose();
    let reference = reference.map_err(|error| Usage(format!("--reference: {error}")))?;
    let (first, number) = seeds;
    let seeds = (0..u64::from(number)).map(|n| first.wrapping_add(n)).collect();
    let settings = Settings { seeds, bins: bins.to_vec() };
    Ok(Plan { scenario, schemes, settings, reference, harm })
}

/// Thread pool of the given size, or with one thread per core.
pub(crate) fn threads(number: Option<u16>) -> anyhow::Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(number.map_or(0, usize::from))
        .build()
        .context("the threads could not be started")
}
