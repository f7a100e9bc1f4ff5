//! Environment of a job in the machine.

use super::{FILES, SHARE, share};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Environment of a job.
#[derive(Debug)]
pub struct Place {
    share: PathBuf,
}

impl Place {
    pub(super) fn new() -> Place {
        Place {
            share: PathBuf::from(SHARE),
        }
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
        let _ = write_whole(
            &self.share.join(share::PROGRESS),
            fraction.to_string().as_bytes(),
        );
    }

    pub(super) fn answer(&self, answer: &impl Serialize) -> Result<(), String> {
        let text = serde_json::to_vec(answer).map_err(|error| format!("the answer: {error}"))?;
        write_whole(&self.share.join(share::ANSWER), &text)
    }

    pub(super) fn fail(&self, problem: &str) {
        // If even this fails, the host reports that there was no answer.
        let _ = write_whole(&self.share.join(share::FAILURE), problem.as_bytes());
    }
}

/// Writes a file atomically, because the host may read it at any time.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let part = path.with_extension("part");
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|error| format!("{}: {error}", path.display()))
}
