//! Evidence that the capture lacks packets, or has them in another order than they were sent in.

use super::spread::Spread;
use gentle_units::Nanos;

/// Counts over all connections.
#[derive(Debug, Default)]
pub(crate) struct OrderCounts {
    /// Stretches of data that were acknowledged and, so far, not captured.
    pub(crate) unseen: u64,
    /// Data captured after the acknowledgement of them, and how long after.
    pub(crate) late_data: Spread,
    /// SYNs captured after the SYN/ACK that answers them, SYN/ACKs captured after the ACK of them, and how long after.
    pub(crate) late_handshakes: Spread,
}

impl OrderCounts {
    /// A SYN or SYN/ACK was captured at `time`, after a segment of `answered` that answers it.
    #[cold]
    pub(crate) fn answered_before(&mut self, answered: Nanos, time: Nanos) {
        // Where the capture's own times run backwards, they say nothing of its clocks.
        if let Some(gap) = time.0.checked_sub(answered.0) {
            self.late_handshakes.record(Nanos(gap));
        }
    }

    /// Data that had been acknowledged before were captured so much later, all of a stretch or the last of it.
    #[cold]
    pub(crate) fn acknowledged_before(&mut self, gap: Nanos, whole: bool) {
        self.unseen = self.unseen.saturating_sub(u64::from(whole));
        self.late_data.record(gap);
    }
}
