//! Counters of the engine.

use serde::{Deserialize, Serialize};

/// Counters since the start. The serialized names appear in the status and in the metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Frames processed.
    pub frames: u64,
    /// Malformed frames: contradictory headers, or truncated.
    pub malformed: u64,
    /// SYNs watched for an answer.
    pub syns: u64,
    /// SYN/ACKs watched for an answer.
    pub synacks: u64,
    /// SYNs and SYN/ACKs not watched because they carry data.
    pub with_data: u64,
    /// SYNs and SYN/ACKs not watched because they were truncated or had a wrong checksum.
    pub not_copied: u64,
    /// Copies sent, or that a dry run would have sent.
    pub copies: u64,
    /// Duplicates sent, or due in a dry run.
    pub duplicates: u64,
    /// Copies and duplicates that could not be sent because the system returned an error.
    pub send_errors: u64,
    /// Handshakes answered before a copy was sent.
    pub answered: u64,
    /// Handshakes answered after a copy.
    pub answered_after_copy: u64,
    /// Handshakes in `answered_after_copy` whose original packet was answered: the copies were spurious.
    #[serde(rename = "unneeded")]
    pub spurious: u64,
    /// Handshakes in `answered_after_copy` whose original packet was lost. Handshakes that are neither in `spurious`
    /// nor in `rescued` are undecided.
    pub rescued: u64,
    /// Handshakes without a copy whose answer was not captured; a later packet of the local end shows that it has
    /// arrived.
    pub answered_unseen: u64,
    /// Handshakes ended by a reset from the remote end.
    pub resets: u64,
    /// Handshakes reset by the local end.
    pub abandoned: u64,
    /// Handshakes ended by an ICMP error.
    pub undeliverable: u64,
    /// Handshakes whose packet the stack itself retransmitted.
    pub stack_retransmissions: u64,
    /// Handshakes that remained unanswered until they expired.
    pub unanswered: u64,
    /// Handshakes evicted because the table was full.
    pub evicted: u64,
    /// Copies suppressed by the limit per second.
    pub held_by_rate: u64,
    /// Copies suppressed by the share of opened connections.
    pub held_by_share: u64,
    /// Copies suppressed because the host does not answer.
    pub held_by_silence: u64,
    /// Copies suppressed because too many to the same network were, or may have been, spurious.
    #[serde(rename = "held_by_needless")]
    pub held_by_spurious: u64,
    /// Copies suppressed because the answer may be among the packets missed by the socket.
    pub held_by_missed: u64,
    /// Time that the rescued handshakes would have waited for the stack's retransmission, milliseconds; in a dry run,
    /// time that they would have saved.
    pub saved_ms: u64,
    /// Time that undecided handshakes would add to `saved_ms` if their original packets were lost, milliseconds.
    pub saved_undecided_ms: u64,
}
