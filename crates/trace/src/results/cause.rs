//! Causes of slow and failed connection attempts.

use super::{AttemptGroup, Name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Cause of slow or failed attempts. Each attempt counts for at most one cause: that of its longest wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Kind of cause.
    pub kind: CauseKind,
    /// Attempts, the time that they waited, and their servers; for `scan`, their clients. For a cause of slow lookups, lookups and
    /// their DNS servers.
    pub group: AttemptGroup,
    /// `group.attempts` as a fraction of all attempts; for a cause of slow lookups, of the lookups that were decided.
    pub share: f64,
    /// Direction in which packets were lost; `None` if it is uncertain, and for causes other than losses on the path.
    pub direction: Option<LossDirection>,
    /// Numbers from which the cause was inferred, by name.
    #[serde(deserialize_with = "gentle_units::interned::keys")]
    pub evidence: BTreeMap<Name, f64>,
    /// Evidence, as a clause. Text.
    pub sentence: String,
    /// Remedy, or that gentle has none. Text.
    pub remedy: String,
    /// Command that verifies the cause, with the capture and the server with most attempts, if they are known. Text.
    pub check: String,
}

/// Direction in which packets were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDirection {
    /// From clients to servers.
    ToServer,
    /// From servers to clients.
    ToClient,
    /// In both directions.
    Both,
}

/// Kinds of causes of slow and failed attempts, and of slow lookups of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// Loss in an overflowing queue: round trips were longer when the packets were lost.
    Congestion,
    /// Loss on a path without a queue, of handshakes and of single data segments alike: a radio link, a damaged cable.
    RandomLoss,
    /// Loss on a path without a queue, of many data segments in a row: a policer, or a link with bursts of errors.
    BurstLoss,
    /// Loss on a path without a queue, single or in a row.
    LossWithoutQueue,
    /// Loss of handshakes only, while data passed: a full listen queue or connection-tracking table, or a limit on new
    /// connections.
    NewConnectionsDropped,
    /// Loss, and too little is known of the path.
    Loss,
    /// A middlebox drops SYNs because of an option, data or flags.
    DroppedOptions,
    /// The server's listen queue was full.
    ListenQueue,
    /// The server waited for data before it accepted (`TCP_DEFER_ACCEPT`).
    DeferredAccept,
    /// The server deferred, or the client's ACK was lost beyond the capture point.
    Deferred,
    /// The answer took longer than the client's timeout; nothing was lost.
    LateAnswer,
    /// The server still had a connection with the same addresses and ports.
    PortReuse,
    /// The client reset a SYN/ACK.
    ResetByClient,
    /// Packets were held up before the capture point, as while a tunnel is set up.
    HeldUp,
    /// Every packet in a direction was dropped, and the port never answered: a firewall.
    Filtered,
    /// Every packet in a direction was dropped, the same port answered other attempts, and those do not show why.
    DroppedInPart,
    /// Nothing of the host was captured.
    DeadHost,
    /// An RST answered the SYN.
    Refused,
    /// An ICMP error answered the SYN.
    Rejected,
    /// The SYN/ACK came under another address: address translation was not undone.
    NatNotUndone,
    /// The client tried many servers or ports.
    Scan,
    /// SYN flood.
    Flood,
    /// A DNS query or its answer was lost, and the resolver repeated the query after a timeout.
    DnsLoss,
    /// Loss of one of the two queries for the addresses of a name (A and AAAA) that a resolver sent together.
    DnsPairLoss,
    /// The answer to a DNS query took longer than the resolver's timeout; nothing was lost.
    DnsLate,
    /// DNS queries without any answer.
    DnsUnanswered,
}

impl CauseKind {
    /// All kinds.
    pub const ALL: [CauseKind; 26] = [
        CauseKind::Congestion,
        CauseKind::RandomLoss,
        CauseKind::BurstLoss,
        CauseKind::LossWithoutQueue,
        CauseKind::NewConnectionsDropped,
        CauseKind::Loss,
        CauseKind::DroppedOptions,
        CauseKind::ListenQueue,
        CauseKind::DeferredAccept,
        CauseKind::Deferred,
        CauseKind::LateAnswer,
        CauseKind::PortReuse,
        CauseKind::ResetByClient,
        CauseKind::HeldUp,
        CauseKind::Filtered,
        CauseKind::DroppedInPart,
        CauseKind::DeadHost,
        CauseKind::Refused,
        CauseKind::Rejected,
        CauseKind::NatNotUndone,
        CauseKind::Scan,
        CauseKind::Flood,
        CauseKind::DnsLoss,
        CauseKind::DnsPairLoss,
        CauseKind::DnsLate,
        CauseKind::DnsUnanswered,
    ];

    /// Whether the cause delays lookups of names, rather than attempts.
    pub const fn is_of_lookups(self) -> bool {
        use CauseKind::{DnsLate, DnsLoss, DnsPairLoss, DnsUnanswered};
        matches!(self, DnsLoss | DnsPairLoss | DnsLate | DnsUnanswered)
    }

    /// Name in JSON and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            CauseKind::Congestion => "congestion",
            CauseKind::RandomLoss => "random-loss",
            CauseKind::BurstLoss => "burst-loss",
            CauseKind::LossWithoutQueue => "loss-without-queue",
            CauseKind::NewConnectionsDropped => "new-connections-dropped",
            CauseKind::Loss => "loss",
            CauseKind::DroppedOptions => "dropped-options",
            CauseKind::ListenQueue => "listen-queue",
            CauseKind::DeferredAccept => "deferred-accept",
            CauseKind::Deferred => "deferred",
            CauseKind::LateAnswer => "late-answer",
            CauseKind::PortReuse => "port-reuse",
            CauseKind::ResetByClient => "reset-by-client",
            CauseKind::HeldUp => "held-up",
            CauseKind::Filtered => "filtered",
            CauseKind::DroppedInPart => "dropped-in-part",
            CauseKind::DeadHost => "dead-host",
            CauseKind::Refused => "refused",
            CauseKind::Rejected => "rejected",
            CauseKind::NatNotUndone => "nat-not-undone",
            CauseKind::Scan => "scan",
            CauseKind::Flood => "flood",
            CauseKind::DnsLoss => "dns-loss",
            CauseKind::DnsPairLoss => "dns-pair-loss",
            CauseKind::DnsLate => "dns-late",
            CauseKind::DnsUnanswered => "dns-unanswered",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_in_json() {
        for kind in CauseKind::ALL {
            assert_eq!(serde_json::to_value(kind).expect("a name"), kind.name());
        }
    }
}
