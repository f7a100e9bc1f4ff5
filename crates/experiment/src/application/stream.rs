//! Datagrams at regular times.

use gentle_units::{Instant, Nanos};

/// Times of a source that sends one datagram each interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    first: Instant,
    interval: Nanos,
    /// Number of datagrams.
    count: u32,
    /// Number of the next datagram.
    next: u32,
}

impl Stream {
    /// Source that sends from `first` on, and no more at or after `stop`. `interval` is above zero.
    pub(super) fn new(first: Instant, interval: Nanos, stop: Instant) -> Stream {
        let count = stop.saturating_since(first).0.div_ceil(interval.0.max(1));
        Stream { first, interval, count: count.try_into().unwrap_or(u32::MAX), next: 0 }
    }

    /// Number of datagrams in all.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn interval(&self) -> Nanos {
        self.interval
    }

    /// Time of datagram `number`; `None`: there is no such datagram.
    pub(super) fn at(&self, number: u32) -> Option<Instant> {
        (number < self.count).then(|| self.first + self.interval * u64::from(number))
    }

    /// Number of datagrams before `time`.
    pub(super) fn before(&self, time: Instant) -> u32 {
        let number = time.saturating_since(self.first).0.div_ceil(self.interval.0.max(1));
        self.count.min(number.try_into().unwrap_or(u32::MAX))
    }

    /// Time of the next datagram; [`Instant::NEVER`] after the last one.
    pub(super) fn next_at(&self) -> Instant {
        self.at(self.next).unwrap_or(Instant::NEVER)
    }

    /// Takes the next datagram if it is due at `now`; returns its number.
    pub(super) fn take(&mut self, now: Instant) -> Option<u32> {
        let number = self.next;
        if self.at(number)? > now {
            return None;
        }
        self.next += 1;
        Some(number)
    }
}
