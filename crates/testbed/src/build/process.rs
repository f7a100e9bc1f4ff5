//! Runs a program of the build, watches its output, and stops it on request.

use super::BuildError;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, PipeReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Number of lines that an error message shows.
const TAIL: usize = 15;
/// Maximum delay before a stop request is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Runs `command` to its end; calls `line` with every line of its output.
pub(super) fn run(command: &mut Command, stop: &AtomicBool, line: &mut dyn FnMut(&str)) -> Result<(), BuildError> {
    let name = name(command);
    let failed = |source| BuildError::Run { command: name.clone(), source };
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let errors = writer.try_clone().map_err(failed)?;
    let child = command
        // The output is parsed, so it has to be the same in every locale.
        .env("LC_ALL", "C")
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(errors)
        .spawn();
    // Drops the command, which would keep its ends of the pipe open.
    *command = Command::new("true");
    let mut group = Group(child.map_err(failed)?);
    let lines = lines(reader);
    let mut tail = VecDeque::new();
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(BuildError::Stopped);
        }
        match lines.recv_timeout(POLL_INTERVAL) {
            Ok(text) => {
                line(&text);
                if tail.len() == TAIL {
                    tail.pop_front();
                }
                tail.push_back(text);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = group.0.wait().map_err(failed)?;
    if status.success() {
        return Ok(());
    }
    Err(BuildError::Command { command: name, tail: Vec::from(tail).join("\n") })
}

/// Program and arguments of the command, for error messages.
fn name(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

fn lines(reader: PipeReader) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A process with its process group; killed on drop.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            if let Some(group) = Pid::from_raw(self.0.id().cast_signed()) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.0.wait();
        }
    }
}
