//! Counters of an end point.

use crate::waits::Waits;
use gentle_units::Nanos;

/// Counters of one end point. "Sent" includes retransmissions; a segment with payload and FIN counts as both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments that occupy sequence space: SYN, SYN/ACK, data, FIN.
    pub segments_sent: u32,
    /// Retransmissions among [`segments_sent`](Stats::segments_sent).
    pub segments_retransmitted: u32,
    /// SYN and SYN/ACK segments.
    pub syn_sent: u32,
    /// Retransmissions among [`syn_sent`](Stats::syn_sent), triggered by a timer or by a duplicate SYN.
    pub syn_retransmitted: u32,
    /// Segments with payload.
    pub data_sent: u32,
    /// Retransmissions among [`data_sent`](Stats::data_sent).
    pub data_retransmitted: u32,
    /// Segments with FIN.
    pub fin_sent: u32,
    /// Retransmissions among [`fin_sent`](Stats::fin_sent).
    pub fin_retransmitted: u32,
    /// Pure acknowledgements.
    pub acks_sent: u32,
    /// Data segments received that had been received before in full.
    pub duplicates_received: u32,
    /// Times in which retransmissions were awaited. Endless data ([`Endpoint::write_forever`](crate::Endpoint::write_forever))
    /// adds none: it never ends, so there is no duration of which they are a part.
    pub waits: Waits,
    /// Number of RTT samples.
    pub rtt_samples: u32,
    /// Sum of the RTT samples.
    pub rtt_sum: Nanos,
    /// Retransmission timeouts after the handshake.
    pub rto_timeouts: u32,
    /// Number of times that fast recovery was entered.
    pub fast_recoveries: u32,
    /// Tail loss probes sent (RFC 8985, section 7).
    pub tlp_probes: u32,
    /// Reductions of the window that were undone because the retransmissions proved spurious.
    pub undos: u32,
    /// Acknowledgements received that reported a duplicate (RFC 2883).
    pub dsacks_received: u32,
    /// Reductions of the window caused by an ECN echo.
    pub ecn_reductions: u32,
}
