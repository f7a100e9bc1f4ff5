//! Log, metrics and learned paths of a running engine.
//!
//! A separate thread writes them, so that packets do not wait for a terminal, a pipe or a disk.

use crate::args::RexmitWireArgs;
use crate::output::{OutputFile, one_line, print, warn};
use anyhow::Context;
use gentle_rexmit::wire::Observer;
use gentle_rexmit::{Answered, Connection, Event, Status, format_learned, metrics};
use gentle_units::{Instant, Nanos};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

/// Maximum number of queued lines and reports; further ones are dropped and counted.
const WAITING: usize = 4096;

/// Number of reports after which the learned paths are saved: once a minute.
const REPORTS_TO_KEEP: u32 = 6;

/// Maximum wait for a stalled reader at the end.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct Log {
    json: bool,
    dry_run: bool,
    files: Files,
    entries: SyncSender<Entry>,
    ended: Receiver<()>,
    /// Lines and reports dropped because the queue was full.
    left_out: u64,
}

enum Entry {
    Line(String),
    Report(Box<Status>),
}

/// Files written in addition to the log.
#[derive(Clone)]
struct Files {
    metrics: Option<PathBuf>,
    learned: Option<PathBuf>,
}

impl Log {
    /// Starts the thread, which has the privileges of the current one; `user` is the user that the engine switches to,
    /// if any.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn start(args: &RexmitWireArgs, user: Option<&str>) -> anyhow::Result<Log> {
        let files = Files { metrics: args.place.metrics.clone(), learned: args.delay.learned.clone() };
        for path in [&files.metrics, &files.learned].into_iter().flatten() {
            let tried = OutputFile::create(path);
            match user {
                Some(user) => tried.with_context(|| {
                    format!("the engine runs as user {user} (--user), who must be able to write here")
                })?,
                None => tried?,
            };
        }
        let (entries, waiting) = sync_channel(WAITING);
        let (end, ended) = sync_channel(1);
        let mut writer = Writer { files: files.clone(), reports: 0, complained: false };
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || {
                for entry in waiting {
                    writer.write(entry);
                }
                // The receiver is gone if the wait was too long.
                let _ = end.send(());
            })
            .context("a thread for the log")?;
        Ok(Log { json: args.place.log_json, dry_run: args.limits.dry_run, files, entries, ended, left_out: 0 })
    }

    pub(super) fn started(&self, interface: &str) {
        let how = if self.dry_run { ", sending nothing" } else { "" };
        // A failure of standard error cannot be reported.
        let _ = writeln!(io::stderr().lock(), "gentle rexmit: watching {interface}{how}");
    }

    /// Writes the queued entries and saves the learned paths, also after the engine has failed.
    pub(super) fn end(self, status: &Status) -> anyhow::Result<()> {
        drop(self.entries);
        let written = self.ended.recv_timeout(PATIENCE).is_ok();
        if self.left_out > 0 || !written {
            warn(&format!(
                "the log is incomplete: {} lines or reports were dropped because its reader was too slow",
                self.left_out
            ));
        }
        // Metrics of an ended engine would be stale.
        if let Some(path) = &self.files.metrics {
            // The file may never have been written.
            let _ = std::fs::remove_file(path);
        }
        match &self.files.learned {
            Some(path) => keep(path, status),
            None => Ok(()),
        }
    }

    fn line(&mut self, unix_ns: Instant, event: &str, connection: Connection, mut fields: Value) {
        if !self.json {
            return;
        }
        fields["time"] = json!(unix_ns.as_secs_f64());
        fields["event"] = json!(event);
        let (src, dst) = <(SocketAddr, SocketAddr)>::from(connection);
        fields["src"] = json!(src);
        fields["dst"] = json!(dst);
        self.enter(Entry::Line(format!("{fields}\n")));
    }

    fn enter(&mut self, entry: Entry) {
        if let Err(TrySendError::Full(_)) = self.entries.try_send(entry) {
            self.left_out += 1;
        }
    }
}

impl Observer for Log {
    fn event(&mut self, unix_ns: Instant, event: &Event<'_>, sent: bool) {
        if !self.json {
            return;
        }
        let (name, fields) = match event {
            Event::Copy(copy) => (
                "copy",
                json!({
                    "packet": copy.kind.name(),
                    "copy": copy.number,
                    "after_ms": milliseconds(copy.waited),
                    "sent": sent,
                }),
            ),
            Event::Suppressed { kind, reason, .. } => {
                ("held", json!({ "packet": kind.name(), "reason": reason.name() }))
            }
            Event::Unanswered { kind, copies, .. } => {
                ("unanswered", json!({ "packet": kind.name(), "copies": copies }))
            }
            Event::Decided(outcome) => (
                "settled",
                json!({
                    "packet": outcome.kind.name(),
                    "copies": outcome.copies,
                    "unneeded": outcome.spurious,
                    "saved_ms": milliseconds(outcome.saved),
                }),
            ),
        };
        self.line(unix_ns, name, event.connection(), fields);
    }

    fn answered(&mut self, unix_ns: Instant, answered: &Answered) {
        let fields = json!({
            "packet": answered.kind.name(),
            "copies": answered.copies,
            "after_ms": milliseconds(answered.took),
        });
        self.line(unix_ns, "answered", answered.connection, fields);
    }

    fn report(&mut self, status: &Status) {
        if self.files.metrics.is_some() || self.files.learned.is_some() {
            self.enter(Entry::Report(Box::new(status.clone())));
        }
    }
}

/// State of the writing thread.
struct Writer {
    files: Files,
    /// Number of reports so far.
    reports: u32,
    /// Whether a write error has been reported; later ones are not.
    complained: bool,
}

impl Writer {
    fn write(&mut self, entry: Entry) {
        let outcome = match entry {
            Entry::Line(line) => print(&line),
            Entry::Report(status) => self.report(&status),
        };
        if let Err(error) = outcome
            && !self.complained
        {
            self.complained = true;
            warn(&one_line(&error));
        }
    }

    fn report(&mut self, status: &Status) -> anyhow::Result<()> {
        if let Some(path) = &self.files.metrics {
            replace(path, &metrics(status)?)?;
        }
        self.reports += 1;
        match &self.files.learned {
            Some(path) if self.reports.is_multiple_of(REPORTS_TO_KEEP) => keep(path, status),
            _ => Ok(()),
        }
    }
}

fn keep(path: &Path, status: &Status) -> anyhow::Result<()> {
    replace(path, &format_learned(&status.paths))
}

fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write(text.as_bytes())?;
    file.commit()
}

fn milliseconds(time: Nanos) -> f64 {
    time.as_micros() as f64 / 1e3
}
