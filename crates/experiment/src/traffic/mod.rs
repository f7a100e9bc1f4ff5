//! Kinds of traffic. Each is a file here, with its [`Facts`] and its [`Kind`], and a line in the list [`Traffic`]. Scenario files,
//! descriptions, loads, schedules, harm and both backends follow.

mod constant_rate;
mod datagrams;
mod dialogue;
pub(crate) mod flows;
mod long;
mod packets;
mod poisson;
mod regular;
mod replay;
mod syn_flood;
mod udp;
mod web;

pub use constant_rate::{ConstantRate, PacketTimes};
pub use datagrams::Datagrams;
pub use flows::Flow;
pub use long::Long;
pub(crate) use packets::{Offering, Packets};
pub use poisson::Poisson;
pub use regular::Regular;
pub use replay::Replay;
pub use syn_flood::SynFlood;
pub use udp::Udp;
pub use web::Web;

use crate::application::dialogue::Dialogue;
use crate::direction::Direction;
use crate::draw::Stream;
use crate::error::ScenarioError;
use crate::initiator::Initiator;
use crate::results::HarmNumbers;
use crate::section::{Item, Section};
use gentle_units::{Instant, Nanos, Rate};
use serde::Serialize;
use std::fmt;

/// Parts of a kind of traffic. A backend knows these, and not the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consists {
    /// Connections of given sizes, which start at times that do not depend on the links.
    Connections,
    /// Connections that always have data to send.
    LongConnections,
    /// Packets at a constant rate without connections ([`Traffic::pace`]).
    Packets,
    /// SYNs at a constant rate, each from another host, without answer ([`Traffic::pace`]).
    Flood,
    /// Datagrams of a client and a server ([`Scenario::datagram_flows`](crate::Scenario::datagram_flows)).
    Datagrams,
    /// Users with a connection each ([`Scenario::users`](crate::Scenario::users)).
    Users,
}

impl Consists {
    /// Whether there are TCP connections.
    pub const fn connects(self) -> bool {
        matches!(self, Consists::Connections | Consists::LongConnections | Consists::Users)
    }
}

/// Context of a workload that is read: properties of its scenario, and files.
pub(crate) struct Around<'a> {
    /// Round-trip time of the links.
    pub(crate) link_rtt: Nanos,
    /// Rate of the access links, if any.
    pub(crate) fastest: Option<Rate>,
    /// Text of a file, by the path as written.
    pub(crate) read: &'a dyn Fn(&str) -> std::io::Result<String>,
}

/// Properties of a scenario and a workload on which the starts of connections depend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartContext {
    /// End of the arrival process: no connection starts at or after it.
    pub(crate) end: Instant,
    /// Payload of a full segment, bytes.
    pub(crate) mss: u64,
    /// Range of round-trip times.
    pub(crate) rtt: (Nanos, Nanos),
}

/// End of a connection's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// The connection closes after this number of bytes.
    Bytes(u64),
    /// The connection has data to send until this time.
    Until(Instant),
}

/// Start of a connection. `None`: the property has the workload's value; a round-trip time is drawn from its range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) at: Instant,
    pub(crate) span: Span,
    pub(crate) rtt: Option<Nanos>,
    pub(crate) direction: Option<Direction>,
    pub(crate) initiator: Option<Initiator>,
}

impl Start {
    fn new(at: Instant, span: Span) -> Start {
        Start { at, span, rtt: None, direction: None, initiator: None }
    }
}

/// Generator of connections in order of time.
pub(crate) trait Starts: Send + Sync {
    /// The next connection; `None` after the last one.
    fn next(&mut self, rng: &mut Stream) -> Option<Start>;
}

/// Facts about a kind of traffic that do not depend on its parameters.
pub(crate) struct Facts {
    /// Names in scenario files.
    pub(crate) names: &'static [&'static str],
    /// Parts of the traffic.
    pub(crate) consists: Consists,
    /// Keys of all workloads that it refuses, each with the reason.
    pub(crate) refused: &'static [(&'static str, &'static str)],
    /// End that opens connections unless the workload names one.
    pub(crate) initiator: Initiator,
    /// Whether its rate changes with the requested load.
    pub(crate) scales: bool,
    /// Whether it may offer data to both links.
    pub(crate) both_ways: bool,
    /// Whether lists of kinds name it.
    pub(crate) listed: bool,
    /// Reads the keys of the kind with this name.
    pub(crate) read: fn(&'static str, &mut Section<'_>, &Around<'_>) -> Result<Traffic, ScenarioError>,
}

impl Facts {
    /// Facts of connections that the sender opens, at a rate that stays.
    pub(crate) const PLAIN: Facts = Facts {
        names: &[],
        consists: Consists::Connections,
        refused: &[],
        initiator: Initiator::Sender,
        scales: false,
        both_ways: false,
        listed: true,
        read: |_, section, _| Err(section.error("this kind of traffic has no reader")),
    };
}

