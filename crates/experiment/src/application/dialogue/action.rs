//! Actions of the user of a dialogue: requests to the backend that has the connection, and notes for the record of the
//! run.

use crate::application::Request;
use crate::metrics::recorder::Recorder;
use gentle_units::{Instant, Nanos};
use serde::{Deserialize, Serialize};

/// Request of a user to the backend, which has the connection.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Open a connection.
    Connect,
    /// Write the requests to the connection, all at once.
    Ask(Vec<Request>),
    /// Close the connection; what happens on it no longer concerns the user.
    Close,
    /// Report to the record of the run.
    Note(Note),
}

/// Something to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// When it began, nanoseconds since the start of the run.
    pub began_ns: u64,
    /// Kind of the event, with its measurements.
    pub event: NoteEvent,
}

/// Kind of a [`Note`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteEvent {
    /// A connection was established.
    Connected {
        /// Time since its first SYN.
        took_ns: u64,
    },
    /// A transaction was completed.
    Completed {
        /// Duration of the transaction.
        took_ns: u64,
        /// Payload of its answers.
        bytes: u64,
    },
    /// A transaction ended with its connection, on which TCP gave up.
    Failed,
    /// A transaction was under way at the end of the run.
    Unfinished,
}

impl Note {
    /// Counts it for the application of `workload`, if it began after the warm-up.
    pub fn record(&self, workload: usize, recorder: &mut Recorder) {
        if Instant(self.began_ns) < recorder.warmup() {
            return;
        }
        let Some(application) = recorder.application(workload) else {
            return;
        };
        match self.event {
            NoteEvent::Connected { took_ns } => application.connected(Nanos(took_ns)),
            NoteEvent::Completed { took_ns, bytes } => {
                application.transaction(Nanos(took_ns), bytes);
            }
            NoteEvent::Failed => application.failed += 1,
            NoteEvent::Unfinished => application.unfinished += 1,
        }
    }
}
