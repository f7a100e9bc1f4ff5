//! Workloads: the sources of connections and packets.
//!
//! Each workload draws from its own [random stream](crate::draw::Streams), which does not depend on the queue: all schemes see
//! the same connections.

mod arrivals;
mod constant_rate;
pub(crate) mod dscp;
pub(crate) mod flows;
mod schedule;
pub(crate) mod sizes;
mod tcp;
mod web;

pub use arrivals::{Arrival, Span};
pub(crate) use arrivals::{ArrivalContext, Arrivals};
pub use constant_rate::{ConstantRate, PacketTimes};
pub use schedule::Schedule;
pub use tcp::TcpChanges;

use crate::application::dialogue::Dialogue;
use crate::application::flow::DatagramTraffic;
use crate::direction::Direction;
use flows::Flow;
use gentle_units::Nanos;
use serde::Serialize;
use sizes::Sizes;
use std::fmt;
use std::sync::Arc;

/// Length in bytes of the IP header of every packet: IPv4 without options.
pub const IP_HEADER: u32 = 20;

/// Payload in bytes of the request that a connecting receiver sends: one small segment.
pub const REQUEST_BYTES: u64 = 300;

/// End that opens the connection (active open, RFC 9293).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Initiator {
    /// The end that sends the data (as in Braud, Heusse and Duda 2018: SYN, data and FIN use the same link).
    Sender,
    /// The end that receives the data, like a browser: its SYN uses the reverse link.
    Receiver,
}

impl Initiator {
    /// Name in scenario files: `sender` or `receiver`.
    pub const fn name(self) -> &'static str {
        match self {
            Initiator::Sender => "sender",
            Initiator::Receiver => "receiver",
        }
    }
}

/// A source of traffic with its direction and hosts.
#[derive(Debug, Clone, Serialize)]
pub struct Workload {
    /// Kind of traffic.
    pub traffic: Traffic,
    /// Link that carries the data.
    pub direction: Direction,
    /// End that opens the connections.
    pub initiator: Initiator,
    /// Range of the round-trip time of connections without queueing: drawn uniformly or, for long-lived connections,
    /// spaced evenly; `None`: the round-trip time of the links.
    pub rtt: Option<(Nanos, Nanos)>,
    /// Changes to the scenario's TCP for all hosts of the workload.
    pub tcp: TcpChanges,
    /// Further changes for the hosts that connect.
    pub initiator_tcp: TcpChanges,
    /// Group for which results are reported separately; `None`: no group.
    pub group: Option<String>,
    /// Differentiated services codepoint of all its packets, of both ends, 0 to 63.
    pub dscp: u8,
    /// Number of its hosts, one on each side of the bottleneck; `None`: the hosts of the access links in turn or, without
    /// access links, the hosts 0.
    pub host: Option<u32>,
    /// Number of the tunnel that carries all its packets, 1 to 255: to queues on the way, all packets of a tunnel in one
    /// direction are one UDP flow between two hosts, as those of a VPN are. 0: no tunnel.
    pub tunnel: u8,
}

impl Workload {
    /// Name under which the workload is measured as an application: its group, or else its kind. `None`: it is no
    /// application, but packets or connections without further meaning.
    pub fn application_name(&self) -> Option<&str> {
        let kind = self.traffic.application()?;
        Some(self.group.as_deref().unwrap_or(kind))
    }
}

/// Kind of traffic.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Traffic {
    /// Connections at the times of a Poisson process.
    Poisson {
        /// Mean gap between starts.
        gap: Nanos,
        /// Sizes in segments.
        sizes: Sizes,
    },
    /// Web sessions (Feldmann et al. 1999, as `redfavor-2012` uses them): each object is a connection.
    Web {
        /// Total number of sessions.
        sessions: u32,
        /// Mean gap between the starts of sessions, exponential.
        session_gap: Nanos,
        /// Mean pages of a session, exponential, at least 1.
        pages: f64,
        /// Mean gap between the starts of pages, exponential.
        page_gap: Nanos,
        /// Mean objects of a page, exponential, at least 1.
        objects: f64,
        /// Mean gap between the starts of objects, exponential.
        object_gap: Nanos,
        /// Sizes of objects in segments.
        sizes: Sizes,
    },
    /// Long-lived connections, which always have data to send.
    Long {
        /// Number of connections.
        flows: u32,
        /// Range of the start times, which are drawn uniformly.
        start: (Nanos, Nanos),
        /// Time at which the connections close; `None`: the end of the arrival process.
        stop: Option<Nanos>,
    },
    /// UDP datagrams of one flow, without congestion control.
    Udp(ConstantRate),
    /// SYN flood: SYNs without answer, each from a different (forged) address and port.
    SynFlood(ConstantRate),
    /// A list of connections.
    Replay {
        /// Connections in order of start.
        flows: Arc<[Flow]>,
    },
    /// Datagrams that a client and a server of an application send each other; the server's go in the workload's
    /// direction.
    Datagrams(DatagramTraffic),
    /// Users who exchange requests and answers over kept connections.
    Dialogue(Dialogue),
}

