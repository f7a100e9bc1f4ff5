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
    /// Time lost to them.
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
