//! Connection rows, as `--connections` and `--flows` write them.

use gentle_units::{Instant, Nanos};
use gentle_wire::Address;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Way in which a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Close {
    /// Both sides sent FIN.
    Fin,
    /// One side sent RST.
    Rst,
    /// No packet for the idle timeout, or removed because of the memory limit.
    Silent,
    /// Still open at the end of the capture.
    Open,
}

impl Close {
    /// Name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Close::Fin => "fin",
            Close::Rst => "rst",
            Close::Silent => "silent",
            Close::Open => "open",
        }
    }
}

/// Outcome of a connection attempt, as far as the capture shows.
///
/// Classification from all segments of the connection; [`Row::established`] is the definition of handshake-2009.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A SYN/ACK was seen, and a later segment of either side shows that the client went on.
    Succeeded,
    /// A later segment shows that the client went on, but the SYN/ACK was not captured.
    OneSided,
    /// A SYN/ACK was seen, and the client did not continue.
    HalfOpen,
    /// An RST answered the SYN.
    Refused,
    /// An ICMP or ICMPv6 message "destination unreachable" answered the SYN.
    Rejected,
    /// An acknowledgement of another connection with the same addresses and ports, which the server still has, answered
    /// the SYN (RFC 9293, 3.10.7.4; challenge ACK, RFC 5961, 4).
    Challenged,
    /// Nothing answered the SYN.
    Unanswered,
}

impl Outcome {
    /// Name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::OneSided => "one-sided",
            Outcome::HalfOpen => "half-open",
            Outcome::Refused => "refused",
            Outcome::Rejected => "rejected",
            Outcome::Challenged => "challenged",
            Outcome::Unanswered => "unanswered",
        }
    }

    /// Whether the handshake completed.
    pub const fn is_complete(self) -> bool {
        matches!(self, Outcome::Succeeded | Outcome::OneSided)
    }
}

/// Traffic sent by one side of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Side {
    /// Segments, without copies made by the capture.
    pub segments: u64,
    /// Payload bytes of the stream; retransmitted bytes count once.
    pub bytes: u64,
    /// Retransmitted segments, including SYN or SYN/ACK.
    pub retransmissions: u64,
    /// Time waited for retransmissions, each from the previous transmission of the same bytes; overlaps count once.
    pub retransmission_delay: Nanos,
    /// This time without regard to overlaps: the sum of spa-2018, section III.
    pub retransmission_delay_sum: Nanos,
}

/// One connection or connection attempt. The initiator is the side that sent the SYN; if no SYN was seen, the side that
/// received the SYN/ACK; else the side whose segment was seen first.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Time of the first segment, since 1970.
    pub start: Instant,
    /// Time of the last segment.
    pub end: Instant,
    /// Initiator's address.
    pub client: Address,
    /// Initiator's port.
    pub client_port: u16,
    /// Responder's address.
    pub server: Address,
    /// Responder's port.
    pub server_port: u16,
    /// Whether the SYN was seen.
    pub syn_seen: bool,
    /// Whether the three-way handshake was seen.
    pub established: bool,
    /// First SYN to first SYN/ACK: round-trip time between vantage point and server; with losses it includes waiting.
    pub rtt_server: Option<Nanos>,
    /// First SYN/ACK to first ACK: round-trip time between vantage point and client.
    pub rtt_client: Option<Nanos>,
    /// Retransmitted SYNs, without copies made by the capture.
    pub syn_retransmissions: u32,
    /// Retransmitted SYN/ACKs, without copies made by the capture.
    pub synack_retransmissions: u32,
    /// Outcome of the attempt; `None` if neither SYN nor SYN/ACK was captured.
    pub outcome: Option<Outcome>,
    /// Retransmitted SYNs and SYN/ACKs after a loss of the previous one or its answer.
    pub handshake_lost: u32,
    /// Spurious retransmissions of SYNs and SYN/ACKs: the answer was late.
    pub handshake_late: u32,
    /// Retransmitted SYNs and SYN/ACKs caused by a server that deferred the client: SYNs after one that had reached the
    /// server, SYN/ACKs after the client's ACK.
    pub handshake_deferred: u32,
    /// SYNs and SYN/ACKs duplicated by the capture or a switch.
    pub handshake_copies: u32,
    /// Time that the client waited for the retransmissions in `handshake_lost`.
    pub handshake_delay: Nanos,
    /// Time from the first SYN until the initiator's FIN was acknowledged, by which the initiator knew that everything
    /// it sent had arrived; the definition of response time in the simulator.
    pub response_time: Option<Nanos>,
    /// Traffic sent by the initiator.
    pub from_client: Side,
    /// Traffic sent by the responder.
    pub from_server: Side,
    /// Way in which the connection ended.
    pub close: Close,
}
