//! Options of an analysis.

use crate::names::GivenNames;
use crate::results::DirectionBy;
use crate::selection::Selection;
use gentle_units::{Nanos, Rate};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use thiserror::Error;

/// Position of the capture point on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VantagePoint {
    /// At the clients, which initiate the connections.
    Client,
    /// At the servers.
    Server,
    /// Between clients and servers.
    Middle,
}

impl VantagePoint {
    /// Name used in options and results.
    pub const fn name(self) -> &'static str {
        match self {
            VantagePoint::Client => "client",
            VantagePoint::Server => "server",
            VantagePoint::Middle => "middle",
        }
    }
}

/// Options of an analysis; [`Options::default`] has the defaults of `gentle analyze`.
#[derive(Debug, Clone)]
pub struct Options {
    /// Connections without a packet for this long, at most [`Options::LONGEST_IDLE_TIMEOUT`], are forgotten; closed
    /// ones are forgotten after [`Options::CLOSED_LINGER`] or this, whichever is shorter.
    pub idle_timeout: Nanos,
    /// Memory limit for connections and records about them, bytes; at least [`Options::LEAST_MEMORY`].
    pub memory_limit: u64,
    /// Whether to decapsulate tunnels.
    pub inner: bool,
    /// Interfaces of the captures whose packets are analysed, by name, description or number. Empty: all, but of the
    /// interfaces at a simulated queue ([`QueueSide`](gentle_capture::QueueSide)) its entry interfaces.
    pub interfaces: Vec<String>,
    /// Packets to analyse.
    pub selection: Selection,
    /// Rule by which directions are distinguished; `None`: by `local` if it is not empty, else by initiator.
    pub direction: Option<DirectionBy>,
    /// Prefixes on the local side of the link.
    pub local: Vec<IpNet>,
    /// Capacity of the link, for utilisation.
    pub rate: Option<Rate>,
    /// Position of the capture point; `None`: inferred from the capture.
    pub vantage: Option<VantagePoint>,
    /// Length of each list of the parties with most losses.
    pub top: usize,
    /// Names of prefixes and addresses, which precede names in DNS answers.
    pub names: Arc<GivenNames>,
}

impl Options {
    /// Time for which a closed connection is remembered, so that late copies of its segments do not look like a new
    /// one; equal to Linux's TIME-WAIT (`TCP_TIMEWAIT_LEN`).
    pub const CLOSED_LINGER: Nanos = Nanos::from_secs(60);
    /// Largest value of [`Options::idle_timeout`]; times within a connection wrap around shortly after it.
    pub const LONGEST_IDLE_TIMEOUT: Nanos = Nanos::from_secs(3_600);
    /// Smallest value of [`Options::memory_limit`], bytes.
    pub const LEAST_MEMORY: u64 = 1 << 20;

    /// Effective rule by which directions are distinguished.
    pub(crate) fn direction_by(&self) -> DirectionBy {
        self.direction.unwrap_or(if self.local.is_empty() { DirectionBy::Initiator } else { DirectionBy::Local })
    }

    /// Effective memory limit, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.memory_limit.max(Options::LEAST_MEMORY) as usize
    }
}

/// Error: a text is neither an address nor a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected an address or a prefix such as 192.0.2.0/24 or 2001:db8::/32")]
pub struct NotAPrefix;

/// Reads a prefix, or a single address, for [`Options::local`].
///
/// # Errors
/// The text is neither.
pub fn prefix(text: &str) -> Result<IpNet, NotAPrefix> {
    text.parse::<IpNet>()
        .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
        .map(|prefix| prefix.trunc())
        .map_err(|_| NotAPrefix)
}

impl Default for Options {
    fn default() -> Options {
        Options {
            idle_timeout: Nanos::from_secs(900),
            memory_limit: 2 << 30,
            inner: false,
            interfaces: Vec::new(),
            selection: Selection::default(),
            direction: None,
            local: Vec::new(),
            rate: None,
            vantage: None,
            top: 10,
            names: Arc::default(),
        }
    }
}