impl Traffic {
    /// Name in scenario files.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Traffic::Poisson { .. } => "poisson",
            Traffic::Web { .. } => "web",
            Traffic::Long { .. } => "long",
            Traffic::Udp(_) => "udp",
            Traffic::SynFlood(_) => "syn_flood",
            Traffic::Replay { .. } => "replay",
            Traffic::Datagrams(traffic) => traffic.application.name(),
            Traffic::Dialogue(dialogue) => dialogue.script.name(),
        }
    }

    /// Name of the application in scenario files; `None`: the traffic is no application.
    pub(crate) fn application(&self) -> Option<&'static str> {
        let is_application = matches!(self, Traffic::Datagrams(_) | Traffic::Dialogue(_));
        is_application.then(|| self.kind())
    }

    /// Whether the traffic consists of TCP connections.
    pub fn connects(&self) -> bool {
        match self {
            Traffic::Udp(_) | Traffic::SynFlood(_) | Traffic::Datagrams(_) => false,
            Traffic::Poisson { .. }
            | Traffic::Web { .. }
            | Traffic::Long { .. }
            | Traffic::Replay { .. }
            | Traffic::Dialogue(_) => true,
        }
    }
}

/// Writes a one-line description.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.traffic {
            Traffic::Poisson { gap, sizes } => {
                write!(f, "Poisson arrivals, mean gap {gap}, {sizes}")?;
            }
            Traffic::Web { sessions, pages, objects, sizes, .. } => {
                write!(f, "{sessions} web sessions, mean {pages} pages of {objects} objects, {sizes}")?
            }
            Traffic::Long { flows, start, stop } => {
                write!(f, "{flows} long-lived, from {} to {}", start.0, End(*stop))?;
            }
            Traffic::Udp(packets) => write!(f, "UDP at {packets}")?,
            Traffic::SynFlood(packets) => write!(f, "a flood of SYNs at {packets}")?,
            Traffic::Replay { flows } => write!(f, "{} listed connections", flows.len())?,
            Traffic::Datagrams(traffic) => write!(f, "{traffic}, from {} to {}", traffic.start, End(traffic.stop))?,
            Traffic::Dialogue(dialogue) => dialogue.fmt(f)?,
        }
        match self.traffic {
            Traffic::Datagrams(_) => write!(f, "; the server sends {}", self.direction.name())?,
            _ => write!(f, "; data goes {}", self.direction.name())?,
        }
        if self.traffic.connects() {
            write!(f, ", the {} connects", self.initiator.name())?;
        }
        match self.rtt {
            Some((from, to)) if from == to => write!(f, ", RTT {from}")?,
            Some((from, to)) => write!(f, ", RTT {from} to {to}")?,
            None => {}
        }
        for (whose, tcp) in [("hosts", &self.tcp), ("initiator", &self.initiator_tcp)] {
            if !tcp.is_empty() {
                write!(f, "; {whose}: {tcp}")?;
            }
        }
        if self.dscp != 0 {
            write!(f, "; codepoint {}", dscp::name(self.dscp))?;
        }
        if let Some(host) = self.host {
            write!(f, "; host {host}")?;
        }
        if self.tunnel != 0 {
            write!(f, "; in tunnel {}", self.tunnel)?;
        }
        match &self.group {
            Some(group) => write!(f, "; group {group}"),
            None => Ok(()),
        }
    }
}

/// Stop time for descriptions; `None` is written "the end".
struct End(Option<Nanos>);

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(stop) => stop.fmt(f),
            None => f.write_str("the end"),
        }
    }
}
