//! What was seen and done.

use serde::{Deserialize, Serialize};

/// All since the start. Names are those of the status and of the metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Frames that were looked at.
    pub frames: u64,
    /// Frames with a header that contradicts itself, or without the bytes that are needed.
    pub malformed: u64,
    /// SYNs that were watched for an answer.
    pub syns: u64,
    /// SYN/ACKs that were.
    pub synacks: u64,
    /// SYNs and SYN/ACKs left alone because they carry data.
    pub with_data: u64,
    /// SYNs and SYN/ACKs left alone because they were not whole or had a wrong checksum.
    pub not_copied: u64,
    /// Copies that were sent, or would have been in a dry run.
    pub copies: u64,
    /// Duplicates that were.
    pub duplicates: u64,
    /// Copies and duplicates that the system did not take.
    pub send_errors: u64,
    /// Handshakes that were answered before a copy was sent.
    pub answered: u64,
    /// Handshakes that were answered after one.
    pub answered_after_copy: u64,
    /// Of these, those whose packet itself was answered: the copies were sent in vain.
    pub unneeded: u64,
    /// Of these, those whose packet was lost. What is neither is not known, or not yet.
    pub rescued: u64,
    /// Handshakes without a copy whose answer was not seen, but what the opening end sent next.
    pub answered_unseen: u64,
    /// Handshakes that a reset from the other end ended.
    pub resets: u64,
    /// Handshakes that the opening end reset.
    pub abandoned: u64,
    /// Handshakes that an ICMP error ended.
    pub undeliverable: u64,
    /// Handshakes whose packet the stack itself sent again.
    pub stack_retransmissions: u64,
    /// Handshakes that nothing answered for as long as they were remembered.
    pub unanswered: u64,
    /// Handshakes forgotten because the table was full.
    pub evicted: u64,
    /// Copies not sent because there were too many in a second.
    pub held_by_rate: u64,
    /// Copies not sent because there were too many for so few handshakes.
    pub held_by_share: u64,
    /// Copies not sent because the host does not answer.
    pub held_by_silence: u64,
    /// Copies not sent because too many to the same network were needless, or may have been.
    pub held_by_needless: u64,
    /// Copies not sent because the answer may be among the packets that were missed.
    pub held_by_missed: u64,
    /// Time that the rescued handshakes did not have to wait for the stack, milliseconds; in a dry run, that they would not have
    /// had to.
    pub saved_ms: u64,
}
