//! What an experiment shows.

use serde::{Deserialize, Serialize};

/// Everything observed but the packets, which are in a file. Times are in nanoseconds from the start of the traffic.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Observed {
    /// Every connection that was started, as the host saw it that connected; in order of their starts.
    pub connections: Vec<Connection>,
    /// Statistics of the router's queues, in order of time; the last is the one at the end.
    pub samples: Vec<Sample>,
    /// Packets that the taps missed because there was no room for them.
    pub missed: u64,
    /// Stopped before its end.
    pub interrupted: bool,
}

/// A connection. What the kernel counts is that of the end that connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Its place in the experiment's list.
    pub flow: u32,
    /// Whether the client connected.
    pub from_client: bool,
    /// The port that it connected from.
    pub port: u16,
    /// When `connect` was called.
    pub started_ns: u64,
    /// When `connect` had succeeded.
    pub connected_ns: Option<u64>,
    /// When the first byte was received, of those that receive.
    pub first_byte_ns: Option<u64>,
    /// When it was over, or given up.
    pub ended_ns: Option<u64>,
    /// How it ended.
    pub end: End,
    /// Payload received.
    pub received: u64,
    /// Segments retransmitted, SYNs included (`tcpi_total_retrans`).
    pub retransmitted: u32,
    /// SYNs retransmitted.
    pub syn_retransmitted: u32,
    /// Duplicates that the other end reported (`tcpi_dsack_dups`).
    pub dsack_duplicates: u32,
    /// Smoothed round-trip time at the end, microseconds (`tcpi_rtt`).
    pub rtt_us: u32,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The host that connected knows that everything, FIN included, has arrived.
    Completed,
    /// The kernel gave it up.
    Failed,
    /// It was open when the run ended.
    Unfinished,
}

/// `tc -s -j qdisc show` on the router.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When.
    pub at_ns: u64,
    /// What tc printed, one object a queue discipline.
    pub qdiscs: Vec<serde_json::Value>,
}
