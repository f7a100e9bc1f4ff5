//! Packet captures of `--pcap`: the packets of the first seed, one file per scheme.

use super::job::Job;
use crate::files::is_stdout;
use crate::output::{OutputFile, print_error};
use crate::progress::Progress;
use crate::usage::Usage;
use anyhow::Context;
use gentle_aqm::Spec;
use gentle_experiment::Watch;
use gentle_sim::{CaptureError, capture};
use gentle_units::text::file_name_part;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Schemes with the paths of their captures.
pub(crate) struct Captures<'a>(Vec<(&'a Spec, PathBuf)>);

/// Schemes with the open files of their captures.
pub(crate) struct OpenCaptures<'a>(Vec<(&'a Spec, OutputFile)>);

impl<'a> Captures<'a> {
    /// Captures of the job; none without `--pcap`.
    pub(crate) fn of(job: &'a Job<'_>) -> Result<Captures<'a>, Usage> {
        if job.plan.schemes.len() > 1 && job.pcap.is_some_and(is_stdout) {
            return Err(Usage(format!(
                "--pcap writes one capture per scheme, and standard output cannot hold {}; name a file, or a single \
                 --scheme",
                job.plan.schemes.len()
            )));
        }
        let files = job.pcap.iter().flat_map(|path| {
            job.plan.schemes.iter().map(move |spec| match &job.plan.schemes[..] {
                [_] => (spec, path.to_path_buf()),
                _ => (spec, path_for(path, &spec.to_string())),
            })
        });
        Ok(Captures(files.collect()))
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|(_, path)| path.as_path())
    }

    pub(crate) fn create(self) -> anyhow::Result<OpenCaptures<'a>> {
        let create = |(spec, path): (&'a Spec, PathBuf)| Ok((spec, OutputFile::create(&path)?));
        self.0.into_iter().map(create).collect::<anyhow::Result<_>>().map(OpenCaptures)
    }
}

impl OpenCaptures<'_> {
    /// Repeats the first seed of each scheme and writes its packets, on all threads of the current pool.
    pub(crate) fn write(self, job: &Job<'_>, quiet: bool, stop: &AtomicBool) -> anyhow::Result<()> {
        let progress = Progress::new(self.0.len(), quiet);
        let outcome = self.0.into_par_iter().try_for_each(|(spec, mut file)| {
            let bar = progress.begin(format!("packets of {spec}"));
            let watch = Watch { stop, progress: &|fraction| progress.reached(&bar, fraction) };
            let written = capture(&job.plan.scenario, spec, job.plan.settings.seeds[0], &mut file, &watch);
            progress.end(&bar);
            match written {
                Ok(()) => file.commit(),
                // A partial capture could be taken for a complete one, so it is discarded.
                Err(CaptureError::Stopped) => {
                    progress.suspend(|| {
                        print_error(&format!("{}: not written, because the run was interrupted", file.name()));
                    });
                    Ok(())
                }
                Err(error) => Err(error).with_context(|| file.name()),
            }
        });
        progress.clear();
        outcome
    }
}

/// Path of a scheme's capture: `out.pcapng` and `codel target=20ms` give `out-codel-target-20ms.pcapng`.
fn path_for(path: &Path, label: &str) -> PathBuf {
    let file_name_part = file_name_part(label);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}-{file_name_part}");
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
