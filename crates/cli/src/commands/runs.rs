//! What `compare` and `sim` share: a scenario, runs of it, and results in every form asked for.

use crate::args::{OutputArgs, ScenarioArgs};
use crate::interrupt;
use crate::output::{OutputFile, Terminal, print};
use crate::progress::Progress;
use anyhow::{Context, bail};
use gentle_aqm::Spec;
use gentle_sim::results::Comparison;
use gentle_sim::{CaptureError, Direction, Scenario, Settings, capture, compare};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs and what to do with their results.
pub(crate) struct Job<'a> {
    pub(crate) scenario: Scenario,
    pub(crate) schemes: Vec<Spec>,
    pub(crate) seeds: NonZeroU32,
    pub(crate) first_seed: u64,
    pub(crate) output: &'a OutputArgs,
    /// Draws the terminal's view, given its width and whether it shows colours.
    pub(crate) table: fn(&Comparison, Option<usize>, bool) -> String,
}

/// Reads a scenario file; files that it names are looked for beside it.
pub(crate) fn read_scenario(path: &Path) -> anyhow::Result<Scenario> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| name.clone())?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let read = |file: &str| std::fs::read_to_string(folder.join(file));
    Ok(Scenario::from_toml(&name, &text, &read)?)
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

/// Runs the job to its end or to Ctrl-C.
pub(crate) fn run(job: &Job<'_>) -> anyhow::Result<ExitCode> {
    let output = job.output;
    if output.bins.first() == Some(&0) || !output.bins.is_sorted_by(|a, b| a < b) {
        bail!("--bins: expected sizes in ascending order, from 1 on, such as 3,10,100");
    }
    // Opened first: better to fail before the work than after it.
    let csv = OutputFile::create_if(output.csv.as_deref())?;
    let html = OutputFile::create_if(output.html.as_deref())?;
    let captures = captures(job)?;

    let stop = interrupt::flag()?;
    let threads = job.output.threads.map_or(0, NonZeroU32::get) as usize;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .context("the threads could not be started")?;
    let settings = Settings {
        seeds: (0..u64::from(job.seeds.get()))
            .map(|n| job.first_seed.wrapping_add(n))
            .collect(),
        bins: output.bins.clone(),
    };
    let labels: Vec<String> = job.schemes.iter().map(ToString::to_string).collect();
    let progress = Progress::new(labels, settings.seeds.len(), output.quiet);
    let comparison =
        pool.install(|| compare(&job.scenario, &job.schemes, &settings, &progress, &stop));
    progress.clear();

    if let Some(mut file) = csv {
        gentle_report::csv(&comparison, &mut file).with_context(|| file.name())?;
        file.commit()?;
    }
    if let Some(mut file) = html {
        file.write(gentle_report::html(&comparison).as_bytes())?;
        file.commit()?;
    }
    for (spec, mut file) in captures {
        match capture(&job.scenario, spec, job.first_seed, &mut file, &stop) {
            Ok(()) => file.commit()?,
            // Half a capture would pass for a whole one, so it is not kept.
            Err(CaptureError::Stopped) => {}
            Err(error) => return Err(error).with_context(|| file.name()),
        }
    }
    if output.json {
        let mut json = serde_json::to_string(&comparison)?;
        json.push('\n');
        print(&json)?;
    } else {
        let terminal = Terminal::of_stdout();
        print(&(job.table)(&comparison, terminal.width, terminal.color))?;
    }
    Ok(if comparison.interrupted {
        ExitCode::from(interrupt::EXIT_CODE)
    } else {
        ExitCode::SUCCESS
    })
}

/// A file for each scheme's packets.
fn captures<'a>(job: &'a Job<'_>) -> anyhow::Result<Vec<(&'a Spec, OutputFile)>> {
    let Some(path) = &job.output.pcap else {
        return Ok(Vec::new());
    };
    job.schemes
        .iter()
        .map(|spec| {
            let path = match &job.schemes[..] {
                [_] => path.clone(),
                _ => path_for(path, &spec.to_string()),
            };
            Ok((spec, OutputFile::create(&path)?))
        })
        .collect()
}

/// `out.pcapng` and `codel target=20ms` make `out-codel-target-20ms.pcapng`.
fn path_for(path: &Path, label: &str) -> PathBuf {
    let safe: String = label
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' => c,
            _ => '-',
        })
        .collect();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}-{safe}");
    if let Some(ending) = path.extension() {
        name.push('.');
        name.push_str(&ending.to_string_lossy());
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_of_several_schemes_get_names_of_their_own() {
        assert_eq!(
            path_for(Path::new("a/out.pcapng"), "codel target=20ms"),
            Path::new("a/out-codel-target-20ms.pcapng")
        );
        assert_eq!(path_for(Path::new("out"), "spa"), Path::new("out-spa"));
    }
}
