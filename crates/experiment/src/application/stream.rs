//! Datagrams at regular times.

use gentle_units::Nanos;

/// Times of a source that sends one datagram each interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    first: Nanos,
    interval: Nanos,
    /// Number of datagrams.
    count: u32,
    /// Number of the next datagram.
    next: u32,
}

impl Stream {
    /// Source that sends from `first` on, and no more at or after `stop`. `interval` is above zero.
    pub(super) fn new(first: Nanos, interval: Nanos, stop: Nanos) -> Stream {
        let count = stop.saturating_sub(first).0.div_ceil(interval.0.max(1));
        Stream {
            first,
            interval,
            count: count.try_into().unwrap_or(u32::MAX),
            next: 0,
        }
    }

    /// Number of datagrams in all.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn interval(&self) -> Nanos {
        self.interval
    }

    /// Time of datagram `number`; `None`: there is no such datagram.
    pub(super) fn at(&self, number: u32) -> Option<Nanos> {
        (number < self.count).then(|| self.first + self.interval * u64::from(number))
    }

    /// Number of datagrams before `time`.
    pub(super) fn before(&self, time: Nanos) -> u32 {
        let number = time
            .saturating_sub(self.first)
            .0
            .div_ceil(self.interval.0.max(1));
        self.count.min(number.try_into().unwrap_or(u32::MAX))
    }

    /// Time of the next datagram; [`Nanos::MAX`] after the last one.
    pub(super) fn next_at(&self) -> Nanos {
        self.at(self.next).unwrap_or(Nanos::MAX)
    }

    /// Takes the next datagram if it is due at `now`; returns its number.
    pub(super) fn take(&mut self, now: Nanos) -> Option<u32> {
        let number = self.next;
        if self.at(number)? > now {
            return None;
        }
        self.next += 1;
        Some(number)
    }
}
