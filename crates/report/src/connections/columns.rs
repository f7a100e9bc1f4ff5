//! Columns with their types and accessors.

use gentle_trace::row::{Outcome, Row};
use gentle_units::{Instant, Nanos};

/// Column of the file.
pub struct Column {
    /// Name of the column, with the unit if it has one.
    pub name: &'static str,
    /// Description of the column.
    pub about: &'static str,
    pub(super) read: Read,
}

/// Type of a column's values, with the accessor.
#[derive(Clone, Copy)]
pub(super) enum Read {
    Text(fn(&Row) -> String),
    Flag(fn(&Row) -> bool),
    Port(fn(&Row) -> u16),
    Count(fn(&Row) -> u64),
    /// Point in time since 1970.
    Time(fn(&Row) -> Instant),
    /// Duration, if it was observed.
    Span(fn(&Row) -> Option<Nanos>),
}

/// Value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// Flag.
    Flag(bool),
    /// TCP port.
    Port(u16),
    /// Count.
    Count(u64),
    /// Point in time since 1970.
    Time(Instant),
    /// Duration; `None` if it was not observed.
    Span(Option<Nanos>),
}

impl Column {
    /// Value of the column for a connection. The variant is the same for all connections.
    pub fn value(&self, row: &Row) -> Value {
        match self.read {
            Read::Text(of) => Value::Text(of(row)),
            Read::Flag(of) => Value::Flag(of(row)),
            Read::Port(of) => Value::Port(of(row)),
            Read::Count(of) => Value::Count(of(row)),
            Read::Time(of) => Value::Time(of(row)),
            Read::Span(of) => Value::Span(of(row)),
        }
    }
}

/// All columns, in the order of the file.
pub const COLUMNS: &[Column] = &[
    Column { name: "start_s", about: "time of the first segment, seconds since 1970", read: Read::Time(|r| r.start) },
    Column { name: "end_s", about: "time of the last segment, seconds since 1970", read: Read::Time(|r| r.end) },
    Column {
        name: "client",
        about: "address of the initiator: the host that sent the SYN; without a captured SYN, the one that received \
                the SYN/ACK, otherwise the sender of the first segment",
        read: Read::Text(|r| r.client.to_string()),
    },
    Column { name: "client_port", about: "port of the initiator", read: Read::Port(|r| r.client_port) },
    Column { name: "server", about: "address of the responder", read: Read::Text(|r| r.server.to_string()) },
    Column { name: "server_port", about: "port of the responder", read: Read::Port(|r| r.server_port) },
    Column { name: "syn_seen", about: "whether the SYN was captured", read: Read::Flag(|r| r.syn_seen) },
    Column {
        name: "established",
        about: "whether the three-way handshake was captured",
        read: Read::Flag(|r| r.established),
    },
    Column {
        name: "rtt_server_s",
        about: "first SYN to first SYN/ACK: round trip between capture point and server; includes waiting \
                for retransmissions",
        read: Read::Span(|r| r.rtt_server),
    },
    Column {
        name: "rtt_client_s",
        about: "first SYN/ACK to the ACK: round trip between capture point and client",
        read: Read::Span(|r| r.rtt_client),
    },
    Column {
        name: "syn_retransmissions",
        about: "retransmitted SYNs, without copies made by the capture",
        read: Read::Count(|r| r.syn_retransmissions.into()),
    },
    Column {
        name: "synack_retransmissions",
        about: "retransmitted SYN/ACKs, without copies made by the capture",
        read: Read::Count(|r| r.synack_retransmissions.into()),
    },
    Column {
        name: "outcome",
        about: "how the attempt ended, as far as all that was captured shows: `succeeded`, `one-sided` (the client went on, \
                but the SYN/ACK was not captured), `half-open`, `refused`, `rejected`, `challenged` (an ACK of \
                another connection with the same ports answered), `unanswered`; empty where neither SYN nor SYN/ACK was \
                captured",
        read: Read::Text(|r| r.outcome.map_or("", Outcome::name).to_owned()),
    },
    Column {
        name: "handshake_lost",
        about: "retransmitted SYNs and SYN/ACKs because the packet or its answer was lost",
        read: Read::Count(|r| r.handshake_lost.into()),
    },
    Column {
        name: "handshake_late",
        about: "spurious ones: the answer was late",
        read: Read::Count(|r| r.handshake_late.into()),
    },
    Column {
        name: "handshake_deferred",
        about: "those because the server deferred the client: SYNs after one that had reached it, SYN/ACKs after the \
                client's ACK",
        read: Read::Count(|r| r.handshake_deferred.into()),
    },
    Column {
        name: "handshake_copies",
        about: "copies of SYNs and SYN/ACKs made by the capture or a switch",
        read: Read::Count(|r| r.handshake_copies.into()),
    },
    Column {
        name: "handshake_delay_s",
        about: "time that the client waited for the retransmission of a SYN or SYN/ACK",
        read: Read::Span(|r| Some(r.handshake_delay)),
    },
    Column {
        name: "response_time_s",
        about: "first SYN until the initiator knew that all its data and its FIN had arrived",
        read: Read::Span(|r| r.response_time),
    },
    Column {
        name: "segments_from_client",
        about: "segments sent by the initiator, without copies made by the capture",
        read: Read::Count(|r| r.from_client.segments),
    },
    Column {
        name: "segments_from_server",
        about: "segments sent by the responder, without copies made by the capture",
        read: Read::Count(|r| r.from_server.segments),
    },
    Column {
        name: "bytes_from_client",
        about: "payload bytes sent by the initiator, without retransmissions",
        read: Read::Count(|r| r.from_client.bytes),
    },
    Column {
        name: "bytes_from_server",
        about: "payload bytes sent by the responder, without retransmissions",
        read: Read::Count(|r| r.from_server.bytes),
    },
    Column {
        name: "retransmissions_from_client",
        about: "segments retransmitted by the initiator, including SYNs",
        read: Read::Count(|r| r.from_client.retransmissions),
    },
    Column {
        name: "retransmissions_from_server",
        about: "segments retransmitted by the responder, including SYN/ACKs",
        read: Read::Count(|r| r.from_server.retransmissions),
    },
    Column {
        name: "retransmission_delay_from_client_s",
        about: "time that the initiator waited for its retransmissions, each from the previous transmission of the \
                same bytes; each moment counts once",
        read: Read::Span(|r| Some(r.from_client.retransmission_delay)),
    },
    Column {
        name: "retransmission_delay_from_server_s",
        about: "the same for the responder",
        read: Read::Span(|r| Some(r.from_server.retransmission_delay)),
    },
    Column {
        name: "close",
        about: "how the connection ended: `fin` (both sides sent FIN), `rst`, `silent` (idle timeout or memory limit), `open` \
                (when the capture ended)",
        read: Read::Text(|r| r.close.name().to_owned()),
    },
];
