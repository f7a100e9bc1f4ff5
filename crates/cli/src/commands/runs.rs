//! What `compare` and `sim` share: a scenario, runs of it, and results in every form asked for.

use super::captures::Captures;
use crate::args::{ResultArgs, ScenarioArgs};
use crate::interrupt;
use crate::output::{OutputFile, Terminal, complain, each_file_once, print};
use crate::progress::Progress;
use anyhow::Context;
use gentle_aqm::Spec;
use gentle_sim::results::Comparison;
use gentle_sim::{Direction, Observer, Scenario, Settings, compare};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs and what to do with their results.
pub(crate) struct Job<'a> {
    pub(crate) scenario: Scenario,
    /// The files that the scenario comes from.
    pub(crate) inputs: Vec<&'a Path>,
    pub(crate) schemes: Vec<Spec>,
    pub(crate) seeds: u32,
    pub(crate) first_seed: u64,
    pub(crate) output: &'a ResultArgs,
    /// Where the packets of the first seed go.
    pub(crate) pcap: Option<&'a Path>,
    /// Draws the terminal's view, given its width and whether it shows colours.
    pub(crate) table: fn(&Comparison, Option<usize>, bool) -> String,
}

/// The text of an input file.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))
}

/// Reads a scenario file; files that it names are looked for beside it.
pub(crate) fn read_scenario(path: &Path) -> anyhow::Result<Scenario> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let beside = |file: &str| std::fs::read_to_string(folder.join(file));
    let name = path.display().to_string();
    Ok(Scenario::from_toml(&name, &read(path)?, &beside)?)
}

/// Applies what the command line changes.
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
    if let Some(rate) = args.rate {
        scenario.set_rate(Direction::Down, rate);
    }
    if let Some(rate) = args.up_rate {
        scenario.set_rate(Direction::Up, rate);
    }
    Ok(())
}

/// Simulates the job to its end or until `stop`.
pub(crate) fn run(job: &Job<'_>, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    run_with(job, stop, &|settings, observer| {
        let comparison = compare(&job.scenario, &job.schemes, settings, observer, stop);
        Ok(comparison)
    })
}

/// Makes the runs of a job, given what they have in common and who wants to hear of them.
pub(crate) type Compare<'a> =
    dyn Fn(&Settings, &dyn Observer) -> anyhow::Result<Comparison> + Sync + 'a;

/// Has `compare` make the runs, and puts the results where the job says.
pub(crate) fn run_with(
    job: &Job<'_>,
    stop: &AtomicBool,
    compare: &Compare<'_>,
) -> anyhow::Result<ExitCode> {
    let output = job.output;
    let captures = Captures::of(job);
    let files = job.inputs.iter().copied();
    let outputs = [&output.csv, &output.html].into_iter().flatten();
    each_file_once(
        files
            .chain(outputs.map(|path| path.as_path()))
            .chain(captures.paths()),
        "every output needs a file of its own, and every scheme a capture of its own",
    )?;
    // Opened first: better to fail before the work than after it.
    let csv = OutputFile::create_if(output.csv.as_deref())?;
    let html = OutputFile::create_if(output.html.as_deref())?;
    let captures = captures.create()?;

    let threads = threads(output.threads)?;
    let settings = Settings {
        seeds: seeds(job.first_seed, job.seeds),
        bins: output.bins.0.clone(),
    };
    let runs = job.schemes.len() * settings.seeds.len();
    let progress = Progress::new(runs, output.quiet);
    let observer = progress.observer(job.schemes.iter().map(ToString::to_string).collect());
    let comparison = threads.install(|| compare(&settings, &observer));
    progress.clear();
    let comparison = comparison?;

    // Shown at once; no trouble with a file shall lose what was computed.
    let mut outcome = show(job, &comparison);
    if comparison.results.is_empty() {
        complain("stopped before the first run had finished; no files were written");
        return outcome.map(|()| ExitCode::from(interrupt::EXIT_CODE));
    }
    outcome = outcome.and(write_csv(csv, &comparison));
    outcome = outcome.and(write_html(html, &comparison));
    outcome = outcome.and(threads.install(|| captures.write(job, output.quiet, stop)));
    outcome.map(|()| {
        if stop.load(Ordering::Relaxed) {
            ExitCode::from(interrupt::EXIT_CODE)
        } else {
            ExitCode::SUCCESS
        }
    })
}

/// So many threads, or one for each core.
pub(crate) fn threads(number: Option<u16>) -> anyhow::Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(number.map_or(0, usize::from))
        .build()
        .context("the threads could not be started")
}

/// So many seeds from the first on.
pub(crate) fn seeds(first: u64, number: u32) -> Vec<u64> {
    (0..u64::from(number))
        .map(|n| first.wrapping_add(n))
        .collect()
}

fn show(job: &Job<'_>, comparison: &Comparison) -> anyhow::Result<()> {
    if job.output.json {
        let mut json = serde_json::to_string(comparison)?;
        json.push('\n');
        return print(&json);
    }
    let terminal = Terminal::of_stdout();
    print(&(job.table)(comparison, terminal.width, terminal.color))
}

fn write_csv(file: Option<OutputFile>, comparison: &Comparison) -> anyhow::Result<()> {
    let Some(mut file) = file else {
        return Ok(());
    };
    gentle_report::compare::csv(comparison, &mut file).with_context(|| file.name())?;
    file.commit()
}

fn write_html(file: Option<OutputFile>, comparison: &Comparison) -> anyhow::Result<()> {
    let Some(mut file) = file else {
        return Ok(());
    };
    file.write(gentle_report::compare::html(comparison).as_bytes())?;
    file.commit()
}
