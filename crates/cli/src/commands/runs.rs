//! Common parts of `compare` and `sim`: a scenario, its runs, and results in every requested format.

use super::captures::Captures;
use super::record::{self, Recording};
use crate::args::{FormArgs, ResultArgs, ScenarioArgs};
use crate::files::Claims;
use crate::input::read_text;
use crate::interrupt;
use crate::origin::origin;
use crate::output::{OutputFile, Terminal, complain, print, warn};
use crate::progress::Progress;
use crate::repeat::command;
use crate::usage::Usage;
use anyhow::Context;
use gentle_aqm::Spec;
use gentle_experiment::results::Comparison;
use gentle_experiment::{Backend, LinkChange, Scenario, Settings, compare};
use gentle_report::Origin;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum size of a scenario file, bytes: thousands of times the usual size.
const MOST_SCENARIO: usize = 16 << 20;

/// Maximum size of a list of flows, bytes: tens of millions of connections.
const MOST_FLOWS: usize = 1 << 30;

/// Runs, and the outputs of their results.
pub(crate) struct Job<'a> {
    /// Name of the command, such as `gentle compare`, for pages.
    pub(crate) tool: &'static str,
    pub(crate) scenario: Scenario,
    /// Files of the scenario.
    pub(crate) inputs: Vec<PathBuf>,
    pub(crate) schemes: Vec<Spec>,
    pub(crate) seeds: u32,
    pub(crate) first_seed: u64,
    /// Reference scheme, if it is not the first one.
    pub(crate) reference: Option<&'a Spec>,
    pub(crate) output: &'a ResultArgs,
    /// Path for the packets of the first seed.
    pub(crate) pcap: Option<&'a Path>,
    /// The folder for a record of each run.
    pub(crate) record: Option<&'a Path>,
    /// Whether the table explains what the scenario was inferred from.
    pub(crate) shows_assumptions: bool,
    pub(crate) table: DrawTable,
}

/// Draws the terminal's view, given its width and whether it shows colours.
pub(crate) type DrawTable = fn(&Comparison, Option<usize>, bool) -> String;

/// Reads a scenario file; files that it names are looked for beside it. Gives the scenario and all that was read.
pub(crate) fn read_scenario(path: &Path) -> anyhow::Result<(Scenario, Vec<PathBuf>)> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = RefCell::new(vec![path.to_owned()]);
    let beside = |file: &str| {
        let path = folder.join(file);
        let text = read_text(&path, MOST_FLOWS);
        files.borrow_mut().push(path);
        text
    };
    let name = path.display().to_string();
    let text = read_text(path, MOST_SCENARIO).with_context(|| format!("{name}: cannot be read"))?;
    let scenario = Scenario::from_toml(&name, &text, &beside)?;
    scenario.remarks.iter().for_each(|remark| warn(remark));
    Ok((scenario, files.into_inner()))
}

/// Reads a list of flows.
pub(crate) fn read_flows(path: &Path) -> anyhow::Result<Scenario> {
    let name = path.display().to_string();
    let text = read_text(path, MOST_FLOWS).with_context(|| format!("{name}: cannot be read"))?;
    Ok(Scenario::from_flows(&name, &text)?)
}

/// Applies the changes from the command line.
pub(crate) fn change(scenario: &mut Scenario, args: &ScenarioArgs) -> anyhow::Result<()> {
    if let Some(duration) = args.duration {
        scenario.set_duration(duration);
    }
    if let Some(profile) = &args.profile {
        scenario.set_profile(profile)?;
    }
    for (knob, value) in &args.knobs {
        scenario.set_knob(knob, value)?;
    }
    let change = LinkChange {
        down: args.rate,
        up: args.up_rate,
        load: args.load.map(|load| load.0),
    };
    let changed = scenario.change_links(&change);
    changed.map_err(|error| Usage(format!("--load: {error}")))?;
    Ok(())
}

