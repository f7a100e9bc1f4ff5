//! Sends schedules of packets through qdiscs.

use super::Place;
use crate::Command;
use crate::decisions::{DEVICE, Decisions, Files, Replay, Replayed};
use std::fs;
use std::io::Write;
use std::path::Path;

/// File through which the module takes requests and returns events.
const MODULE: &str = "/proc/gentle_replay";

impl Decisions {
    pub(super) fn run(&self, place: &Place) -> Result<Replayed, String> {
        let folder = place
            .files()
            .ok_or("no directory was given for the schedules")?;
        for (done, replay) in self.replays.iter().enumerate() {
            put_through(replay, folder)
                .map_err(|problem| format!("schedule {}: {problem}", replay.number))?;
            place.progress((done + 1) as f64 / self.replays.len() as f64);
        }
        Ok(Replayed {
            schedules: self.replays.len(),
        })
    }
}

fn put_through(replay: &Replay, folder: &Path) -> Result<(), String> {
    let files = Files::of(folder, replay.number);
    command(&["ip", "link", "add", DEVICE, "type", "dummy"])?;
    feed(&files.preamble)?;
    for requests in &files.requests {
        if fs::metadata(requests).is_ok_and(|file| file.len() == 0) {
            continue;
        }
        for words in &replay.commands {
            command(words)?;
        }
        feed(requests)?;
    }
    let events = fs::read(MODULE).map_err(|error| format!("{MODULE}: {error}"))?;
    fs::write(&files.events, events)
        .map_err(|error| format!("{}: {error}", files.events.display()))?;
    command(&["ip", "link", "del", DEVICE])
}

fn command(words: &[impl AsRef<str>]) -> Result<(), String> {
    let argv: Vec<String> = words.iter().map(|word| word.as_ref().to_owned()).collect();
    let line = argv.join(" ");
    let finished = Command { argv }.run()?;
    if finished.status == 0 {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&finished.stderr);
    Err(format!("{line}: {}", text.trim()))
}

/// Writes the requests in `path` to the module; returns when the last one has been carried out.
fn feed(path: &Path) -> Result<(), String> {
    let requests = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let problem =
        |error| format!("{MODULE}: {error}; expected the module gentle_replay to be loaded");
    fs::OpenOptions::new()
        .write(true)
        .open(MODULE)
        .and_then(|mut module| module.write_all(&requests))
        .map_err(problem)
}
