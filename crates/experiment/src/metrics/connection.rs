//! Single connections of a run.

use super::tally::{Ending, Waited};
use gentle_tcp::Stats;
use gentle_units::{Instant, Nanos};

/// A connection of known size that started after the warm-up, as [`Recorder::connection`](crate::Recorder::connection)
/// was told. Counters are sums over its two end points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// Index of its workload in [`Scenario::workloads`](crate::Scenario::workloads).
    pub workload: usize,
    /// Time of the first SYN since the start of the run.
    pub started: Instant,
    /// Size in full segments.
    pub segments: u64,
    /// Outcome, with the response time if the connection completed.
    pub ending: Ending,
    /// Time from the first SYN to the state ESTABLISHED of the initiator, if reached.
    pub handshake: Option<Nanos>,
    /// Segments that occupy sequence space: SYN, SYN/ACK, data, FIN.
    pub segments_sent: u64,
    /// Retransmissions among [`segments_sent`](ConnectionRecord::segments_sent).
    pub segments_retransmitted: u64,
    /// Retransmissions of SYN and SYN/ACK segments.
    pub syn_retransmitted: u64,
    /// Retransmission timeouts after the handshake.
    pub rto_timeouts: u64,
    /// Time until the end of the connection in which either end waited for a retransmission; each moment counts once.
    pub retransmission_delay: Nanos,
    /// Part of [`retransmission_delay`](ConnectionRecord::retransmission_delay) in which a SYN or SYN/ACK was awaited.
    pub syn_retransmission_delay: Nanos,
}

impl ConnectionRecord {
    pub(crate) fn new(
        workload: usize,
        started: Instant,
        segments: u64,
        ending: Ending,
        handshake: Option<Nanos>,
        waited: Waited,
        ends: &[&Stats],
    ) -> ConnectionRecord {
        let sum = |counter: fn(&Stats) -> u32| ends.iter().map(|s| u64::from(counter(s))).sum();
        ConnectionRecord {
            workload,
            started,
            segments,
            ending,
            handshake,
            segments_sent: sum(|s| s.segments_sent),
            segments_retransmitted: sum(|s| s.segments_retransmitted),
            syn_retransmitted: sum(|s| s.syn_retransmitted),
            rto_timeouts: sum(|s| s.rto_timeouts),
            retransmission_delay: waited.total,
            syn_retransmission_delay: waited.syn_part,
        }
    }
}
