//! How much a direction carried.

use gentle_units::Nanos;

const SECOND: Nanos = Nanos::from_secs(1);

/// Bytes on the wire in one direction, and the most in a whole second of the clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    /// The second being counted, and its bytes.
    second: Nanos,
    in_second: u64,
    /// Bytes of the seconds before.
    before: u64,
    most: u64,
}

impl Meter {
    #[inline]
    pub(crate) fn record(&mut self, time: Nanos, wire_len: u32) {
        // Before it is far behind it, too, as a number that went around.
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

    /// Bytes in all.
    pub(crate) fn bytes(&self) -> u64 {
        self.before + self.in_second
    }

    /// The highest rate over a second, bits per second; never less than the mean rate over `duration`, which may be
    /// shorter than a second.
    pub(crate) fn highest_bps(&self, duration: Nanos) -> f64 {
        let most = self.most.max(self.in_second) as f64 * 8.0;
        most.max(self.mean_bps(duration))
    }

    /// The mean rate over `duration`, bits per second.
    pub(crate) fn mean_bps(&self, duration: Nanos) -> f64 {
        if duration == Nanos::ZERO {
            return 0.0;
        }
        self.bytes() as f64 * 8.0 / duration.as_secs_f64()
    }
}
