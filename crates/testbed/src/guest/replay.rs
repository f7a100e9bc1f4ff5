//! Replay of packet schedules through qdiscs.

use super::JobContext;
use super::command;
use super::error::{FileError, JobError, ReplayError};
use crate::job::{Command, DEVICE, Replay, ReplayFiles, ReplayJob, Replayed};
use std::fs;
use std::io::Write;
use std::path::Path;

/// File through which the module takes requests and returns events.
const MODULE: &str = "/proc/gentle_replay";

/// Replays all schedules of `job`.
pub(super) fn run(job: &ReplayJob, context: &JobContext) -> Result<Replayed, JobError> {
    let folder = context.files().ok_or(JobError::NoFiles("the schedules of packets"))?;
    for (done, replay) in job.replays.iter().enumerate() {
        run_one(replay, folder).map_err(|source| JobError::Replay { number: replay.number, source })?;
        context.progress((done + 1) as f64 / job.replays.len() as f64);
    }
    Ok(Replayed { schedules: job.replays.len() })
}

/// Replays one schedule, whose files are in `folder`, on a new device.
fn run_one(replay: &Replay, folder: &Path) -> Result<(), ReplayError> {
    let files = ReplayFiles::of(folder, replay.number);
    execute(&["ip", "link", "add", DEVICE, "type", "dummy"])?;
    feed(&files.preamble)?;
    for requests in &files.requests {
        if fs::metadata(requests).is_ok_and(|file| file.len() == 0) {
            continue;
        }
        for words in &replay.commands {
            execute(words)?;
        }
        feed(requests)?;
    }
    let events = fs::read(MODULE).map_err(FileError::at(MODULE))?;
    fs::write(&files.events, events).map_err(FileError::at(&files.events))?;
    execute(&["ip", "link", "del", DEVICE])
}

/// Runs a command that has to succeed.
fn execute(words: &[impl AsRef<str>]) -> Result<(), ReplayError> {
    let argv: Vec<String> = words.iter().map(|word| word.as_ref().to_owned()).collect();
    let line = argv.join(" ");
    let finished = command::run(&Command { argv })?;
    if finished.status == 0 {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&finished.stderr).trim().to_owned();
    Err(ReplayError::Setup { line, stderr })
}

/// Writes the requests in `path` to the module; returns when the last one has been carried out.
fn feed(path: &Path) -> Result<(), ReplayError> {
    let requests = fs::read(path).map_err(FileError::at(path))?;
    fs::OpenOptions::new()
        .write(true)
        .open(MODULE)
        .and_then(|mut module| module.write_all(&requests))
        .map_err(|problem| ReplayError::Module { file: MODULE, problem })
}
