//! Observations of an experiment.

use super::tcp_info;
use crate::experiment::Flow;
use gentle_experiment::ApplicationRecord;
use gentle_experiment::application::dialogue::Note;
use serde::{Deserialize, Serialize};
use std::net::TcpStream;

/// All observations but the packets, which are in a file. Times are in nanoseconds from the start of the traffic.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Observations {
    /// All connections that were started, as seen by the host that connected; in order of their starts.
    pub connections: Vec<Connection>,
    /// Measurements of applications by both hosts.
    #[serde(default)]
    pub applications: Vec<ApplicationPart>,
    /// Measurements of the users of dialogues, in order of the flows.
    #[serde(default)]
    pub notes: Vec<UserNote>,
    /// Statistics of the router's queues, in order of time; the last sample is from the end.
    pub samples: Vec<Sample>,
    /// Packets that the taps missed for lack of buffer space.
    pub missed: u64,
    /// Whether the run was interrupted before its end.
    pub interrupted: bool,
}

/// Measurements of one host, of the flows of one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApplicationPart {
    /// Index of the workload in the scenario.
    pub workload: usize,
    /// Measurements.
    pub record: ApplicationRecord,
}

/// A measurement of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserNote {
    /// Index in the experiment's list of flows.
    pub flow: u32,
    /// Measurements.
    pub note: Note,
}

/// A connection. Kernel counters come from the end that connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Index in the experiment's list of flows.
    pub flow: u32,
    /// Whether the client connected.
    pub from_client: bool,
    /// Local port of the connecting end.
    pub port: u16,
    /// Time of the call of `connect`.
    pub started_ns: u64,
    /// Time at which the connection was established.
    pub connected_ns: Option<u64>,
    /// Time at which the first byte was received, if this end receives.
    pub first_byte_ns: Option<u64>,
    /// Time at which the connection ended or was given up.
    pub ended_ns: Option<u64>,
    /// Outcome.
    #[serde(rename = "end")]
    pub outcome: ConnectionOutcome,
    /// Payload received, bytes.
    pub received: u64,
    /// Segments retransmitted, SYNs included (`tcpi_total_retrans`).
    pub retransmitted: u32,
    /// SYNs retransmitted.
    pub syn_retransmitted: u32,
    /// Duplicates reported by the other end (`tcpi_dsack_dups`).
    pub dsack_duplicates: u32,
    /// Smoothed round-trip time at the end, microseconds (`tcpi_rtt`).
    pub rtt_us: u32,
}

impl Connection {
    /// A connection that starts at `now_ns` from the local port `port`, of the flow with the index `number`.
    pub(crate) fn started(flow: &Flow, number: u32, port: u16, now_ns: u64) -> Connection {
        Connection {
            flow: number,
            from_client: flow.from_client,
            port,
            started_ns: now_ns,
            connected_ns: None,
            first_byte_ns: None,
            ended_ns: None,
            outcome: ConnectionOutcome::Unfinished,
            received: 0,
            retransmitted: 0,
            syn_retransmitted: 0,
            dsack_duplicates: 0,
            rtt_us: 0,
        }
    }

    /// Reads the kernel's counters; `connecting`: the connection was never established.
    pub(super) fn read_counters(&mut self, stream: &TcpStream, connecting: bool) {
        // A failed connection may have no `TCP_INFO`.
        let info = tcp_info::of(stream).unwrap_or_default();
        self.retransmitted = info.total_retrans;
        self.dsack_duplicates = info.dsack_dups;
        self.rtt_us = info.rtt_us;
        if connecting {
            self.syn_retransmitted = info.total_retrans;
        }
    }
}

/// Outcome of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionOutcome {
    /// The connecting host knows that everything, FIN included, has arrived.
    Completed,
    /// The kernel gave the connection up.
    Failed,
    /// The connection was open when the run ended.
    Unfinished,
}

/// Output of `tc -s -j qdisc show` on the router.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Time of the sample.
    pub at_ns: u64,
    /// Parsed output, one object per qdisc.
    pub qdiscs: Vec<serde_json::Value>,
}
