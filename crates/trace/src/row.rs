//! One connection, as `--connections` and `--flows` write it.

use gentle_units::Nanos;
use gentle_wire::Address;
use serde::Serialize;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Close {
    /// Both sides sent FIN.
    Fin,
    /// One side sent RST.
    Rst,
    /// It fell silent for the idle timeout, or was forgotten because of the memory limit.
    Silent,
    /// It was open when the capture ended.
    Open,
}

impl Close {
    /// Its name, as in results.
    pub const fn name(self) -> &'static str {
        match self {
            Close::Fin => "fin",
            Close::Rst => "rst",
            Close::Silent => "silent",
            Close::Open => "open",
        }
    }
}

/// How an attempt at a connection ended, as far as the capture shows.
///
/// This is a judgement from all segments of the connection; [`Row::established`] is the definition of handshake-2009.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A SYN/ACK was seen, and a later segment of either side shows that the client went on.
    Succeeded,
    /// A later segment shows that the client went on, but the SYN/ACK was not captured.
    OneSided,
    /// A SYN/ACK was seen, and the client did not go on.
    HalfOpen,
    /// An RST answered the SYN.
    Refused,
    /// An ICMP or ICMPv6 message "destination unreachable" answered the SYN.
    Rejected,
    /// Nothing answered the SYN.
    Unanswered,
}

impl Outcome {
    /// Its name, as in results.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::OneSided => "one-sided",
            Outcome::HalfOpen => "half-open",
            Outcome::Refused => "refused",
            Outcome::Rejected => "rejected",
            Outcome::Unanswered => "unanswered",
        }
    }

    /// Whether the handshake was completed.
    pub const fn is_complete(self) -> bool {
        matches!(self, Outcome::Succeeded | Outcome::OneSided)
    }
}

/// What one side of a connection sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Side {
    /// Segments, copies made by the capture aside.
    pub segments: u64,
    /// Payload bytes of the stream: each counted once, however often it was sent.
    pub bytes: u64,
    /// Retransmitted segments, SYN or SYN/ACK included.
    pub retransmissions: u64,
    /// For each retransmission the time since the previous transmission of the same bytes, added up.
    pub retransmission_delay: Nanos,
}

/// One connection, or one attempt at one. The initiator is the side that sent the SYN; where no SYN was seen, the one
/// that received the SYN/ACK, or else the side whose segment was seen first.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Time of its first segment, since 1970.
    pub start: Nanos,
    /// Time of its last segment.
    pub end: Nanos,
    /// Initiator's address.
    pub client: Address,
    /// Initiator's port.
    pub client_port: u16,
    /// The other address.
    pub server: Address,
    /// The other port.
    pub server_port: u16,
    /// Whether its SYN was seen.
    pub syn_seen: bool,
    /// Whether the three-way handshake was seen.
    pub established: bool,
    /// First SYN to first SYN/ACK: round trip between the vantage point and the server (with losses, includes waiting).
    pub rtt_server: Option<Nanos>,
    /// First SYN/ACK to the ACK: round trip between the vantage point and the client.
    pub rtt_client: Option<Nanos>,
    /// Retransmitted SYNs, copies made by the capture aside.
    pub syn_retransmissions: u32,
    /// Retransmitted SYN/ACKs, copies made by the capture aside.
    pub synack_retransmissions: u32,
    /// How the attempt ended; nothing where neither SYN nor SYN/ACK was captured.
    pub outcome: Option<Outcome>,
    /// Of the retransmitted SYNs and SYN/ACKs, those that were needed: what was sent before, or its answer, was lost.
    pub handshake_lost: u32,
    /// Those that were not: the answer was late.
    pub handshake_late: u32,
    /// Those that were sent because the server put the client off: SYNs after one that had reached it, SYN/ACKs behind the
    /// client's ACK.
    pub handshake_put_off: u32,
    /// Copies of SYNs and SYN/ACKs that the capture or a switch made.
    pub handshake_copies: u32,
    /// Time that the client waited for those that were needed.
    pub handshake_delay: Nanos,
    /// First SYN until the initiator knew that everything it sent, FIN included, had arrived: the acknowledgement of its
    /// FIN. As the simulator defines it.
    pub response_time: Option<Nanos>,
    /// What the initiator sent.
    pub from_client: Side,
    /// What the other side sent.
    pub from_server: Side,
    /// How it ended.
    pub close: Close,
}
