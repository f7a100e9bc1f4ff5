//! Dialogues: users who send requests over one TCP connection at a time and wait for the answers.
//!
//! A [`User`] carries out transactions. It is told what happens on its connection and answers with [`Action`]s; the
//! backend has the connection and the clock. The numbers that it draws depend on the seed alone: each user has a random
//! stream of its own and draws in the order of its transactions.

mod action;
mod user;

pub use action::{Action, Note, NoteEvent};
pub use user::User;

use super::{OnOff, Pages, Ssh};
use crate::draw::{Stream, spread};
use crate::scenario::Scenario;
use crate::workload::Traffic;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// Length of the request of a download, bytes.
const DOWNLOAD_REQUEST: u32 = crate::workload::REQUEST_BYTES as u32;

/// Users of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Dialogue {
    /// Number of users, each with one connection at a time.
    pub users: u32,
    /// Time that the server takes for each answer.
    pub service: Nanos,
    /// Transactions of each user.
    pub script: Script,
}

/// Transactions of a user, by application.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Script {
    /// Loads pages.
    Pages(Pages),
    /// Types.
    Ssh(Ssh),
    /// Downloads.
    OnOff(OnOff),
}

/// A transaction before it begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drawn {
    /// Time until it begins: since the end of the one before or, if the user does not wait, its beginning.
    pub(super) pause: Nanos,
    /// Bytes of the answers. Those of a stage are asked for together, when the stage before is complete.
    pub(super) stages: VecDeque<Vec<u64>>,
    /// Whether the user closes the connection afterwards.
    pub(super) last: bool,
}

impl Script {
    /// Name in scenario files.
    pub const fn name(&self) -> &'static str {
        match self {
            Script::Pages(_) => "pages",
            Script::Ssh(_) => "ssh",
            Script::OnOff(_) => "on_off",
        }
    }

    fn draw(&self, mss: u16, rng: &mut Stream) -> Drawn {
        match self {
            Script::Pages(pages) => pages.draw(rng),
            Script::Ssh(ssh) => ssh.draw(rng),
            Script::OnOff(on_off) => on_off.draw(mss, rng),
        }
    }

    fn request_bytes(&self) -> u32 {
        match self {
            Script::Pages(pages) => pages.request,
            Script::Ssh(ssh) => ssh.packet,
            Script::OnOff(_) => DOWNLOAD_REQUEST,
        }
    }

    /// Whether a transaction waits for the end of the one before. A connection is then opened for a transaction and its
    /// time is part of it; otherwise the connection comes first.
    const fn waits(&self) -> bool {
        !matches!(self, Script::Ssh(_))
    }

    /// Mean payload per second of a user whose answers come at once; `mss`: payload of a segment.
    pub(crate) fn bytes_per_second(&self, mss: u16) -> f64 {
        let (bytes, pause_ns) = match self {
            Script::Pages(pages) => (pages.mean_bytes(), pages.think_ns),
            Script::Ssh(ssh) => (f64::from(ssh.packet), ssh.gap_ns),
            Script::OnOff(on_off) => (on_off.mean_bytes(mss), on_off.off_ns),
        };
        bytes / Nanos(pause_ns).as_secs_f64()
    }
}

/// Writes a description such as "4 users of pages of 70 objects".
impl fmt::Display for Dialogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users = self.users;
        match &self.script {
            Script::Pages(pages) => write!(
                f,
                "{users} users of web pages, mean pause {}, mean {} pages per connection; bytes of the document {}, \
                 objects {}, bytes of each {}",
                Nanos(pages.think_ns),
                pages.pages,
                pages.document,
                pages.objects,
                pages.object
            ),
            Script::Ssh(ssh) => {
                write!(f, "{users} typists, mean gap {}, {} bytes and their echo", Nanos(ssh.gap_ns), ssh.packet)
            }
            Script::OnOff(on_off) => {
                write!(f, "{users} on/off users, mean pause {}, {}", Nanos(on_off.off_ns), on_off.sizes)
            }
        }?;
        match self.service {
            Nanos::ZERO => Ok(()),
            service => write!(f, ", answers after {service}"),
        }
    }
}

/// One user with everything that it depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserPlan {
    /// Index of the workload in the scenario.
    pub workload: usize,
    /// Round-trip time of its connections in addition to that of the links, nanoseconds.
    pub extra_rtt_ns: u64,
    /// Seed of its random stream.
    pub seed: u64,
    /// Time at and after which no transaction begins, nanoseconds.
    pub end_ns: u64,
    /// Service time of the server, nanoseconds.
    pub service_ns: u64,
    /// Payload of a segment, in which sizes are counted, bytes.
    pub mss: u16,
    /// Transactions of the user.
    pub script: Script,
}

impl Scenario {
    /// Users of all dialogues with `seed`, in the order of the workloads.
    pub fn users(&self, seed: u64) -> Vec<UserPlan> {
        let mut users = Vec::new();
        let streams = self.streams(seed);
        for (index, workload) in self.workloads.iter().enumerate() {
            let Traffic::Dialogue(dialogue) = &workload.traffic else {
                continue;
            };
            let link_rtt = self.link_rtt();
            let rtt = workload.rtt.unwrap_or((link_rtt, link_rtt));
            users.extend((0..dialogue.users).map(|number| UserPlan {
                workload: index,
                extra_rtt_ns: spread(rtt, number, dialogue.users).saturating_sub(link_rtt).0,
                seed: streams.member(index, number),
                end_ns: self.duration.0,
                service_ns: dialogue.service.0,
                mss: self.profile.mss,
                script: dialogue.script,
            }));
        }
        users
    }
}
