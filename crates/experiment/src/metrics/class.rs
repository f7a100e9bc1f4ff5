//! Classes of packets and reasons for losses, by which loss is counted.

use gentle_aqm::DropReason;

/// Name of random loss on the link, in addition to the names of [`DropReason`].
pub const LOSS: &str = "loss";

/// Names of the reasons for losses: the queue's, then random loss on the link.
pub(crate) const REASONS: [&str; DropReason::ALL.len() + 1] = {
    let mut reasons = [LOSS; DropReason::ALL.len() + 1];
    let mut i = 0;
    while i < DropReason::ALL.len() {
        reasons[i] = DropReason::ALL[i].name();
        i += 1;
    }
    reasons
};

/// Class of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// SYN without ACK.
    Syn,
    /// SYN/ACK.
    SynAck,
    /// Segment with payload, with or without FIN.
    Data,
    /// Pure ACK, FIN without payload or RST; also a SYN of a flood, for which no connection waits.
    Other,
}

impl Class {
    pub(crate) const COUNT: usize = 4;

    /// Names in run records, in the order of the variants.
    pub(crate) const NAMES: [&'static str; Class::COUNT] = ["syn", "synack", "data", "other"];
}
