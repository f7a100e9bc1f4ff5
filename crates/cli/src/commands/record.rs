//! Files of `--record`, one per run.

use super::job::Job;
use crate::command_line::command;
use crate::output::OutputFile;
use crate::usage::Usage;
use anyhow::Context;
use gentle_aqm::Spec;
use gentle_experiment::{Experiment, Observer, Record, Run, RunRecord, Scenario, Settings};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// File name extension of records.
pub(crate) const ENDING: &str = "json";

/// Observer that writes a record of each run and passes all calls on to `progress`.
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
        Recording { job, settings, reference, progress, experiment: OnceLock::new(), failed: Mutex::new(None) }
    }

    /// First error with a file, if any.
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
        let record = Record { experiment: experiment.clone(), run: run.clone() };
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
            // The other runs continue, so that their results are not lost.
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
        }
        self.progress.recorded(run, record);
    }

    fn finished(&self, run: Run) {
        self.progress.finished(run);
    }
}

/// Creates the directory; an error if a run would overwrite a file in it.
pub(crate) fn prepare(job: &Job<'_>, seeds: &[u64]) -> anyhow::Result<()> {
    let Some(directory) = job.record else {
        return Ok(());
    };
    let name = directory.display();
    for (index, scheme) in job.schemes.iter().enumerate() {
        if job.schemes[..index].contains(scheme) {
            return Err(Usage(format!(
                "--record {name}: {scheme} is given twice, and both would write the same files; give it once"
            ))
            .into());
        }
        for seed in seeds {
            let path = path(directory, &scheme.to_string(), *seed);
            if path.exists() {
                return Err(
                    Usage(format!("--record: {} exists already; name another directory", path.display())).into()
                );
            }
        }
    }
    std::fs::create_dir_all(directory).with_context(|| format!("{name}: cannot be created"))
}

/// Path of the record of a run, such as `codel-target-20ms-seed-1.json`.
fn path(directory: &Path, scheme: &str, seed: u64) -> PathBuf {
    directory.join(format!("{}-seed-{seed}.{ENDING}", file_name_part(scheme)))
}

/// Label of a scheme as a part of a file name: `codel target=20ms` gives `codel-target-20ms`.
pub(crate) fn file_name_part(label: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    label.chars().map(|c| if kept(c) { c } else { '-' }).collect()
}
