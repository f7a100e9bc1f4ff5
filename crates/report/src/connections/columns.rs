//! Columns with their types and accessors.

use gentle_trace::row::{Outcome, Row};
use gentle_units::Nanos;

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
    Time(fn(&Row) -> Nanos),
    /// Duration, if it was observed.
    Span(fn(&Row) -> Option<Nanos>),
}

/// All columns, in the order of the file.
pub const COLUMNS: &[Column] = &[
    Column {
        name: "start_s",
        about: "time of the first segment, seconds since 1970",
        read: Read::Time(|r| r.start),
    },
    Column {
        name: "end_s",
        about: "time of the last segment, seconds since 1970",
        read: Read::Time(|r| r.end),
    },
    Column {
        name: "client",
        about: "address of the initiator: the side that sent the SYN; where no SYN was seen, the one that received \
                the SYN/ACK, or else whose segment was seen first",
        read: Read::Text(|r| r.client.to_string()),
    },
    Column {
        name: "client_port",
        about: "the initiator's port",
        read: Read::Port(|r| r.client_port),
    },
    Column {
        name: "server",
        about: "the other address",
        read: Read::Text(|r| r.server.to_string()),
    },
    Column {
        name: "server_port",
        about: "the other port",
        read: Read::Port(|r| r.server_port),
    },
    Column {
        name: "syn_seen",
        about: "whether the SYN was seen",
        read: Read::Flag(|r| r.syn_seen),
    },
    Column {
        name: "established",
        about: "whether the three-way handshake was seen",
        read: Read::Flag(|r| r.established),
    },
    Column {
        name: "rtt_server_s",
        about: "first SYN to first SYN/ACK: round trip between the vantage point and the server; with losses it \
                includes waiting",
        read: Read::Span(|r| r.rtt_server),
    },
    Column {
        name: "rtt_client_s",
        about: "first SYN/ACK to the ACK: round trip between the vantage point and the client",
        read: Read::Span(|r| r.rtt_client),
    },
    Column {
        name: "syn_retransmissions",
        about: "retransmitted SYNs, copies made by the capture aside",
        read: Read::Count(|r| r.syn_retransmissions.into()),
    },
    Column {
        name: "synack_retransmissions",
        about: "retransmitted SYN/ACKs, copies made by the capture aside",
        read: Read::Count(|r| r.synack_retransmissions.into()),
    },
    Column {
        name: "outcome",
        about: "how the attempt ended, as far as all that was captured shows: `succeeded`, `one-sided` (the client went on, \
                but the SYN/ACK was not captured), `half-open`, `refused`, `rejected`, `unanswered`; empty where neither SYN \
                nor SYN/ACK was captured",
        read: Read::Text(|r| r.outcome.map_or("", Outcome::name).to_owned()),
    },
    Column {
        name: "handshake_lost",
        about: "retransmitted SYNs and SYN/ACKs that were needed: what was sent before, or its answer, was lost",
        read: Read::Count(|r| r.handshake_lost.into()),
    },
    Column {
        name: "handshake_late",
        about: "those that were not needed: the answer was late",
        read: Read::Count(|r| r.handshake_late.into()),
    },
    Column {
        name: "handshake_put_off",
        about: "those that were sent because the server put the client off: SYNs after one that had reached it, SYN/ACKs \
                behind the client's ACK",
        read: Read::Count(|r| r.handshake_put_off.into()),
    },
    Column {
        name: "handshake_copies",
        about: "copies of SYNs and SYN/ACKs that the capture or a switch made",
        read: Read::Count(|r| r.handshake_copies.into()),
    },
    Column {
        name: "handshake_delay_s",
        about: "time that the client waited because a SYN or SYN/ACK had to be sent again",
        read: Read::Span(|r| Some(r.handshake_delay)),
    },
    Column {
        name: "response_time_s",
        about: "first SYN until the initiator knew that everything it sent, FIN included, had arrived",
        read: Read::Span(|r| r.response_time),
    },
    Column {
        name: "segments_from_client",
        about: "segments that the initiator sent, copies made by the capture aside",
        read: Read::Count(|r| r.from_client.segments),
    },
    Column {
        name: "segments_from_server",
        about: "the same of the other side",
        read: Read::Count(|r| r.from_server.segments),
    },
    Column {
        name: "bytes_from_client",
        about: "payload bytes that the initiator sent, each counted once however often it was sent",
        read: Read::Count(|r| r.from_client.bytes),
    },
    Column {
        name: "bytes_from_server",
        about: "the same of the other side",
        read: Read::Count(|r| r.from_server.bytes),
    },
    Column {
        name: "retransmissions_from_client",
        about: "segments that the initiator retransmitted, SYN included",
        read: Read::Count(|r| r.from_client.retransmissions),
    },
    Column {
        name: "retransmissions_from_server",
        about: "segments that the other side retransmitted, SYN/ACK included",
        read: Read::Count(|r| r.from_server.retransmissions),
    },
    Column {
        name: "retransmission_delay_from_client_s",
        about: "for each of the initiator's retransmissions the time since the previous transmission of the same \
                bytes, added up",
        read: Read::Span(|r| Some(r.from_client.retransmission_delay)),
    },
    Column {
        name: "retransmission_delay_from_server_s",
        about: "the same of the other side",
        read: Read::Span(|r| Some(r.from_server.retransmission_delay)),
    },
    Column {
        name: "close",
        about: "how it ended: `fin` (both sides sent FIN), `rst`, `silent` (idle timeout or memory limit), `open` \
                (when the capture ended)",
        read: Read::Text(|r| r.close.name().to_owned()),
    },
];
