//! Inferred outcomes of connection attempts, by the rules in `docs/reference/analysis.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Inferred outcomes of connection attempts, and causes of retransmitted SYNs and SYN/ACKs.
///
/// Every attempt is in exactly one of `answered`, `blackholed`, `dead`, `refused`, `rejected`, `challenged`, `elsewhere`,
/// `scans`, `floods`, `unseen` and `seen_twice`. Unlike [`Handshakes`](super::Handshakes), which follows the definitions of handshake-2009, the inference
/// uses everything that was captured of a connection.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Outcomes {
    /// Attempts that were answered by a SYN/ACK, or continued as only an answered attempt can. Attempts of scans and
    /// floods do not count.
    pub answered: u64,
    /// Answered attempts that completed.
    pub completed: u64,
    /// Completed attempts whose SYN/ACK is missing from the capture.
    pub one_sided: u64,
    /// Answered attempts that did not complete, without a retransmitted SYN.
    pub half_open: u64,
    /// Answered attempts that lost a SYN or SYN/ACK, or the ACK of it, in the network.
    pub with_loss: u64,
    /// `with_loss` as a fraction of `answered`.
    pub loss: Option<f64>,
    /// Completed attempts with a loss.
    pub completed_with_loss: u64,
    /// Completed attempts without loss that retransmitted a SYN or SYN/ACK because an answer was late.
    pub late: u64,
    /// Completed attempts that the server deferred: it left a SYN unanswered that had reached it, or retransmitted its
    /// SYN/ACK although the client's ACK is in the capture.
    pub deferred: u64,
    /// Time that the attempts in `deferred` waited because of it, seconds.
    pub deferred_s: f64,
    /// Completed attempts of which a SYN was answered by an ACK of another connection with the same addresses and ports,
    /// which the server still had (RFC 9293, 3.10.7.4; challenge ACK, RFC 5961, 4). No packet was lost.
    pub completed_after_challenge: u64,
    /// Time that these attempts waited because of it, seconds.
    pub completed_after_challenge_s: f64,
    /// Completed attempts of which a SYN was first answered by an RST or an ICMP message. No packet was lost.
    pub completed_after_refusal: u64,
    /// Time that these attempts waited because of it, seconds.
    pub completed_after_refusal_s: f64,
    /// Completed attempts whose client first answered a SYN/ACK with an RST. No packet was lost.
    pub completed_after_reset: u64,
    /// Time that these attempts waited because of it, seconds.
    pub completed_after_reset_s: f64,
    /// Answered attempts of which several SYNs were captured at once: something before the capture point delayed them.
    /// No packet was lost.
    pub held: u64,
    /// Time for which they were delayed, by their timestamps (RFC 7323) if these tick in milliseconds, seconds.
    pub held_s: f64,
    /// Attempts in `half_open` whose client answered each SYN/ACK with an RST and then sent its SYN again.
    pub reset: AttemptGroup,
    /// Attempts in `half_open` whose client answered the SYN/ACK with an RST and sent nothing else: it had given up, or only
    /// wanted to know whether the port is open.
    pub abandoned: AttemptGroup,
    /// Completed attempts whose lost SYNs all had an option, data or flags that no answered SYN of the same server has: a
    /// middlebox drops those. At least three attempts; without any, empty.
    pub dropped_for: Vec<DroppedFor>,
    /// Attempts at live servers of which every packet in at least one direction was lost or discarded.
    pub blackholed: AttemptGroup,
    /// Attempts at hosts of which nothing was captured.
    pub dead: AttemptGroup,
    /// Attempts answered by an RST.
    pub refused: AttemptGroup,
    /// Attempts answered by an ICMP or ICMPv6 message "destination unreachable".
    pub rejected: AttemptGroup,
    /// Attempts of which each SYN was answered by an ACK of another connection with the same addresses and ports.
    pub challenged: AttemptGroup,
    /// Attempts answered only under other addresses: address translation was not undone for the SYN/ACK.
    pub elsewhere: AttemptGroup,
    /// Failed attempts of clients that tried many servers and ports.
    pub scans: AttemptGroup,
    /// Attempts that belong to a SYN flood.
    pub floods: AttemptGroup,
    /// Unanswered attempts at servers of which only the packets from clients were captured.
    pub unseen: AttemptGroup,
    /// Attempts that are another view of one that counts, captured before or after address translation (NAT).
    pub seen_twice: u64,
    /// Connections whose SYN/ACK was captured, but not the SYN; they do not count as attempts. Without those whose SYN/ACK
    /// answered the SYN of another one.
    pub without_syn: u64,
    /// Connections in `without_syn` whose SYN/ACK was retransmitted.
    pub without_syn_again: u64,
    /// Causes of retransmitted SYNs and SYN/ACKs, without SYN/ACKs that answered a retransmitted SYN.
    pub repeats: Repeats,
    /// Attempts whose outcome was decided before the end of the trace because of the memory limit.
    pub judged_early: u64,
}

/// Attempts whose SYNs a middlebox drops because of their contents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedFor {
    /// `mptcp` (option 30, RFC 8684), `fast-open` (option 34, RFC 7413), `data`, or `ecn` (flags ECE and CWR, RFC 3168).
    #[serde(deserialize_with = "gentle_units::interned::name")]
    pub name: super::Name,
    /// Number of attempts.
    pub attempts: u64,
    /// Time that they waited, seconds.
    pub waited_s: f64,
}

/// Slow or failed attempts with a common reason.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptGroup {
    /// Number of attempts.
    pub attempts: u64,
    /// Time that they waited for retransmissions, seconds.
    pub waited_s: f64,
    /// Number of servers (address and port) of the attempts; for `scans`, of clients.
    pub parties: u64,
    /// Servers or clients with most attempts, at most three, in descending order.
    pub most: Vec<NamedParty>,
}

/// Server or client with its number of attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedParty {
    /// Address and port of a server, or address of a client.
    pub name: String,
    /// Number of attempts.
    pub attempts: u64,
}

/// Retransmitted SYNs and SYN/ACKs by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repeats {
    /// The previous transmission or its answer was lost.
    pub lost: u64,
    /// The previous transmission had arrived, and the answer was late.
    pub late: u64,
    /// An RST or an ICMP message had answered the previous SYN.
    pub rejected: u64,
    /// The server deferred the client: SYNs after one that had reached the server, SYN/ACKs after the client's ACK.
    pub deferred: u64,
    /// The server had answered the previous SYN with an ACK of another connection.
    pub challenged: u64,
    /// The client had answered the previous SYN/ACK with an RST.
    pub reset: u64,
    /// The SYN came together with the previous one.
    pub held: u64,
    /// The attempt was never completed.
    pub failed: u64,
}

impl Repeats {
    /// All of them.
    pub fn total(&self) -> u64 {
        let Repeats { lost, late, rejected, deferred, challenged, reset, held, failed } = self;
        lost + late + rejected + deferred + challenged + reset + held + failed
    }
}
