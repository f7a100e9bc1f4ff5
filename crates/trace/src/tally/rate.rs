//! Traffic volume of a direction.

use gentle_units::Nanos;

const SECOND: Nanos = Nanos::from_secs(1);

/// Bytes on the wire in one direction, in total and in the busiest whole second of the clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    /// Start of the second being counted.
    second: Nanos,
    in_second: u64,
    /// Bytes of earlier seconds.
    before: u64,
    most: u64,
}

impl Meter {
    #[inline]
    pub(crate) fn record(&mut self, time: Nanos, wire_len: u32) {
        // An earlier time also counts as another second, because the difference wraps around.
        if time.0.wrapping_sub(self.second.0) >= SECOND.0 {
            self.next_second(time);
        }
        self.in_second += u64::from(wire_len);
    }

    #[cold]
    fn next_second(&mut self, time: Nanos) {
        self.second = Nanos(time.0 / SECOND.0 * SECOND.0);
        self.most = self.most.max(self.in_second);
        self.before += self.in_second;
        self.in_second = 0;
    }

    /// Total bytes on the wire.
    pub(crate) fn bytes(&self) -> u64 {
        self.before + self.in_second
    }

    /// Highest rate over a second, bits per second; at least the mean rate over `duration`, which may be shorter than a
    /// second.
    pub(crate) fn highest_bps(&self, duration: Nanos) -> f64 {
        let most = self.most.max(self.in_second) as f64 * 8.0;
        most.max(self.mean_bps(duration))
    }

    /// Mean rate over `duration`, bits per second.
    pub(crate) fn mean_bps(&self, duration: Nanos) -> f64 {
        if duration == Nanos::ZERO {
            return 0.0;
        }
        self.bytes() as f64 * 8.0 / duration.as_secs_f64()
    }
}
