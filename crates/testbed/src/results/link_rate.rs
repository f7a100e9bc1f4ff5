//! Transmission times at the bottleneck.

use gentle_experiment::LinkConfig;
use gentle_units::{Instant, Nanos, Rate};

/// Rate of a link over time.
pub(super) struct LinkRate {
    rate: Rate,
    /// Bytes per packet in addition to the IP packet.
    overhead: u32,
    /// Future rate changes with their times, the next one last.
    changes: Vec<(Instant, Rate)>,
}

impl LinkRate {
    pub(super) fn new(link: &LinkConfig) -> LinkRate {
        LinkRate { rate: link.rate, overhead: link.overhead, changes: link.rate_changes().rev().collect() }
    }

    /// Length of an IP packet on the link, bytes.
    pub(super) fn bytes(&self, ip_bytes: u32) -> u32 {
        ip_bytes + self.overhead
    }

    /// Transmission time of a packet of `bytes` that starts at `now`; `now` must not decrease between calls.
    pub(super) fn time_to_send(&mut self, now: Instant, bytes: u32) -> Nanos {
        while let Some((at, rate)) = self.changes.last()
            && *at <= now
        {
            self.rate = *rate;
            self.changes.pop();
        }
        self.rate.time_to_send(u64::from(bytes))
    }
}