/// Has `backend` make the runs of a job, to their end or until `stop`, and puts the results where the job says.
pub(crate) fn run<B: Backend>(
    job: &Job<'_>,
    backend: &B,
    stop: &AtomicBool,
) -> anyhow::Result<ExitCode>
where
    anyhow::Error: From<B::Error>,
{
    let output = job.output;
    let reference = reference(&job.schemes, job.reference)?;
    let captures = Captures::of(job)?;
    let claims = claims(job, &captures)?;
    let shown = output.form.json || !claims.stdout_is_taken();
    // It holds the files open.
    drop(claims);
    let settings = Settings {
        seeds: seeds(job.first_seed, job.seeds),
        bins: output.bins.0.clone(),
    };
    record::prepare(job, &settings.seeds)?;
    // Opened first: better to fail before the work than after it.
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
    if let Some(reference) = reference {
        // A scheme without a finished run cannot be the reference; the first scheme then remains it.
        comparison.refer_to(&reference);
    }

    // Printed at once: an error with a file must not lose the computed results.
    let mut outcome = match shown {
        true => show(output.form.json, job.table, &comparison),
        false => Ok(()),
    };
    if comparison.results.is_empty() {
        complain("stopped before the first run had finished; no files were written");
        return outcome.and(recorded).map(|()| interrupt::exit_code());
    }
    outcome = outcome.and(write_csv(csv, &comparison));
    outcome = outcome.and(write_html(html, &comparison, || origin(job.tool)));
    outcome = outcome.and(recorded);
    outcome = outcome.and(threads.install(|| captures.write(job, output.quiet, stop)));
    outcome.map(|()| {
        if stop.load(Ordering::Relaxed) {
            interrupt::exit_code()
        } else {
            ExitCode::SUCCESS
        }
    })
}

fn claims(job: &Job<'_>, captures: &Captures<'_>) -> Result<Claims, Usage> {
    let mut claims = Claims::default();
    for path in &job.inputs {
        claims.reads(path)?;
    }
    claim_results(&mut claims, &job.output.form)?;
    for path in captures.paths() {
        claims.writes_binary("--pcap", path)?;
    }
    claims.redirected_stdout()?;
    Ok(claims)
}

/// Claims what results are written to.
pub(crate) fn claim_results(claims: &mut Claims, form: &FormArgs) -> Result<(), Usage> {
    if form.json {
        claims.prints("--json")?;
    }
    if let Some(path) = &form.csv {
        claims.writes("--csv", path)?;
    }
    if let Some(path) = &form.html {
        claims.writes("--html", path)?;
    }
    Ok(())
}

/// The label of the scheme that was asked for as the reference: one with the same options, or the only one of the name.
pub(crate) fn reference(schemes: &[Spec], wanted: Option<&Spec>) -> Result<Option<String>, Usage> {
    let Some(wanted) = wanted.map(Spec::to_string) else {
        return Ok(None);
    };
    if schemes.iter().any(|scheme| scheme.to_string() == wanted) {
        return Ok(Some(wanted));
    }
    let mut named = schemes
        .iter()
        .filter(|scheme| scheme.scheme().name == wanted);
    match (named.next(), named.next()) {
        (Some(scheme), None) => Ok(Some(scheme.to_string())),
        _ => {
            let labels: Vec<String> = schemes.iter().map(Spec::to_string).collect();
            Err(Usage(format!(
                "--reference: '{wanted}' is not one of the schemes compared; expected one of: {}",
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
    (0..u64::from(number))
        .map(|n| first.wrapping_add(n))
        .collect()
}

/// Prints results as JSON, or as `table` draws them.
pub(crate) fn show(json: bool, table: DrawTable, comparison: &Comparison) -> anyhow::Result<()> {
    if json {
        let mut json = serde_json::to_string(comparison)?;
        json.push('\n');
        return print(&json);
    }
    let terminal = Terminal::of_stdout();
    print(&table(comparison, terminal.width, terminal.color))
}

/// Writes a row for each scheme and seed.
pub(crate) fn write_csv(file: Option<OutputFile>, comparison: &Comparison) -> anyhow::Result<()> {
    let Some(mut file) = file else {
        return Ok(());
    };
    gentle_report::compare::csv(comparison, &mut file).with_context(|| file.name())?;
    file.commit()
}

/// Writes the page, which says where it comes from.
pub(crate) fn write_html(
    file: Option<OutputFile>,
    comparison: &Comparison,
    origin: impl FnOnce() -> Result<Origin, Usage>,
) -> anyhow::Result<()> {
    let Some(mut file) = file else {
        return Ok(());
    };
    file.write(gentle_report::compare::html(comparison, &origin()?).as_bytes())?;
    file.commit()
}
