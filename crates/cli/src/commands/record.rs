//! `--record`: a file for each run.

use super::runs::Job;
use crate::output::OutputFile;
use crate::repeat::command;
use crate::usage::Usage;
use anyhow::Context;
use gentle_aqm::Spec;
use gentle_experiment::{Experiment, Observer, Record, Run, RunRecord, Scenario, Settings};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Ending of the names of records.
pub(crate) const ENDING: &str = "json";

/// Writes a record of each run while another observer hears of its progress.
pub(crate) struct Recording<'a, O> {
    job: &'a Job<'a>,
    settings: &'a Settings,
    reference: Option<String>,
    progress: O,
    experiment: OnceLock<Experiment>,
    failed: Mutex<Option<anyhow::Error>>,
}

impl<'a, O: Observer> Recording<'a, O> {
    pub(crate) fn new(
        job: &'a Job<'a>,
        settings: &'a Settings,
        reference: Option<String>,
        progress: O,
    ) -> Recording<'a, O> {
        Recording {
            job,
            settings,
            reference,
            progress,
            experiment: OnceLock::new(),
            failed: Mutex::new(None),
        }
    }

    /// The first trouble with a file.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let failed = self.failed.into_inner();
        match failed.unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn write(&self, directory: &Path, run: &RunRecord) -> anyhow::Result<()> {
        let Some(experiment) = self.experiment.get() else {
            return Ok(());
        };
        let record = Record {
            experiment: experiment.clone(),
            run: run.clone(),
        };
        let mut file = OutputFile::create(&path(directory, &run.scheme, run.seed))?;
        file.write(record.to_json().as_bytes())?;
        file.commit()
    }
}

impl<O: Observer> Observer for Recording<'_, O> {
    fn planned(&self, scenario: &Scenario, schemes: &[Spec]) {
        if self.job.record.is_some() {
            self.experiment.get_or_init(|| Experiment {
                command: Some(command()),
                reference: self.reference.clone(),
                shows_assumptions: self.job.shows_assumptions,
                ..Experiment::new(self.job.tool, scenario, schemes, self.settings)
            });
        }
        self.progress.planned(scenario, schemes);
    }

    fn started(&self, run: Run) {
        self.progress.started(run);
    }

    fn reached(&self, run: Run, fraction: f64) {
        self.progress.reached(run, fraction);
    }

    fn recorded(&self, run: Run, record: &RunRecord) {
        if let Some(directory) = self.job.record
            && let Err(error) = self.write(directory, record)
        {
            // The other runs go on: what was computed shall not be lost.
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
        }
        self.progress.recorded(run, record);
    }

    fn finished(&self, run: Run) {
        self.progress.finished(run);
    }
}

/// Makes the folder, and refuses one with a file that a run would overwrite.
pub(crate) fn prepare(job: &Job<'_>, seeds: &[u64]) -> anyhow::Result<()> {
    let Some(directory) = job.record else {
        return Ok(());
    };
    let name = directory.display();
    for (index, scheme) in job.schemes.iter().enumerate() {
        if job.schemes[..index].contains(scheme) {
            return Err(Usage(format!(
                "--record {name}: {scheme} is compared twice, and its runs have one file each; name it once"
            ))
            .into());
        }
        for seed in seeds {
            let path = path(directory, &scheme.to_string(), *seed);
            if path.exists() {
                return Err(Usage(format!(
                    "--record: {} is there already; name another folder",
                    path.display()
                ))
                .into());
            }
        }
    }
    std::fs::create_dir_all(directory).with_context(|| format!("{name}: cannot be made"))
}

/// Where the run of a scheme with a seed goes: `codel-target-20ms-seed-1.json`.
fn path(directory: &Path, scheme: &str, seed: u64) -> PathBuf {
    directory.join(format!("{}-seed-{seed}.{ENDING}", safe(scheme)))
}

/// The label of a scheme as a part of a file's name: `codel target=20ms` is `codel-target-20ms`.
pub(crate) fn safe(label: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    label
        .chars()
        .map(|c| if kept(c) { c } else { '-' })
        .collect()
}
