//! Workloads: the sources of connections and packets.
//!
//! Each workload draws from its own [random stream](crate::draw::Streams), which does not depend on the queue: all schemes see
//! the same connections.

mod arrivals;
pub(crate) mod dscp;
mod schedule;
mod tcp;

pub use arrivals::Arrival;
pub(crate) use arrivals::{ArrivalContext, Arrivals};
pub use schedule::Schedule;
pub use tcp::TcpChanges;

use crate::direction::Direction;
use crate::initiator::Initiator;
use crate::traffic::{Consists, Traffic};
use gentle_units::Nanos;
use serde::Serialize;
use std::fmt;

/// Length in bytes of the IP header of every packet: IPv4 without options.
pub const IP_HEADER: u32 = 20;

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
    /// direction are one UDP flow between two hosts, as with a VPN. 0: no tunnel.
    pub tunnel: u8,
}

impl Workload {
    /// Name under which the workload is measured as an application: its group, or else its kind. `None`: it is no
    /// application, but packets or connections without further meaning.
    pub fn application_name(&self) -> Option<&str> {
        let kind = self.application_kind()?;
        Some(self.group.as_deref().unwrap_or(kind))
    }

    /// Kind of application, as in scenario files; `None`: it is no application.
    pub(crate) fn application_kind(&self) -> Option<&'static str> {
        let kind = self.traffic.kind();
        kind.harm().is_some().then(|| kind.name())
    }
}

/// Writes a one-line description.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sends = match self.traffic.consists() {
            Consists::Datagrams => "the server sends",
            _ => "data goes",
        };
        write!(f, "{}; {sends} {}", self.traffic.kind(), self.direction.name())?;
        if self.traffic.consists().connects() {
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
