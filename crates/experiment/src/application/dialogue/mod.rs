//! Dialogues: users who send requests over one TCP connection at a time and wait for the answers.
//!
//! A [`User`] carries out transactions. It receives the events of its connection and answers with [`Action`]s; the
//! backend has the connection and the clock. The numbers that it draws depend on the seed alone: each user has a random
//! separate stream and draws in the order of its transactions.

mod action;
mod user;

pub use action::{Action, Note, NoteEvent};
pub use user::User;

use super::{OnOff, Pages, Ssh};
use crate::draw::Stream;
use crate::error::ScenarioError;
use crate::results::HarmNumbers;
use crate::section::Section;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

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

/// Transactions of the users of an application over TCP.
pub(crate) trait Transactions: Sized {
    /// Name in scenario files.
    const NAME: &'static str;
    /// Key for the number of users, with an example.
    const USERS: (&'static str, &'static str) = ("users", "4");
    /// Numbers by which harm to it is measured.
    const HARM: HarmNumbers;
    /// Whether a transaction waits for the end of the one before. A connection is then opened for a transaction and its
    /// time is part of it; otherwise the connection comes first.
    const WAITS: bool = true;

    /// Reads the keys.
    fn read(section: &mut Section<'_>) -> Result<Self, ScenarioError>;

    /// Draws the next transaction; `mss`: payload of a segment.
    fn draw(&self, mss: u16, rng: &mut Stream) -> Drawn;

    /// Length of a request, bytes.
    fn request_bytes(&self) -> u32;

    /// Mean payload of a transaction, and mean time from the end of one to the next.
    fn mean_bytes_and_pause(&self, mss: u16) -> (f64, Nanos);

    /// Describes `users` in a line, such as "4 users of pages of 70 objects".
    fn describe(&self, users: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// Declares [`Script`] with its kinds.
macro_rules! scripts {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// Transactions of a user, by application.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Script {
            $($(#[$doc])* $kind($kind),)*
        }

        impl Script {
            /// Names in scenario files.
            pub(crate) const NAMES: &[&str] = &[$($kind::NAME),*];

            /// Name in scenario files.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Script::$kind(_) => $kind::NAME,)*
                }
            }

            /// Numbers by which harm to the application is measured.
            pub(crate) fn harm(&self) -> HarmNumbers {
                match self {
                    $(Script::$kind(_) => $kind::HARM,)*
                }
            }

            const fn waits(&self) -> bool {
                match self {
                    $(Script::$kind(_) => $kind::WAITS,)*
                }
            }

            fn draw(&self, mss: u16, rng: &mut Stream) -> Drawn {
                match self {
                    $(Script::$kind(script) => script.draw(mss, rng),)*
                }
            }

            fn request_bytes(&self) -> u32 {
                match self {
                    $(Script::$kind(script) => script.request_bytes(),)*
                }
            }

            /// Mean payload per second of a user whose answers come at once; `mss`: payload of a segment.
            pub(crate) fn bytes_per_second(&self, mss: u16) -> f64 {
                let (bytes, pause) = match self {
                    $(Script::$kind(script) => script.mean_bytes_and_pause(mss),)*
                };
                bytes / pause.as_secs_f64()
            }
        }

        impl Dialogue {
            /// Reads the keys of the dialogue with this name.
            pub(crate) fn read(name: &str, section: &mut Section<'_>) -> Result<Dialogue, ScenarioError> {
                let (key, example) = match name {
                    $($kind::NAME => $kind::USERS,)*
                    _ => return Err(section.error(format!("'{name}' is not a dialogue"))),
                };
                let users = section.require(key, example)?.count(1..=100_000)? as u32;
                let service = section.take("service").map_or(Ok(Nanos::ZERO), |item| item.time())?;
                let script = match name {
                    $($kind::NAME => Script::$kind($kind::read(section)?),)*
                    _ => return Err(section.error(format!("'{name}' is not a dialogue"))),
                };
                Ok(Dialogue { users, service, script })
            }
        }

        impl fmt::Display for Dialogue {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match &self.script {
                    $(Script::$kind(script) => script.describe(self.users, f),)*
                }?;
                match self.service {
                    Nanos::ZERO => Ok(()),
                    service => write!(f, ", answers after {service}"),
                }
            }
        }
    };
}

scripts! {
    /// Loads pages.
    Pages,
    /// Types.
    Ssh,
    /// Downloads.
    OnOff,
}

/// A transaction before it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drawn {
    /// Time until it begins: since the end of the one before or, if the user does not wait, its beginning.
    pub(crate) pause: Nanos,
    /// Bytes of the answers. A stage requests its answers together, when the previous stage is complete.
    pub(crate) stages: VecDeque<Vec<u64>>,
    /// Whether the user closes the connection afterwards.
    pub(crate) last: bool,
}

/// One user with everything that it depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserPlan {
    /// Index of the workload in the scenario.
    pub workload: usize,
    /// Round-trip time of its connections in addition to the links' delays, nanoseconds.
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
