//! What is told while an engine runs.

use crate::args::RexmitArgs;
use crate::output::{OutputFile, print, warn};
use gentle_rexmit::wire::Observer;
use gentle_rexmit::{Answered, Connection, Due, Status, metrics};
use gentle_units::Nanos;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

pub(super) struct Log {
    json: bool,
    dry_run: bool,
    metrics: Option<PathBuf>,
    /// What could not be written is said once.
    complained: bool,
}

impl Log {
    pub(super) fn new(args: &RexmitArgs) -> Log {
        Log {
            json: args.place.log_json,
            dry_run: args.limits.dry_run,
            metrics: args.place.metrics.clone(),
            complained: false,
        }
    }

    pub(super) fn started(&self, interface: &str) {
        let how = if self.dry_run {
            ", sending nothing"
        } else {
            ""
        };
        // Nobody is left to tell if that fails.
        let _ = writeln!(
            io::stderr().lock(),
            "gentle rexmit: watching {interface}{how}"
        );
    }

    /// Metrics of something that has ended would stand still for ever.
    pub(super) fn ended(&self) {
        if let Some(path) = &self.metrics {
            // It may never have been written.
            let _ = std::fs::remove_file(path);
        }
    }

    fn line(&mut self, unix_ns: Nanos, event: &str, connection: Connection, mut fields: Value) {
        if !self.json {
            return;
        }
        fields["time"] = json!(unix_ns.as_secs_f64());
        fields["event"] = json!(event);
        let (src, dst) = <(SocketAddr, SocketAddr)>::from(connection);
        fields["src"] = json!(src);
        fields["dst"] = json!(dst);
        if let Err(error) = print(&format!("{fields}\n")) {
            self.complain(&format!("{error:#}"));
        }
    }

    fn complain(&mut self, text: &str) {
        if !self.complained {
            warn(text);
        }
        self.complained = true;
    }
}

impl Observer for Log {
    fn due(&mut self, unix_ns: Nanos, due: &Due<'_>, sent: bool) {
        if !self.json {
            return;
        }
        let (event, fields) = match due {
            Due::Copy(copy) => (
                "copy",
                json!({
                    "packet": copy.kind.name(),
                    "copy": copy.number,
                    "after_ms": milliseconds(copy.waited),
                    "sent": sent,
                }),
            ),
            Due::Held { kind, reason, .. } => (
                "held",
                json!({ "packet": kind.name(), "reason": reason.name() }),
            ),
            Due::Unanswered { kind, copies, .. } => (
                "unanswered",
                json!({ "packet": kind.name(), "copies": copies }),
            ),
        };
        self.line(unix_ns, event, due.connection(), fields);
    }

    fn answered(&mut self, unix_ns: Nanos, answered: &Answered) {
        let fields = json!({
            "packet": answered.kind.name(),
            "copies": answered.copies,
            "after_ms": milliseconds(answered.took),
            "unneeded": answered.unneeded,
            "saved_ms": milliseconds(answered.saved),
        });
        self.line(unix_ns, "answered", answered.connection, fields);
    }

    fn report(&mut self, status: &Status) {
        let Some(path) = self.metrics.clone() else {
            return;
        };
        let written = OutputFile::create(&path).and_then(|mut file| {
            file.write(metrics(status).as_bytes())?;
            file.commit()
        });
        if let Err(error) = written {
            self.complain(&format!("{error:#}"));
        }
    }
}

fn milliseconds(time: Nanos) -> f64 {
    time.as_micros() as f64 / 1e3
}
