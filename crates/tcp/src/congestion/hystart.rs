//! HyStart: leave slow start before the queue overflows (Ha and Rhee, Computer Networks 55, 2011; `hystart_update` of
//! `net/ipv4/tcp_cubic.c`).

use super::Progress;
use gentle_units::{Instant, Nanos};

/// Below this window slow start is never left early.
const LOW_WINDOW: u32 = 16;
/// Number of RTT samples at the start of a round, of which the minimum is compared.
const MIN_SAMPLES: u8 = 8;
/// Acknowledgements closer than this belong to one train.
const ACK_SPACING: Nanos = Nanos::from_millis(2);
/// Bounds of the tolerated rise in delay, an eighth of the shortest round trip.
const MIN_RISE: Nanos = Nanos::from_millis(4);
const MAX_RISE: Nanos = Nanos::from_millis(16);

#[derive(Debug, Clone)]
pub(super) struct HyStart {
    /// Whether data is paced, so that acknowledgements of a window spread over half a round trip without a queue.
    paced: bool,
    found: bool,
    samples: u8,
    /// Position at which the current round ends.
    round_end: u64,
    round_start: Instant,
    last_ack: Instant,
    /// Shortest round trip of this round.
    round_rtt: Nanos,
}

impl HyStart {
    pub(super) fn new(now: Instant, paced: bool) -> HyStart {
        HyStart {
            paced,
            found: false,
            samples: 0,
            round_end: 0,
            round_start: now,
            last_ack: now,
            round_rtt: Nanos::MAX,
        }
    }

    /// State without measurements.
    pub(super) fn restarted(&self, now: Instant) -> HyStart {
        HyStart::new(now, self.paced)
    }

    /// Whether this acknowledgement shows that slow start has filled the path: a train of acknowledgements as long as
    /// half the shortest round trip, if data is paced as long as the whole, or a round trip that has grown.
    pub(super) fn ends_slow_start(
        &mut self,
        cwnd: u32,
        progress: &Progress,
        rtt: Nanos,
        min_rtt: Nanos,
        ack_delay: impl FnOnce() -> Nanos,
    ) -> bool {
        if self.found {
            return false;
        }
        let now = progress.now;
        if progress.una > self.round_end {
            *self = HyStart { round_end: progress.nxt, ..self.restarted(now) };
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        if now.saturating_since(self.last_ack) <= ACK_SPACING {
            self.last_ack = now;
            let longest = min_rtt + ack_delay();
            let threshold = if self.paced { longest } else { Nanos(longest.0 / 2) };
            self.found = now.saturating_since(self.round_start) > threshold;
        }
        self.round_rtt = self.round_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else {
            let rise = Nanos(min_rtt.0 / 8).clamp(MIN_RISE, MAX_RISE);
            self.found |= self.round_rtt > min_rtt + rise;
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(now: Instant, una: u64) -> Progress {
        Progress { now, delivered: 1, una, nxt: una + 20 }
    }

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    #[test]
    fn delay_ends_it() {
        let mut hystart = HyStart::new(Instant::from_millis(0), false);
        let mut found = 0;
        for i in 0..12 {
            let ended =
                hystart.ends_slow_start(40, &progress(Instant::from_millis(100 + i * 5), 10), ms(115), ms(100), || {
                    Nanos::ZERO
                });
            found += u32::from(ended);
        }
        assert!(found > 0, "15 ms above 100 ms is more than an eighth");
        let mut hystart = HyStart::new(Instant::from_millis(0), false);
        for i in 0..12 {
            assert!(!hystart.ends_slow_start(
                40,
                &progress(Instant::from_millis(100 + i * 5), 10),
                ms(110),
                ms(100),
                || Nanos::ZERO
            ));
        }
    }

    #[test]
    fn a_long_train_ends_it() {
        let mut hystart = HyStart::new(Instant::from_millis(0), false);
        let ended: Vec<u64> = (0..60)
            .filter(|i| {
                hystart
                    .ends_slow_start(40, &progress(Instant::from_millis(100 + i), 10), ms(100), ms(100), || Nanos::ZERO)
            })
            .collect();
        assert_eq!(ended.first(), Some(&51), "half of 100 ms");
        let mut paced = HyStart::new(Instant::from_millis(0), true);
        let ends = (0..120).find(|i| {
            paced.ends_slow_start(40, &progress(Instant::from_millis(100 + i), 10), ms(100), ms(100), || Nanos::ZERO)
        });
        assert_eq!(ends, Some(101));
    }

    #[test]
    fn a_small_window_goes_on() {
        let mut hystart = HyStart::new(Instant::from_millis(0), false);
        for i in 0..60 {
            assert!(!hystart.ends_slow_start(
                15,
                &progress(Instant::from_millis(100 + i), 10),
                ms(300),
                ms(100),
                || Nanos::ZERO
            ));
        }
    }
}
