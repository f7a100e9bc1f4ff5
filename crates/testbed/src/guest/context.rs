//! Environment of a job in the machine.

use super::error::{FileError, JobError};
use crate::protocol::{FILES, SHARE, share};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Environment of a job.
#[derive(Debug)]
pub struct JobContext {
    share: PathBuf,
}

impl JobContext {
    pub(super) fn new() -> JobContext {
        JobContext { share: PathBuf::from(SHARE) }
    }

    /// Directory of the host that the job may write to, if the caller gave one.
    pub fn files(&self) -> Option<&Path> {
        let files = Path::new(FILES);
        files.is_dir().then_some(files)
    }

    /// Path of the running program, to start more processes of it.
    pub fn program(&self) -> &Path {
        Path::new("/proc/self/exe")
    }

    /// Reports the progress of the job to the host, 0 to 1.
    pub fn progress(&self, fraction: f64) {
        // Errors are ignored: progress is only displayed.
        let _ = write_whole(&self.share.join(share::PROGRESS), fraction.to_string().as_bytes());
    }

    /// Writes the answer of the job.
    pub(super) fn answer(&self, answer: &impl Serialize) -> Result<(), JobError> {
        let text = serde_json::to_vec(answer).map_err(JobError::Answer)?;
        Ok(write_whole(&self.share.join(share::ANSWER), &text)?)
    }

    /// Reports the failure of the job.
    pub(super) fn fail(&self, error: &JobError) {
        // If even this fails, the host reports that there was no answer.
        let _ = write_whole(&self.share.join(share::FAILURE), error.to_string().as_bytes());
    }
}

/// Writes a file atomically, because the host may read it at any time.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let part = path.with_extension("part");
    std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path)).map_err(FileError::at(path))
}
