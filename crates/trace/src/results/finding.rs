//! Conclusions of an analysis, which `gentle-report` puts into words.

use super::{AttemptGroup, CaptureDuplicates, DroppedFor, Name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Conclusion of an analysis. Times are seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// A reason not to trust the figures.
    Warning {
        /// Index in [`Analysis::warnings`](super::Analysis::warnings).
        warning: usize,
    },
    /// No TCP segment.
    NoTcp {
        /// Number of packets.
        packets: u64,
        /// Number of packets by kind of traffic, or by the reason why they were not dissected.
        #[serde(deserialize_with = "gentle_units::interned::keys")]
        kinds: BTreeMap<Name, u64>,
    },
    /// TCP segments, but no SYN.
    NoSyn {
        /// Number of TCP segments.
        segments: u64,
        /// Connections answered by a SYN/ACK.
        answered: u64,
        /// Connections in `answered` whose SYN/ACK was retransmitted.
        answered_again: u64,
        /// Retransmitted SYN/ACKs.
        synacks_again: u64,
    },
    /// SYN/ACKs are missing from the capture.
    OneSided {
        /// Completed attempts without a captured SYN/ACK.
        attempts: u64,
        /// Completed attempts.
        completed: u64,
    },
    /// SYNs are missing from the capture.
    WithoutSyn {
        /// Connections with a SYN/ACK and without a SYN.
        connections: u64,
        /// Connections whose SYN/ACK was retransmitted.
        again: u64,
    },
    /// No attempt was answered.
    NoneAnswered {
        /// Number of attempts.
        attempts: u64,
        /// Whether nothing of any server was captured.
        no_server: bool,
    },
    /// No answered attempt lost a SYN or SYN/ACK.
    NoLoss {
        /// Answered attempts.
        answered: u64,
        /// Whether every attempt was answered.
        all_answered: bool,
        /// Considerable waiting for retransmitted data.
        data_wait: Option<DataWait>,
    },
    /// Loss of SYNs and SYN/ACKs.
    Loss {
        /// Answered attempts.
        answered: u64,
        /// Whether every attempt was answered.
        all_answered: bool,
        /// Answered attempts with a loss.
        with_loss: u64,
        /// Completed attempts with a loss.
        completed_with_loss: u64,
        /// Mean wait of the completed attempts with a loss.
        mean_wait_s: Option<f64>,
        /// Sum of these waits.
        wait_s: f64,
        /// Time that all connections waited for retransmissions.
        all_waits_s: f64,
    },
    /// The server that loses most time to handshake loss.
    WorstServer {
        /// Address and port.
        name: String,
        /// Answered attempts.
        answered: u64,
        /// Answered attempts with a loss.
        with_loss: u64,
        /// Time lost.
        time_lost_s: f64,
    },
    /// A middlebox drops SYNs because of their contents.
    DroppedFor(DroppedFor),
    /// Cost of handshake loss by the response-time model, from [`Analysis::expected_cost`](super::Analysis::expected_cost).
    ExpectedCost {
        /// Probability that an attempt of a handshake fails.
        handshake_loss: f64,
        /// Expected wait per connection.
        expected_wait_s: f64,
        /// Measured wait per connection.
        measured_wait_s: f64,
    },
    /// Attempts with a retransmission because the answer was late.
    Late {
        /// Number of attempts.
        attempts: u64,
    },
    /// Attempts that the server deferred.
    Deferred(Waits),
    /// Attempts that were first answered by a challenge ACK, because the server still had an older connection.
    PortInUse(Waits),
    /// Attempts that were first refused by an RST or an ICMP error.
    FirstRefused(Waits),
    /// Attempts whose client first answered a SYN/ACK with an RST.
    FirstReset(Waits),
    /// Attempts whose SYNs were held up before the capture point; they waited as far as timestamps show it.
    HeldUp(Waits),
    /// Attempts that were answered and not continued, without an RST.
    NotContinued {
        /// Number of attempts.
        attempts: u64,
    },
    /// Attempts that were not completed.
    Failed {
        /// Reason.
        reason: FailureReason,
        /// Attempts and their servers, or clients.
        group: AttemptGroup,
    },
    /// Waiting time of attempts that were never completed.
    FailedWait {
        /// Sum of the waits.
        waited_s: f64,
    },
    /// Attempts captured before and after address translation.
    SeenTwice {
        /// Number of attempts.
        attempts: u64,
    },
    /// Copies made by the capture or a switch.
    Copies(CaptureDuplicates),
    /// Slow lookups of names by DNS over UDP, from [`Analysis::lookups`](super::Analysis::lookups).
    SlowLookups {
        /// Lookups that were answered or never answered.
        lookups: u64,
        /// Lookups whose query was repeated before they were answered.
        repeated: u64,
        /// Lookups that were never answered.
        unanswered: u64,
        /// Sum of the waits.
        waited_s: f64,
        /// DNS server with most of them, address and port.
        server: String,
    },
    /// Retransmissions in the handshakes of another protocol.
    OtherProtocol {
        /// `quic`, `sctp` or `dccp`.
        #[serde(deserialize_with = "gentle_units::interned::name")]
        protocol: Name,
        /// Attempts.
        attempts: u64,
        /// Attempts with a retransmission.
        with_loss: u64,
        /// Time that successful attempts lost.
        time_lost_s: f64,
    },
    /// Connections evicted early because of the memory limit.
    Evicted {
        /// Number of connections.
        connections: u64,
    },
    /// The analysis was interrupted.
    Interrupted,
}

/// Attempts and the time that they waited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Number of attempts.
    pub attempts: u64,
    /// Sum of the waits, seconds.
    pub waited_s: f64,
}

/// Waiting for retransmitted data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DataWait {
    /// Sum over all connections, seconds.
    pub waited_s: f64,
    /// Mean per completed connection, seconds.
    pub mean_s: f64,
    /// Whether most of it is for segments lost before the capture point, where lost SYNs do not show.
    pub before_capture_point: bool,
}

/// Reason why attempts were not completed; fields of [`Outcomes`](super::Outcomes) have the same names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureReason {
    /// The client answered the SYN/ACK with an RST and sent nothing else.
    Abandoned,
    /// The client answered each SYN/ACK with an RST and sent its SYN again.
    Reset,
    /// An older connection with the same addresses and ports answered.
    Challenged,
    /// The answer came under another address.
    Elsewhere,
    /// The host is alive, and every packet in a direction was dropped.
    Blackholed,
    /// Nothing of the host was captured.
    Dead,
    /// RST.
    Refused,
    /// ICMP error.
    Rejected,
    /// Only the packets of the clients were captured.
    Unseen,
    /// The client tried many servers or ports.
    Scans,
    /// SYN flood.
    Floods,
}
