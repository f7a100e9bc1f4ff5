//! What an analysis can be told.

use crate::results::DirectionBy;
use gentle_units::{Nanos, Rate};
use ipnet::IpNet;

/// Which end of the path the capture was taken at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// At the initiators.
    Client,
    /// At the servers.
    Server,
    /// Between them.
    Middle,
}

impl Side {
    /// Its name, as in options and results.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
            Side::Middle => "middle",
        }
    }
}

/// Options of an analysis; [`Options::default`] is what `gentle analyze` does by itself.
#[derive(Debug, Clone)]
pub struct Options {
    /// A connection without a packet for this long, at most [`Options::LONGEST_IDLE_TIMEOUT`], is forgotten; one that has
    /// closed is forgotten after [`Options::CLOSED_LINGER`], or this if it is shorter.
    pub idle_timeout: Nanos,
    /// Most memory for connections and what is remembered of them, bytes; at least [`Options::LEAST_MEMORY`].
    pub memory_limit: u64,
    /// Look into tunnels.
    pub inner: bool,
    /// How to tell directions apart; `None`: by `local` if it is given, else by initiator.
    pub direction: Option<DirectionBy>,
    /// Prefixes on this side of the link.
    pub local: Vec<IpNet>,
    /// Capacity of the link, for the utilisation.
    pub rate: Option<Rate>,
    /// Where the capture was taken; `None`: guess.
    pub vantage: Option<Side>,
    /// Lines in each list of those who lose most.
    pub top: usize,
}

impl Options {
    /// How long a closed connection is remembered, so that late copies of its segments do not look like a new one: as
    /// long as Linux keeps one in TIME-WAIT (`TCP_TIMEWAIT_LEN`).
    pub const CLOSED_LINGER: Nanos = Nanos::from_secs(60);
    /// Largest value of [`Options::idle_timeout`]: times within a connection wrap around a little later.
    pub const LONGEST_IDLE_TIMEOUT: Nanos = Nanos::from_secs(3_600);
    /// Least value of [`Options::memory_limit`].
    pub const LEAST_MEMORY: u64 = 1 << 20;

    /// The memory limit that applies, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.memory_limit.max(Options::LEAST_MEMORY) as usize
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            idle_timeout: Nanos::from_secs(900),
            memory_limit: 2 << 30,
            inner: false,
            direction: None,
            local: Vec::new(),
            rate: None,
            vantage: None,
            top: 10,
        }
    }
}
