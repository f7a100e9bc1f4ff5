//! Numbering and measurement of the datagrams of one end.

use super::datagram::{Datagram, Message};
use crate::metrics::application::ApplicationRecord;
use gentle_units::{Instant, Nanos};

/// Numbers what an end sends, and counts what it sends and receives. A datagram sent before the end of the warm-up
/// does not count, whenever it arrives.
#[derive(Debug)]
pub(super) struct Meter {
    warmup: Instant,
    next: u32,
    /// Delay of the datagram that arrived last.
    last_delay: Option<Nanos>,
}

impl Meter {
    pub(super) fn new(warmup: Instant) -> Meter {
        Meter { warmup, next: 0, last_delay: None }
    }

    /// Whether what begins at `at` counts.
    pub(super) fn counts(&self, at: Instant) -> bool {
        at >= self.warmup
    }

    /// The next datagram to send.
    pub(super) fn send(
        &mut self,
        now: Instant,
        ip_bytes: u32,
        message: Message,
        record: &mut ApplicationRecord,
    ) -> Datagram {
        if self.counts(now) {
            record.sent();
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        Datagram { ip_bytes, number, sent: now, message }
    }

    /// Counts a datagram that has arrived.
    pub(super) fn receive(&mut self, now: Instant, datagram: &Datagram, record: &mut ApplicationRecord) {
        let delay = now.saturating_since(datagram.sent);
        let before = self.last_delay.replace(delay);
        if self.counts(datagram.sent) {
            record.arrived(delay, before, u64::from(datagram.payload()));
        }
    }
}
