//! What a job knows of the machine around it.

use super::{FILES, SHARE, share};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The job's surroundings.
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

    /// The directory of the host that the job may write to, if the caller gave one.
    pub fn files(&self) -> Option<&Path> {
        let files = Path::new(FILES);
        files.is_dir().then_some(files)
    }

    /// The program that this process runs, for more processes of it.
    pub fn program(&self) -> &Path {
        Path::new("/proc/self/exe")
    }

    /// Tells the host how far the job has come, 0 to 1.
    pub fn progress(&self, fraction: f64) {
        // Only a picture of the work: nothing depends on it.
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
        // Where even this fails, the host says that there was no answer.
        let _ = write_whole(&self.share.join(share::FAILURE), problem.as_bytes());
    }
}

/// The host may look at any time, and shall never see half a file.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let part = path.with_extension("part");
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|error| format!("{}: {error}", path.display()))
}
