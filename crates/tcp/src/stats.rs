//! What an end point counted.

use gentle_units::Nanos;

/// Counters of one end point. "Sent" includes retransmissions; a segment with payload and FIN counts as both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments that occupy sequence space: SYN, SYN/ACK, data, FIN.
    pub segments_sent: u32,
    /// Of them, retransmissions.
    pub segments_retransmitted: u32,
    /// SYN and SYN/ACK segments.
    pub syn_sent: u32,
    /// Of them, retransmissions, whether a timer or a duplicate SYN caused them.
    pub syn_retransmitted: u32,
    /// Segments with payload.
    pub data_sent: u32,
    /// Of them, retransmissions.
    pub data_retransmitted: u32,
    /// Segments with FIN.
    pub fin_sent: u32,
    /// Of them, retransmissions.
    pub fin_retransmitted: u32,
    /// Pure acknowledgements.
    pub acks_sent: u32,
    /// Data segments that arrived again in full.
    pub duplicates_received: u32,
    /// For each retransmission the time since the previous transmission of the same segment, added up.
    pub retransmission_delay: Nanos,
    /// The part of [`retransmission_delay`](Stats::retransmission_delay) that SYN and SYN/ACK segments have in it.
    pub syn_retransmission_delay: Nanos,
    /// Round-trip times measured.
    pub rtt_samples: u32,
    /// The sum of the round-trip times measured.
    pub rtt_sum: Nanos,
    /// Retransmission timeouts after the handshake.
    pub rto_timeouts: u32,
    /// Times that fast recovery was entered.
    pub fast_recoveries: u32,
    /// Tail loss probes sent (RFC 8985, section 7).
    pub tlp_probes: u32,
    /// Reductions of the window that were undone because the retransmissions proved unnecessary.
    pub undos: u32,
    /// Acknowledgements that reported a duplicate (RFC 2883).
    pub dsacks_received: u32,
    /// Reductions of the window that an ECN echo caused.
    pub ecn_reductions: u32,
}