/// Rejected keys of packets that belong to no connection.
const WITHOUT_CONNECTIONS: [(&str, &str); 2] = [
    ("tcp", "these packets belong to no connection; remove this key"),
    ("initiator_tcp", "these packets belong to no connection; remove this key"),
];

/// A kind of traffic with its parameters. `Display` describes it in one line.
pub(crate) trait Kind: fmt::Display {
    /// Facts about the kind.
    fn facts(&self) -> &'static Facts;

    /// Name in scenario files.
    fn name(&self) -> &'static str {
        self.facts().names[0]
    }

    /// Mean load that it offers to a link, bits per second.
    fn bits_per_second(&self, to: &Offering<'_>) -> f64;

    /// Number of connections or flows that a run of this length is expected to start.
    fn started(&self, duration: Nanos) -> f64;

    /// Whether every seed has the same traffic; `varied_rtt`: whether the workload has a range of round-trip times.
    fn repeats(&self, _varied_rtt: bool) -> bool {
        false
    }

    /// Connections whose start is known before the run.
    fn starts(&self, _context: &StartContext, _rng: &mut Stream) -> Option<Box<dyn Starts>> {
        None
    }

    /// Multiplies the rate by `factor`, up to the rate of the access links, if it [scales](Facts::scales).
    fn scale(&mut self, _factor: f64, _fastest: Option<Rate>) {}

    /// Rate of its packets, if it consists of packets at a constant rate.
    fn pace(&self) -> Option<&ConstantRate> {
        None
    }

    /// Numbers of an application by which harm is measured; `None`: it is no application.
    fn harm(&self) -> Option<HarmNumbers> {
        None
    }
}

/// Declares [`Traffic`] with its kinds.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($parameters:ty),)*) => {
        /// Traffic of a workload, by kind.
        #[derive(Debug, Clone, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Traffic {
            $($(#[$doc])* $kind($parameters),)*
        }

        /// All kinds, in the order of the list.
        pub(crate) static KINDS: &[&Facts] = &[$(&<$parameters>::FACTS),*];

        impl Traffic {
            /// The kind with its parameters.
            pub(crate) fn kind(&self) -> &dyn Kind {
                match self {
                    $(Traffic::$kind(parameters) => parameters,)*
                }
            }

            /// The kind with its parameters, to be changed.
            pub(crate) fn kind_mut(&mut self) -> &mut dyn Kind {
                match self {
                    $(Traffic::$kind(parameters) => parameters,)*
                }
            }
        }
    };
}

kinds! {
    /// Connections at the times of a Poisson process.
    Poisson(Poisson),
    /// Web sessions.
    Web(Web),
    /// Long-lived connections.
    Long(Long),
    /// Datagrams of one flow at a constant rate.
    Udp(Udp),
    /// A flood of SYNs.
    SynFlood(SynFlood),
    /// A list of connections.
    Replay(Replay),
    /// Datagrams that a client and a server of an application send each other; the server's go in the workload's direction.
    Datagrams(Datagrams),
    /// Users who exchange requests and answers over kept connections.
    Dialogue(Dialogue),
    /// Connections of one size at regular times; no list names it.
    Regular(Regular),
}

impl Traffic {
    /// No traffic, in the place of other traffic.
    pub fn nothing() -> Traffic {
        Traffic::Replay(Replay { flows: [].into() })
    }

    /// Parts of the traffic.
    pub fn consists(&self) -> Consists {
        self.kind().facts().consists
    }

    /// Rate of its packets, if it consists of packets at a constant rate.
    pub fn pace(&self) -> Option<&ConstantRate> {
        self.kind().pace()
    }
}

/// Time for descriptions; `None` is written "the end".
struct End(Option<Nanos>);

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(stop) => stop.fmt(f),
            None => f.write_str("the end"),
        }
    }
}

/// Number of events with this mean distance within `duration`, the first of which is at once.
fn events(duration: Nanos, gap: Nanos) -> f64 {
    1.0 + duration.as_secs_f64() / gap.as_secs_f64()
}

fn stretched(time: Nanos, factor: f64) -> Nanos {
    Nanos::from_secs_f64(time.as_secs_f64() * factor).max(Nanos(1))
}

/// Reads the range of a start time.
fn start(section: &mut Section<'_>) -> Result<(Nanos, Nanos), ScenarioError> {
    section.take("start").map_or(Ok((Nanos::ZERO, Nanos::ZERO)), Item::time_range)
}

/// Reads the time at which traffic stops that starts at `start` at the latest.
fn stop(section: &mut Section<'_>, start: Nanos) -> Result<Option<Nanos>, ScenarioError> {
    let Some(item) = section.take("stop") else {
        return Ok(None);
    };
    let stop = item.time()?;
    if stop <= start {
        return Err(item.error(format!("expected a time after the start, {start}")));
    }
    Ok(Some(stop))
}
