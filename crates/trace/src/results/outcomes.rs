//! Inferred outcomes of connection attempts, by the rules in `docs/analyze.md`.

use schemars::JsonSchema;
use serde::Serialize;

/// What became of the attempts, and why SYNs and SYN/ACKs were sent again.
///
/// Every attempt is in one of `answered`, `swallowed`, `dead`, `refused`, `rejected`, `scans`, `floods` and `unseen`. Where
/// [`Handshakes`](super::Handshakes) goes by the definition of handshake-2009, this goes by all that was captured of
/// a connection.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Outcomes {
    /// Attempts that a SYN/ACK answered, or that went on as only an answered one can. What scans and floods got for an
    /// answer is not among them.
    pub answered: u64,
    /// Of those answered: completed.
    pub completed: u64,
    /// Of those completed: the SYN/ACK is missing from the capture.
    pub one_sided: u64,
    /// Of those answered: not completed, though no SYN came again.
    pub half_open: u64,
    /// Of those answered: lost a SYN or SYN/ACK, or the ACK of it, on the way.
    pub with_loss: u64,
    /// `with_loss` as a share of `answered`.
    pub loss: Option<f64>,
    /// Of those with a loss: completed.
    pub completed_with_loss: u64,
    /// Of those completed: lost nothing, but sent a SYN or SYN/ACK again because an answer was late.
    pub late: u64,
    /// Of those completed: the server left a SYN unanswered that had reached it, or sent its SYN/ACK again though the
    /// client's ACK is in the capture.
    pub put_off: u64,
    /// Time that they waited because of that.
    pub put_off_s: f64,
    /// Attempts at servers that are alive, of which every packet one way or the other vanished.
    pub swallowed: AttemptGroup,
    /// Attempts at hosts of which nothing was captured.
    pub dead: AttemptGroup,
    /// Attempts that an RST answered.
    pub refused: AttemptGroup,
    /// Attempts that an ICMP or ICMPv6 message "destination unreachable" answered.
    pub rejected: AttemptGroup,
    /// Attempts in vain of clients that tried many servers and ports.
    pub scans: AttemptGroup,
    /// Attempts of a SYN flood.
    pub floods: AttemptGroup,
    /// Attempts without an answer at servers of which only the clients' side was captured.
    pub unseen: AttemptGroup,
    /// Connections of which the SYN/ACK was captured, but not the SYN; they are no attempts.
    pub without_syn: u64,
    /// Of those: the SYN/ACK was sent again.
    pub without_syn_again: u64,
    /// Why SYNs were sent again, and SYN/ACKs, those that answered such a SYN aside.
    pub repeats: Repeats,
    /// Whether that was decided before the end for some, because of the memory limit.
    pub judged_early: u64,
}

/// Attempts that are told apart from those that were answered.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct AttemptGroup {
    /// How many.
    pub attempts: u64,
    /// Servers, or clients (`scans`), to which they belong.
    pub parties: u64,
    /// The first of those, at most three, those with most attempts first.
    pub most: Vec<NamedParty>,
}

/// One of those who are named.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NamedParty {
    /// Address and port, or the address of a client.
    pub name: String,
    /// Its attempts.
    pub attempts: u64,
}

/// Why SYNs and SYN/ACKs were sent again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Repeats {
    /// What had been sent before, or its answer, was lost.
    pub lost: u64,
    /// It had arrived, and the answer was late.
    pub late: u64,
    /// An RST or an ICMP message had answered.
    pub turned_away: u64,
    /// The server put the client off: SYNs after one that had reached it, SYN/ACKs behind the client's ACK.
    pub put_off: u64,
    /// Of attempts that led nowhere.
    pub in_vain: u64,
}
