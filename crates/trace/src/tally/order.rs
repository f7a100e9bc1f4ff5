//! Evidence that the capture lacks packets or has them in another order than they were sent in.

use super::Distribution;
use crate::sum::sum;
use gentle_units::{Instant, Nanos};
use serde::{Deserialize, Serialize};

/// Counts over all connections.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OrderCounts {
    /// Stretches of data that were acknowledged but not captured so far.
    pub(crate) unseen: u64,
    /// Time by which data was captured after its acknowledgement.
    pub(crate) late_data: Distribution,
    /// Time by which SYNs were captured after their SYN/ACK, and SYN/ACKs after their ACK.
    pub(crate) late_handshakes: Distribution,
}

sum! { OrderCounts { unseen, late_data, late_handshakes } }

impl OrderCounts {
    /// Records a SYN or SYN/ACK captured at `time`, after its answer at `answered`.
    #[cold]
    pub(crate) fn answered_before(&mut self, answered: Instant, time: Instant) {
        // If the capture's own times run backwards, they say nothing about different clocks.
        if time >= answered {
            self.late_handshakes.record(time - answered);
        }
    }

    /// Records data captured `gap` after its acknowledgement; `whole`: the stretch is complete with it.
    #[cold]
    pub(crate) fn acknowledged_before(&mut self, gap: Nanos, whole: bool) {
        self.unseen = self.unseen.saturating_sub(u64::from(whole));
        self.late_data.record(gap);
    }
}
