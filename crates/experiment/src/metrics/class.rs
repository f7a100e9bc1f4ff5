//! Kinds of packets that the statistics of loss distinguish.

/// Kind of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// SYN without ACK.
    Syn,
    /// SYN and ACK.
    SynAck,
    /// With payload, with or without FIN.
    Data,
    /// Pure ACKs and FINs, RSTs; the SYNs of a flood, since no connection waits for them.
    Other,
}

impl Class {
    pub(crate) const COUNT: usize = 4;

    /// Names in run records, by discriminant.
    pub(crate) const NAMES: [&'static str; Class::COUNT] = ["syn", "synack", "data", "other"];
}
