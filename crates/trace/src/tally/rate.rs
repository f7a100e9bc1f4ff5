//! Traffic volume of a direction.

use crate::sum::Sum;
use gentle_units::{Instant, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const SECOND: Nanos = Nanos::from_secs(1);

/// Largest number of seconds whose bytes are kept apart, twelve days of uninterrupted traffic; some 40 MB. Of a longer
/// trace, only the busiest second so far and the sum are kept, and the seconds that follow.
const SECONDS: usize = 1 << 20;

/// Bytes on the wire in one direction, by whole second of the clock.
///
/// Each second is kept, so that the busiest second of several traces together is known.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Meter {
    /// Start of the second being counted.
    #[serde(skip)]
    second: Instant,
    #[serde(skip)]
    in_second: u64,
    /// Bytes of each second that is not being counted, by seconds since 1970.
    #[serde(with = "crate::codec::sorted")]
    seconds: BTreeMap<u64, u64>,
    /// Sum and largest of the seconds that are no longer kept apart.
    before: u64,
    most: u64,
}

/// Sum of meters that have [ended](Meter::end).
impl Sum for Meter {
    fn add(&mut self, more: Meter) {
        let Meter { second: _, in_second: _, seconds, before, most } = more;
        self.before.add(before);
        self.most = self.most.max(most);
        seconds.into_iter().for_each(|(second, bytes)| self.keep(second, bytes));
    }
}

impl Meter {
    #[inline]
    pub(crate) fn record(&mut self, time: Instant, wire_len: u32) {
        // An earlier time also counts as another second, because the difference wraps around.
        if time.0.wrapping_sub(self.second.0) >= SECOND.0 {
            self.next_second(time);
        }
        self.in_second += u64::from(wire_len);
    }

    #[cold]
    fn next_second(&mut self, time: Instant) {
        self.end();
        self.second = Instant(time.0 / SECOND.0 * SECOND.0);
    }

    /// Ends the second being counted.
    pub(crate) fn end(&mut self) {
        if self.in_second > 0 {
            let bytes = std::mem::take(&mut self.in_second);
            self.keep(self.second.0 / SECOND.0, bytes);
        }
    }

    fn keep(&mut self, second: u64, bytes: u64) {
        let kept = self.seconds.entry(second).or_default();
        *kept = kept.saturating_add(bytes);
        if self.seconds.len() > SECONDS {
            let sum = self.seconds.values().copied().fold(0, u64::saturating_add);
            self.before = self.before.saturating_add(sum);
            self.most = self.most.max(self.busiest());
            self.seconds.clear();
        }
    }

    fn busiest(&self) -> u64 {
        self.seconds.values().copied().max().unwrap_or(0)
    }

    /// Total bytes on the wire.
    pub(crate) fn bytes(&self) -> u64 {
        let kept = self.seconds.values().copied().fold(0, u64::saturating_add);
        self.before.saturating_add(kept).saturating_add(self.in_second)
    }

    /// Highest rate over a second, bits per second; at least the mean rate over `duration`, which may be shorter than a
    /// second.
    pub(crate) fn highest_bps(&self, duration: Nanos) -> f64 {
        let most = self.most.max(self.busiest()).max(self.in_second) as f64 * 8.0;
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
