//! What starts connections. Every workload draws from a random stream of its own that depends on the seed and on its
//! place in the scenario, never on the queue: all schemes see exactly the same connections.

mod arrivals;
pub(crate) mod flows;
mod schedule;
pub(crate) mod sizes;
mod tcp;
mod web;

pub use arrivals::{Arrival, Span};
pub(crate) use arrivals::{Arrivals, Setting};
pub use schedule::Schedule;
pub use tcp::TcpChanges;

use crate::direction::Direction;
use flows::Flow;
use gentle_units::{Nanos, Rate};
use sizes::Sizes;
use std::fmt;
use std::sync::Arc;

/// Length of an IPv4 header without options, bytes: that of every packet of a scenario.
pub const IP_HEADER: u32 = 20;

/// Request of a receiver that connects, bytes of payload: one small segment.
pub const REQUEST_BYTES: u64 = 300;

/// Which end opens the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initiator {
    /// The end that sends the data (as in Braud, Heusse and Duda 2018: SYN, data and FIN take the same link).
    Sender,
    /// The end that receives the data, as a browser does: its SYN takes the way back.
    Receiver,
}

impl Initiator {
    /// As written in files.
    pub const fn name(self) -> &'static str {
        match self {
            Initiator::Sender => "sender",
            Initiator::Receiver => "receiver",
        }
    }
}

/// Traffic and the way it takes.
#[derive(Debug, Clone)]
pub struct Workload {
    /// What it consists of.
    pub traffic: Traffic,
    /// The link that carries the data.
    pub direction: Direction,
    /// Which end opens the connections.
    pub initiator: Initiator,
    /// Round-trip time of a connection without queueing, drawn (or, for long flows, spread) evenly between the two;
    /// `None`: that of the links.
    pub rtt: Option<(Nanos, Nanos)>,
    /// Where its hosts' TCP differs from the scenario's.
    pub tcp: TcpChanges,
    /// Where, on top of that, the TCP of the end that connects does.
    pub initiator_tcp: TcpChanges,
    /// The results of workloads of the same group are also given on their own; `None`: they are not.
    pub group: Option<String>,
}

/// What a workload consists of.
#[derive(Debug, Clone)]
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
        /// How many sessions start in all.
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
    /// Connections that always have data to send.
    Long {
        /// How many.
        flows: u32,
        /// They start at random times between the two.
        start: (Nanos, Nanos),
        /// When they close; `None`: when arrivals end.
        stop: Option<Nanos>,
    },
    /// Datagrams of one flow, without congestion control.
    Udp(ConstantRate),
    /// SYNs that nobody answers, each from another address and port: a flood with forged addresses.
    SynFlood(ConstantRate),
    /// A list of connections.
    Replay {
        /// In order of start.
        flows: Arc<[Flow]>,
    },
}

/// Packets that follow one another at a constant rate, whatever becomes of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConstantRate {
    /// Rate in bits of IP packets per second.
    pub rate: Rate,
    /// Length of an IP packet, bytes.
    pub bytes: u32,
    /// Time of the first packet.
    pub start: Nanos,
    /// No packet at or after it; `None`: until arrivals end.
    pub stop: Option<Nanos>,
}

impl ConstantRate {
    /// When packet `number`, from 0, is due, in arrivals that end at `end`; `None`: there is none. Reckoned from the start,
    /// so that rounding does not add up.
    pub fn due(&self, number: u64, end: Nanos) -> Option<Nanos> {
        let before = number.checked_mul(u64::from(self.bytes))?;
        let at = self.start + self.rate.time_to_send(before);
        (at < self.stop.unwrap_or(Nanos::MAX).min(end)).then_some(at)
    }
}

impl fmt::Display for ConstantRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {}-byte packets, from {} to {}",
            self.rate,
            self.bytes,
            self.start,
            End(self.stop)
        )
    }
}

/// One line for people.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.traffic {
            Traffic::Poisson { gap, sizes } => {
                write!(f, "Poisson arrivals, mean gap {gap}, {sizes}")?;
            }
            Traffic::Web {
                sessions,
                pages,
                objects,
                sizes,
                ..
            } => write!(
                f,
                "{sessions} web sessions, mean {pages} pages of {objects} objects, {sizes}"
            )?,
            Traffic::Long { flows, start, stop } => {
                write!(f, "{flows} long-lived, from {} to {}", start.0, End(*stop))?;
            }
            Traffic::Udp(packets) => write!(f, "UDP at {packets}")?,
            Traffic::SynFlood(packets) => write!(f, "a flood of SYNs at {packets}")?,
            Traffic::Replay { flows } => write!(f, "{} listed connections", flows.len())?,
        }
        write!(f, "; data goes {}", self.direction.name())?;
        if !matches!(self.traffic, Traffic::Udp(_) | Traffic::SynFlood(_)) {
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
        match &self.group {
            Some(group) => write!(f, "; group {group}"),
            None => Ok(()),
        }
    }
}

/// A time, or the end of arrivals.
struct End(Option<Nanos>);

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(stop) => stop.fmt(f),
            None => f.write_str("the end"),
        }
    }
}
